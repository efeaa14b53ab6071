/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/front/host/gpus.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"

enum { DEVICES_MAX = 1024 };

/* ---- which there are ------------------------------------------------------------------------- */

static void add(struct gpus *g, const char *id)
{
    g->gpu = must(reallocarray(g->gpu, g->n + 1, sizeof(*g->gpu)));
    g->gpu[g->n] = (struct gpu){.node = -1};
    snprintf(g->gpu[g->n].id, sizeof(g->gpu[g->n].id), "%s", id);
    g->n++;
}

static int is_number(const char *s)
{
    return *s && s[strspn(s, "0123456789")] == 0 && strlen(s) < 6;
}

static DIR *open_directory(int root, const char *path)
{
    return dir_take_fd(openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int by_number(const void *a, const void *b)
{
    return atoi(((const struct gpu *)a)->id) - atoi(((const struct gpu *)b)->id);
}

static void add_devices(int root, struct gpus *g)
{
    static const char prefix[] = "nvidia";
    AUTO_DIR DIR *d = open_directory(root, "dev");
    struct dirent *e;
    while (d && g->n < DEVICES_MAX && (e = readdir(d)))
        if (!strncmp(e->d_name, prefix, strlen(prefix)) && is_number(e->d_name + strlen(prefix)))
            add(g, e->d_name + strlen(prefix));
}

/* ---- where they are -------------------------------------------------------------------------- */

/* The driver's file about a device: "Device Minor: 	 3". */
static int read_minor(int root, const char *pci, char *ret, size_t n)
{
    static const char key[] = "Device Minor:";
    char path[512], text[4096];
    snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/%s/information", pci);
    if (file_read_at(root, path, text, sizeof(text)) <= 0)
        return -1;
    const char *at = strstr(text, key);
    if (!at)
        return -1;
    at += strlen(key);
    at += strspn(at, " \t");
    snprintf(ret, n, "%.*s", (int)strcspn(at, " \t\n"), at);
    return is_number(ret) ? 0 : -1;
}

static int read_node(int root, const char *pci)
{
    char path[512], text[32];
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/numa_node", pci);
    return file_read_at(root, path, text, sizeof(text)) > 0 ? (int)strtol(text, NULL, 10) : -1;
}

static struct gpu *find(struct gpus *g, const char *id)
{
    for (size_t i = 0; i < g->n; i++)
        if (!strcmp(g->gpu[i].id, id))
            return &g->gpu[i];
    return NULL;
}

/* add_others: those that the driver names and nobody else, as where /dev is a service's own. */
static void find_nodes(int root, struct gpus *g, int add_others)
{
    char minor[16];
    struct dirent *e;
    AUTO_DIR DIR *d = open_directory(root, "proc/driver/nvidia/gpus");
    while (d && (e = readdir(d))) {
        if (e->d_name[0] == '.' || read_minor(root, e->d_name, minor, sizeof(minor)) < 0)
            continue;
        if (add_others && g->n < DEVICES_MAX && !find(g, minor))
            add(g, minor);
        struct gpu *gpu = find(g, minor);
        if (gpu)
            gpu->node = read_node(root, e->d_name);
    }
}

void gpus_read(int root, const char *const *configured, struct gpus *ret)
{
    int is_auto = configured && configured[0] && !configured[1] && !strcmp(configured[0], "auto");
    *ret = (struct gpus){0};
    if (is_auto)
        add_devices(root, ret);
    for (const char *const *id = is_auto ? NULL : configured; id && *id; id++)
        add(ret, *id);
    find_nodes(root, ret, is_auto);
    if (is_auto && ret->n > 1)
        qsort(ret->gpu, ret->n, sizeof(*ret->gpu), by_number);
}

void gpus_free(struct gpus *g)
{
    free(g->gpu);
    *g = (struct gpus){0};
}

/* ---- choosing -------------------------------------------------------------------------------- */

int gpus_list_has(const char *list, const char *id)
{
    size_t len = strlen(id);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == len && !strncmp(at, id, len))
            return 1;
    return 0;
}

static int is_taken(const char *id, const char *const *taken, const char *chosen)
{
    for (; taken && *taken; taken++)
        if (gpus_list_has(*taken, id))
            return 1;
    return gpus_list_has(chosen, id);
}

static int append(char *list, size_t size, const char *id)
{
    size_t len = strlen(list);
    if (len + 1 + strlen(id) + 1 > size)
        return -1;
    snprintf(list + len, size - len, "%s%s", len ? "," : "", id);
    return 0;
}

size_t gpus_list_count(const char *list)
{
    size_t n = *list != 0;
    for (; *list; list++)
        n += *list == ',';
    return n;
}

void gpus_list_add(const char *list, const char *ids, int is_in, char *ret, size_t size)
{
    char id[GPU_ID_MAX + 1];
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        snprintf(id, sizeof(id), "%.*s", (int)strcspn(at, ","), at);
        if (gpus_list_has(ids, id) == is_in)
            (void)append(ret, size, id);
    }
}

static int is_near(const struct gpu *g, const struct idset *nodes, const struct idset *threads)
{
    return g->cores ? idset_intersects(g->cores, threads)
                    : g->node >= 0 && idset_has(nodes, (unsigned)g->node);
}

size_t gpus_choose(const struct gpus *g, const char *const *taken, const struct idset *nodes,
                   const struct idset *threads, size_t n, char *ret, size_t size)
{
    size_t chosen = 0;
    for (int near = 1; near >= 0; near--)
        for (size_t i = 0; i < g->n && chosen < n; i++) {
            const struct gpu *gpu = &g->gpu[i];
            if (is_near(gpu, nodes, threads) == near && !is_taken(gpu->id, taken, ret) &&
                append(ret, size, gpu->id) == 0)
                chosen++;
        }
    return chosen;
}
