/* SPDX-License-Identifier: BSD-3-Clause */
/* cpus.h - hardware threads and cores of this machine, from the kernel alone */
#pragma once

#include <sys/types.h>

#include "common/error.h"
#include "common/text/idset.h"

/* The hardware threads that this process may run on: its affinity, which the kernel has already cut
 * to its cpuset. 0, or -1 with err. */
int cpus_allowed(struct idset *ret, struct error *err);
/* Reads on which hardware threads a thread may run, by its id; 0: the calling one. Returns 0, or -1
 * with errno. */
int cpus_of(pid_t thread, struct idset *ret);
/* Bind it to these: 0, or -1 with errno. Also for children between fork and exec. */
int cpus_bind(pid_t thread, const struct idset *to);
/* The number of cores that these hardware threads belong to. */
unsigned cpus_count_cores(const struct idset *threads);
/* Split threads into nparts sets. Parts have cores of their own where there are enough, else they
 * share. parts: nparts empty sets. */
void cpus_split(const struct idset *threads, unsigned nparts, struct idset *parts);

/* Group threads by core, in the order of each core's lowest thread. sysfs: a descriptor of
 * /sys/devices/system/cpu, or of a directory that looks like it; a thread that it does not know
 * counts as a core. *ret: *ret_n sets, which the caller frees by cpus_free_cores(). */
void cpus_group_cores(int sysfs, const struct idset *threads, struct idset **ret, size_t *ret_n);
void cpus_free_cores(struct idset *cores, size_t n);
/* Deal cores to nparts parts, as cpus_split() does. */
void cpus_deal_cores(const struct idset *cores, size_t ncores, unsigned nparts,
                     struct idset *parts);
