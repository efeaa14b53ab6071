/* SPDX-License-Identifier: BSD-3-Clause */
/* gpus.h - the GPUs of this host, by the ids that jobs are given */
#pragma once

#include "common/text/idset.h"
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

/* Read the GPUs that the configuration names, or else the devices /dev/nvidiaN with id N that /dev
 * or the driver shows. For ids that are numbers the node is known where the driver shows the PCI
 * address. root: a descriptor of the directory above dev, proc and sys. */
void gpus_read(int root, const char *const *configured, struct gpus *ret);
void gpus_free(struct gpus *g);
/* Is it in the list? */
int gpus_list_has(const char *list, const char *id);
size_t gpus_list_count(const char *list);
/* Add to ret, a list with room for size bytes, those of `list` that are in `ids` (is_in 0: that are
 * not). */
void gpus_list_add(const char *list, const char *ids, int is_in, char *ret, size_t size);

/* Choose n GPUs that are not in `taken` (lists, NULL-terminated), first those near these hardware
 * threads or nodes. Appends them to the list ret, with commas. Returns how many it found. Pure. */
size_t gpus_choose(const struct gpus *g, const char *const *taken, const struct idset *nodes,
                   const struct idset *threads, size_t n, char *ret, size_t size);
