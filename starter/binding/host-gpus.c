/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/binding/host-gpus.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/files/fdio.h"

enum { NVIDIA_MAJOR = 195 }; /* of /dev/nvidia0, ... */

const char *const gpu_variables[GPU_KINDS] = {
    [GPU_NVIDIA] = "CUDA_VISIBLE_DEVICES",
    [GPU_AMD] = "ROCR_VISIBLE_DEVICES",
    [GPU_INTEL] = "ZE_AFFINITY_MASK",
};

/* ---- what the machine has -------------------------------------------------------------------- */

struct device { /* one of a list in the order of PCI addresses */
    char pci[16];
    enum gpu_kind kind;
    char number[8];
    char uuid[64];  /* "": not known */
    bool has_minor; /* number is that of its /dev/nvidia */
};

/* Tells the kind of a PCI device by its driver; GPU_KINDS: it is no GPU. */
static enum gpu_kind kind_of(int pci, const char *address)
{
    static const struct {
        const char *driver;
        enum gpu_kind kind;
    } drivers[] = {
        {"nvidia", GPU_NVIDIA}, {"amdgpu", GPU_AMD}, {"i915", GPU_INTEL}, {"xe", GPU_INTEL}};
    char path[32], link[256];
    snprintf(path, sizeof(path), "%.15s/driver", address);
    ssize_t n = readlinkat(pci, path, link, sizeof(link) - 1);
    link[n < 0 ? 0 : n] = 0;
    const char *slash = strrchr(link, '/');
    for (size_t i = 0; slash && i < sizeof(drivers) / sizeof(drivers[0]); i++)
        if (strcmp(slash + 1, drivers[i].driver) == 0)
            return drivers[i].kind;
    return GPU_KINDS;
}

/* Copies the text after "KEY:" in the driver's file about a device. */
static bool take_value(const char *text, const char *key, char *ret, size_t n)
{
    const char *at = strstr(text, key);
    if (!at)
        return false;
    at += strlen(key);
    at += strspn(at, ": \t");
    snprintf(ret, n, "%.*s", (int)strcspn(at, " \t\n"), at);
    return true;
}

static void name(int root, struct device *d)
{
    char path[80], text[4096];
    if (d->kind == GPU_NVIDIA) {
        snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/%s/information", d->pci);
        if (file_read_at(root, path, text, sizeof(text)) <= 0)
            return;
        (void)take_value(text, "GPU UUID", d->uuid, sizeof(d->uuid));
        d->has_minor = take_value(text, "Device Minor", d->number, sizeof(d->number));
    } else if (d->kind == GPU_AMD) {
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/unique_id", d->pci);
        if (file_read_at(root, path, text, sizeof(text)) > 0)
            snprintf(d->uuid, sizeof(d->uuid), "GPU-%.48s", text);
    }
}

