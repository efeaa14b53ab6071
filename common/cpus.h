/* SPDX-License-Identifier: BSD-3-Clause */
/* cpus.h - hardware threads and cores of this machine, from the kernel alone */
#ifndef COMMON_CPUS_H
#define COMMON_CPUS_H

#include "common/error.h"
#include "common/idset.h"

/* What this process may run on: its affinity, which its cpuset has already cut. */
int cpus_allowed(struct idset *ret, struct error *err);
/* How many cores these hardware threads are of. */
unsigned cpus_count_cores(const struct idset *threads);
/* Split threads into nparts sets with disjoint cores while there are enough; parts share cores
 * where there are not. parts: nparts empty sets, which stay empty on failure. */
int cpus_split(const struct idset *threads, unsigned nparts, struct idset *parts,
               struct error *err);

/* The threads grouped by core, in the order of their lowest thread. sysfs: a descriptor of
 * /sys/devices/system/cpu, or of a directory that looks like it; a thread that it does not know is
 * a core of its own. *ret: *ret_n sets, for cpus_free_cores(). */
int cpus_group_cores(int sysfs, const struct idset *threads, struct idset **ret, size_t *ret_n,
                     struct error *err);
void cpus_free_cores(struct idset *cores, size_t n);
/* Deal cores to nparts parts, as cpus_split() does. */
int cpus_deal_cores(const struct idset *cores, size_t ncores, unsigned nparts, struct idset *parts,
                    struct error *err);

#endif
