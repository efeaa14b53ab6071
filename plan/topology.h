/* SPDX-License-Identifier: BSD-3-Clause */
/* topology.h - the machine's topology: the only file that asks hwloc, and the only one of plan/
 * that looks at the machine */
#ifndef PLAN_TOPOLOGY_H
#define PLAN_TOPOLOGY_H

#include "plan/plan.h"

struct topology;

/* Load this machine's topology without I/O devices, cut to `granted` (NULL: no cut), the process's
 * affinity and its cpuset. */
struct topology *topology_load(const struct idset *granted, struct error *err);
void topology_destroy(struct topology *t);
/* hwloc XML of the whole machine, as mppmi takes it; owned by t. */
const char *topology_xml(struct topology *t, size_t *ret_len);
/* The hardware threads of cores that are given as "socket,core:socket,core", counted from 0 as the
 * machine is laid out, those that do not exist left out. 0, or -1 with what is wrong with the list.
 */
int topology_find_cores(const struct topology *t, const char *list, struct idset *ret,
                        struct error *err);
/* Cut what is usable with `granted`, as topology_load() does. 0, or -1: nothing is left. */
int topology_cut(struct topology *t, const struct idset *granted, struct error *err);
/* Usable cores, for plan_binding(). */
int topology_cores(const struct topology *t, struct plan_topology *ret, struct error *err);
/* "package 0 core 1, hardware threads 2-3" for what the kernel says of a bound rank. Caller frees.
 */
char *topology_describe(const struct topology *t, const struct idset *threads);

#endif
