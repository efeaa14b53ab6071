/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/front/host/host-cores.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/machine/cpus.h"
#include "common/files/fdio.h"
#include "common/must.h"

enum { LIST_MAX = 16384 };

/* ---- files ----------------------------------------------------------------------------------- */

static int read_list(int system, const char *path, struct idset *ret)
{
    char text[LIST_MAX];
    return file_read_at(system, path, text, sizeof(text)) > 0 ? idset_parse(text, ret, NULL) : -1;
}

/* Where no file says which threads there are: those that this process knows of. */
static int read_online(int system, struct idset *ret, struct error *err)
{
    return read_list(system, "cpu/online", ret) == 0 && idset_count(ret) > 0
               ? 0
               : cpus_allowed(ret, err);
}

static long read_package(int system, unsigned thread)
{
    char path[64], text[32];
    snprintf(path, sizeof(path), "cpu/cpu%u/topology/physical_package_id", thread);
    return file_read_at(system, path, text, sizeof(text)) > 0 ? strtol(text, NULL, 10) : -1;
}

/* The first thread that shares the third cache with this one, which stands for that cache. */
static long read_cache(int system, unsigned thread)
{
    char path[64];
    AUTO(idset_free) struct idset sharing = {0};
    snprintf(path, sizeof(path), "cpu/cpu%u/cache/index3/shared_cpu_list", thread);
    return read_list(system, path, &sharing) == 0 ? idset_next(&sharing, 0) : -1;
}

/* ---- groups ---------------------------------------------------------------------------------- */

struct raw { /* what the kernel calls the groups of a core */
    long package, node, cache;
    int first; /* thread */
    uint64_t node_memory;
};

