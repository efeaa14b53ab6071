/* SPDX-License-Identifier: BSD-3-Clause */
/* gpus.h - the GPUs of this host, by the ids that jobs are given */
#pragma once

#include "common/idset.h"
#include "node-daemon/conf/conf.h"

struct gpu {
    char id[GPU_ID_MAX + 1];
    int node; /* NUMA; -1: not known */
    const struct idset
        *cores; /* hardware threads near it, borrowed, instead of that; NULL: not said */
};

struct gpus {
    struct gpu *gpu;
    size_t n;
};

/* Those that the configuration names, or those of the devices /dev/nvidiaN with N for id, whether
 * /dev or the driver tells of them. Where the driver tells which device is whose PCI address, nodes
 * are known of ids that are numbers. root: a
 * descriptor of the directory below which dev, proc and sys are looked for. 0, or -1: no memory. */
int gpus_read(int root, const char *const *configured, struct gpus *ret);
void gpus_free(struct gpus *g);
/* Is it in the list? */
int gpus_list_has(const char *list, const char *id);
size_t gpus_list_count(const char *list);
/* Add to ret, a list with room for size bytes, those of `list` that are in `ids` (is_in 0: that are
 * not). */
void gpus_list_add(const char *list, const char *ids, int is_in, char *ret, size_t size);

/* n of those that are not in `taken` (lists, NULL-terminated), near these hardware threads or of
 * these nodes first: written to the
 * list ret, behind what is in it, with commas between them. How many that were. Pure. */
size_t gpus_choose(const struct gpus *g, const char *const *taken, const struct idset *nodes,
                   const struct idset *threads, size_t n, char *ret, size_t size);
