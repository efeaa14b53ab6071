/* SPDX-License-Identifier: BSD-3-Clause */
/* host-cores.h - the cores of this host and how near they are to each other, for mprund
 *
 * From /sys alone: a topology by hwloc costs 3.7 MiB, its library included, of the 8 that mprund is
 * to have, and all that is asked here is four numbers a core. Ranks are bound by who has one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/text/idset.h"

/* Groups of cores, each within one of the next kind: those that share the last cache, a NUMA node,
 * a package, the host. */
enum nearness { NEAR_CACHE, NEAR_NODE, NEAR_PACKAGE, NEAR_HOST, NEARNESS_COUNT };

struct host_core {
    struct idset threads;           /* those that are online, by the kernel's numbers */
    unsigned group[NEARNESS_COUNT]; /* counted from 0, without gaps */
    unsigned node;                  /* the kernel's number of its NUMA node */
    uint64_t node_memory;           /* bytes of that node; 0: not known */
};

/* In the order of packages, then of cores within: packages and cores by their lowest thread, which
 * is hwloc's order of both and so that of managers who count them. */
struct host_cores {
    struct host_core *core;
    size_t n;
    unsigned groups[NEARNESS_COUNT]; /* how many there are */
};

/* system: a descriptor of /sys/devices/system, or of a directory that looks like it. Without its
 * files each thread is a core, in one group of each kind. 0, or -1 with nothing to free. */
int host_cores_read(int system, struct host_cores *ret, struct error *err);
void host_cores_free(struct host_cores *h);

/* Sets of cores are a byte a core, 0 or 1. */

/* The set of "socket,core:socket,core", those that do not exist left out: how many there are, or -1
 * with what is wrong with the list. */
int host_cores_find(const struct host_cores *h, const char *list, unsigned char *ret,
                    struct error *err);
/* The cores that have any of these threads. */
void host_cores_of_threads(const struct host_cores *h, const struct idset *threads,
                           unsigned char *ret);
/* Add all threads of a set of cores. */
void host_cores_threads(const struct host_cores *h, const unsigned char *set, struct idset *ret);
/* Take out those whose NUMA node, of the cores of `whole`, is not wholly in the set; add those of
 * `whole` that are in a node of the set. */
void host_cores_keep_whole_nodes(const struct host_cores *h, const unsigned char *whole,
                                 unsigned char *set);
void host_cores_complete_nodes(const struct host_cores *h, const unsigned char *whole,
                               unsigned char *set);
size_t host_cores_count(const struct host_cores *h, const unsigned char *set);

/* ---- choose-cores.c -------------------------------------------------------------------------- */

/* n of the free cores: of one NUMA node where one has as many free, and of that one in which the
 * fewest are left over, so that large rooms stay whole for large jobs; else of one package; else of
 * few. Within a node the same again for cores that share a cache. Sets are a byte a core. *ret is
 * filled whether it succeeds or not: -1, fewer than n are free. Pure. */
int choose_cores(const struct host_cores *h, const unsigned char *free, size_t n,
                 unsigned char *ret);
