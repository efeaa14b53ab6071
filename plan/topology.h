/* SPDX-License-Identifier: BSD-3-Clause */
/* topology.h - the machine's topology: no other file calls hwloc, and no other file of plan/ looks
 * at the machine */
#pragma once

#include <stdio.h>

#include "plan/plan.h"

struct topology;

/* Loads this machine's topology without I/O devices, reduced to `granted` (NULL: all), to the
 * process's affinity and to its cpuset. NULL with err. */
struct topology *topology_load(const struct idset *granted, struct error *err);
/* Reads this machine's topology now, once. The next topology_load(), also in a forked process, uses
 * it if it has all threads that the process may run on. topology_load() reports failures. */
void topology_look(void);
/* The topology of another machine: of a file, hwloc's XML or its words for a synthetic machine; or
 * of these words themselves. NULL with err. */
struct topology *topology_load_from(const char *source, struct error *err);
void topology_destroy(struct topology *t);
/* hwloc's XML of the whole machine, for mppmi. t keeps it. */
const char *topology_xml(struct topology *t, size_t *ret_len);
/* Adds the hardware threads of cores that are listed as "socket,core:socket,core", counted from 0
 * in the machine's order, to ret. Leaves out cores that do not exist. -1 with err: the list is
 * wrong. */
int topology_find_cores(const struct topology *t, const char *list, struct idset *ret,
                        struct error *err);
/* Reduces the usable threads to `granted`, as topology_load() does. -1 with err: none is left. */
int topology_cut(struct topology *t, const struct idset *granted, struct error *err);
/* The usable cores, for plan_binding(). */
void topology_cores(const struct topology *t, struct plan_topology *ret);
/* Describes the threads that a rank is bound to: "package 0 core 1, hardware threads 2-3". Caller
 * frees. */
char *topology_describe(const struct topology *t, const struct idset *threads);
/* A picture of all cores, "[BB/..][../..]": 'B' for hardware threads of the set, '.' for others
 * that may be used, '~' for those that may not. Packages have brackets. Caller frees. */
char *topology_picture(const struct topology *t, const struct idset *threads);
/* A line for each package, NUMA node and L3 cache, with the hardware threads of each core. */
void topology_print(const struct topology *t, const char *indent, FILE *to);