static int by_place(const void *a, const void *b, void *arg)
{
    const struct raw *raw = arg, *x = &raw[*(const size_t *)a], *y = &raw[*(const size_t *)b];
    if (x->package != y->package)
        return x->package < y->package ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* A package is called by its lowest thread from here on, so that they are in that order. */
static void name_packages(struct raw *raw, size_t n)
{
    for (size_t i = n; i-- > 0;) { /* the cores are in the order of their threads */
        long lowest = raw[i].first;
        for (size_t k = 0; k < i; k++)
            if (raw[k].package == raw[i].package) {
                lowest = raw[k].first;
                break;
            }
        raw[i].package = lowest;
    }
}

static int same(const struct raw *a, const struct raw *b, enum nearness kind)
{
    return kind == NEAR_HOST ||
           (a->package == b->package && (kind == NEAR_PACKAGE || a->node == b->node) &&
            (kind != NEAR_CACHE || a->cache == b->cache));
}

/* The first core of a group gives it its number. */
static void number_groups(struct host_cores *h, const struct raw *sorted, enum nearness kind)
{
    unsigned *next = &h->groups[kind];
    for (size_t i = 0; i < h->n; i++) {
        size_t k = 0;
        while (k < i && !same(&sorted[k], &sorted[i], kind))
            k++;
        h->core[i].group[kind] = k < i ? h->core[k].group[kind] : (*next)++;
    }
}

static void put_in_order(struct host_cores *h, struct raw *raw)
{
    AUTO_FREE size_t *order = must(calloc(h->n + 1, sizeof(*order)));
    AUTO_FREE struct raw *sorted = must(calloc(h->n + 1, sizeof(*sorted)));
    struct host_core *core = must(calloc(h->n + 1, sizeof(*core)));
    for (size_t i = 0; i < h->n; i++)
        order[i] = i;
    name_packages(raw, h->n);
    qsort_r(order, h->n, sizeof(*order), by_place, raw);
    for (size_t i = 0; i < h->n; i++) {
        sorted[i] = raw[order[i]];
        core[i].threads = h->core[order[i]].threads;
        core[i].node = sorted[i].node < 0 ? 0 : (unsigned)sorted[i].node;
        core[i].node_memory = sorted[i].node_memory;
    }
    free(h->core);
    h->core = core;
    for (enum nearness kind = NEAR_CACHE; kind < NEARNESS_COUNT; kind++)
        number_groups(h, sorted, kind);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* "Node 0 MemTotal:  1024000 kB" is the first line. */
static uint64_t read_memory(int system, int node)
{
    char path[64], text[128];
    snprintf(path, sizeof(path), "node/node%d/meminfo", node);
    const char *at =
        file_read_at(system, path, text, sizeof(text)) > 0 ? strstr(text, "MemTotal:") : NULL;
    return at ? strtoull(at + strlen("MemTotal:"), NULL, 10) << 10 : 0;
}

/* NUMA nodes are told the other way round: which threads each has. */
static void read_nodes(int system, const struct host_cores *h, struct raw *raw)
{
    char path[64];
    AUTO(idset_free) struct idset nodes = {0}, threads = {0};
    for (size_t i = 0; i < h->n; i++)
        raw[i].node = -1;
    if (read_list(system, "node/online", &nodes) < 0)
        return;
    for (int node = idset_next(&nodes, 0); node >= 0;
         node = idset_next(&nodes, (unsigned)node + 1)) {
        snprintf(path, sizeof(path), "node/node%d/cpulist", node);
        if (read_list(system, path, &threads) == 0)
            for (size_t i = 0; i < h->n; i++)
                if (idset_has(&threads, (unsigned)raw[i].first)) {
                    raw[i].node = node;
                    raw[i].node_memory = read_memory(system, node);
                }
        idset_free(&threads);
    }
}

static int group_threads(int system, struct host_cores *ret, struct error *err)
{
    struct idset online = {0}, *threads = NULL;
    AUTO_CLOSE int cpu = openat(system, "cpu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (read_online(system, &online, err) < 0)
        return -1;
    cpus_group_cores(cpu, &online, &threads, &ret->n);
    idset_free(&online);
    ret->core = must(calloc(ret->n + 1, sizeof(*ret->core)));
    for (size_t i = 0; i < ret->n; i++)
        ret->core[i].threads = threads[i];
    free(threads);
    return 0;
}

int host_cores_read(int system, struct host_cores *ret, struct error *err)
{
    struct host_cores h = {0};
    if (group_threads(system, &h, err) < 0)
        return error_context(err, "read the cores of this host");
    AUTO_FREE struct raw *raw = must(calloc(h.n + 1, sizeof(*raw)));
    for (size_t i = 0; i < h.n; i++) {
        raw[i].first = idset_next(&h.core[i].threads, 0);
        raw[i].package = read_package(system, (unsigned)raw[i].first);
        raw[i].cache = read_cache(system, (unsigned)raw[i].first);
    }
    read_nodes(system, &h, raw);
    put_in_order(&h, raw);
    *ret = h;
    return 0;
}

void host_cores_free(struct host_cores *h)
{
    for (size_t i = 0; h->core && i < h->n; i++)
        idset_free(&h->core[i].threads);
    free(h->core);
    memset(h, 0, sizeof(*h));
}

/* ---- sets ------------------------------------------------------------------------------------ */

/* The n-th core of the n-th package, or NULL. */
static const struct host_core *core_at(const struct host_cores *h, unsigned package, unsigned core)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->core[i].group[NEAR_PACKAGE] == package && core-- == 0)
            return &h->core[i];
    return NULL;
}

int host_cores_find(const struct host_cores *h, const char *list, unsigned char *ret,
                    struct error *err)
{
    int n = 0;
    memset(ret, 0, h->n);
    for (const char *at = list; *at;) {
        unsigned package, core;
        int used = 0;
        if (sscanf(at, "%5u,%5u%n", &package, &core, &used) != 2 || !strchr(":", at[used]))
            return error_set(err, EINVAL, "'%.60s' is not 'socket,core:socket,core'", list);
        const struct host_core *found = core_at(h, package, core);
        if (found && !ret[found - h->core]) {
            ret[found - h->core] = 1;
            n++;
        }
        at += used;
        at += *at == ':';
    }
    return n;
}

void host_cores_of_threads(const struct host_cores *h, const struct idset *threads,
                           unsigned char *ret)
{
    for (size_t i = 0; i < h->n; i++)
        ret[i] = idset_intersects(&h->core[i].threads, threads);
}

void host_cores_threads(const struct host_cores *h, const unsigned char *set, struct idset *ret)
{
    for (size_t i = 0; i < h->n; i++)
        if (set[i])
            idset_unite(ret, &h->core[i].threads);
}

static int has_of_node(const struct host_cores *h, size_t c, const unsigned char *set,
                       const unsigned char *but)
{
    for (size_t k = 0; k < h->n; k++)
        if (set[k] && !(but && but[k]) &&
            h->core[k].group[NEAR_NODE] == h->core[c].group[NEAR_NODE])
            return 1;
    return 0;
}

void host_cores_keep_whole_nodes(const struct host_cores *h, const unsigned char *whole,
                                 unsigned char *set)
{
    for (size_t c = 0; c < h->n; c++)
        if (set[c] && has_of_node(h, c, whole, set))
            set[c] = 0; /* the others of its node still see that it is not whole */
}

void host_cores_complete_nodes(const struct host_cores *h, const unsigned char *whole,
                               unsigned char *set)
{
    for (size_t c = 0; c < h->n; c++)
        set[c] |= whole[c] && has_of_node(h, c, set, NULL);
}

size_t host_cores_count(const struct host_cores *h, const unsigned char *set)
{
    size_t n = 0;
    for (size_t i = 0; i < h->n; i++)
        n += set[i] != 0;
    return n;
}