static int by_address(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Finds all GPUs of one kind: the kind of the cards, if the processor has a GPU, too. Returns their
 * number; the caller frees *ret. */
static size_t find_devices(int root, struct device **ret)
{
    struct dirent **list = NULL;
    AUTO_CLOSE int pci = openat(root, "sys/bus/pci/devices", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int n = pci < 0 ? 0 : scandirat(pci, ".", &list, NULL, by_address);
    struct device *d = must(calloc((size_t)(n > 0 ? n : 1), sizeof(*d)));
    enum gpu_kind kind = GPU_KINDS;
    size_t found = 0;
    for (int i = 0; i < n; i++) {
        enum gpu_kind is = kind_of(pci, list[i]->d_name);
        if (is < kind) {
            kind = is;
            found = 0;
        }
        if (is == kind && is < GPU_KINDS) {
            d[found] = (struct device){.kind = is};
            snprintf(d[found].pci, sizeof(d[found].pci), "%.15s", list[i]->d_name);
            snprintf(d[found].number, sizeof(d[found].number), "%u", (unsigned)found);
            name(root, &d[found++]);
        }
        free(list[i]);
    }
    free(list);
    *ret = d;
    return found;
}

/* ---- their files ----------------------------------------------------------------------------- */

static void add_file(struct host_gpus *g, uint32_t major, uint32_t minor, int gpu)
{
    g->file = must(realloc(g->file, (g->nfiles + 1) * sizeof(*g->file)));
    g->file[g->nfiles++] = (struct gpu_file){.major = major, .minor = minor, .gpu = gpu};
}

/* Adds a GPU's files: those of the kernel's graphics (card1, renderD128), and the vendor's own. */
static void add_files(int root, const struct device *d, int gpu, struct host_gpus *g)
{
    char path[320], text[32];
    uint32_t major, minor;
    struct dirent *e;
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/drm", d->pci);
    AUTO_DIR DIR *drm = dir_take_fd(openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (d->has_minor)
        add_file(g, NVIDIA_MAJOR, (uint32_t)strtoul(d->number, NULL, 10), gpu);
    while (drm && (e = readdir(drm))) {
        snprintf(path, sizeof(path), "%.255s/dev", e->d_name);
        if (file_read_at(dirfd(drm), path, text, sizeof(text)) > 0 &&
            sscanf(text, "%" SCNu32 ":%" SCNu32, &major, &minor) == 2)
            add_file(g, major, minor, gpu);
    }
}

/* ---- which of them ranks can have ------------------------------------------------------------ */

/* Returns whether id names the device. UUIDs may be shortened as long as they name one GPU. */
static bool is_called(const struct device *d, const char *id)
{
    return strcmp(d->number, id) == 0 ||
           (strncmp(id, "GPU-", 4) == 0 && strncmp(d->uuid, id, strlen(id)) == 0);
}

static const char *name_for_driver(const struct host_gpus *g, const struct host_gpus *numbered,
                                   size_t i)
{
    const char *id = g->gpu[i].id;
    return numbered->n == g->n && strspn(id, "0123456789") == strlen(id) ? numbered->gpu[i].id : id;
}

static void find_near(int root, const struct device *d, struct idset *ret)
{
    char path[80], text[1024];
    struct error e;
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/local_cpulist", d->pci);
    if (file_read_at(root, path, text, sizeof(text)) > 0)
        (void)idset_parse(text, ret, &e);
}

static void add(struct host_gpus *g, const char *id, size_t len)
{
    g->gpu = must(realloc(g->gpu, (g->n + 1) * sizeof(*g->gpu)));
    g->gpu[g->n++] = (struct host_gpu){.id = must(strndup(id, len))};
}

static void take_list(struct host_gpus *g, const char *list)
{
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        at += strspn(at, " ");
        size_t n = strcspn(at, ",");
        while (n > 0 && at[n - 1] == ' ')
            n--;
        if (n == 0 || (n == 2 && strncmp(at, "-1", 2) == 0)) /* programs stop there, too */
            break;
        add(g, at, n);
    }
}

void host_gpus_read(int root, const char *list, const char *numbers, struct host_gpus *ret)
{
    struct host_gpus g = {.gpu = NULL}, numbered = {.gpu = NULL};
    AUTO_FREE struct device *device = NULL;
    size_t n = find_devices(root, &device);
    take_list(&g, list ? list : "");
    take_list(&numbered, list && numbers ? numbers : "");
    for (size_t i = 0; !list && i < n; i++)
        add(&g, device[i].number, sizeof(device[i].number));
    for (size_t k = 0; k < n; k++) {
        size_t i = 0;
        while (i < g.n && !is_called(&device[k], name_for_driver(&g, &numbered, i)))
            i++;
        if (i < g.n && idset_count(&g.gpu[i].near) == 0)
            find_near(root, &device[k], &g.gpu[i].near);
        add_files(root, &device[k], i < g.n ? (int)i : -1, &g);
    }
    g.kinds = n > 0 ? 1u << device[0].kind : (1u << GPU_KINDS) - 1;
    host_gpus_free(&numbered);
    *ret = g;
}

void host_gpus_free(struct host_gpus *g)
{
    for (size_t i = 0; i < g->n; i++) {
        free(g->gpu[i].id);
        idset_free(&g->gpu[i].near);
    }
    free(g->gpu);
    free(g->file);
    *g = (struct host_gpus){.gpu = NULL};
}
