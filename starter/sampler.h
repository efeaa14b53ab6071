/* SPDX-License-Identifier: BSD-3-Clause */
/* sampler.h - now and then, how the memory of each rank is made up
 *
 * The exact total peak is the cgroup's, or getrusage()'s; what no counter remembers - how much was
 * anonymous, shared, of files, swapped out - is read from /proc/PID/status of the rank's processes,
 * added up, and kept in its struct usage: as the present values and as sampled peaks. Memory that
 * several processes of a rank share counts for each of them. */
#ifndef STARTER_SAMPLER_H
#define STARTER_SAMPLER_H

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "model/usage.h"

struct loop;
struct sampler;

/* What is to be sampled: ranks 0 .. count()-1. */
struct sampler_source {
    size_t (*count)(void *arg);
    /* Processes of a rank now: their number and *ret, malloc'ed; 0 or -1: none, and *ret is not
     * looked at. */
    int (*pids)(void *arg, size_t rank, pid_t **ret);
    struct usage *(*usage)(void *arg, size_t rank);
};

/* A first sample after a tenth of a period, for steps that are short, then one every period
 * (seconds). NULL with err when memory is out. Source and loop stay the caller's. */
struct sampler *sampler_create(struct loop *loop, double period,
                               const struct sampler_source *source, void *arg, struct error *err);
void sampler_destroy(struct sampler *s); /* NULL is fine */
/* A sample of all ranks now: when somebody looks. */
void sampler_sample(struct sampler *s);

/* The sum of these processes into *u. -1: none of them is there any more, and *u is as it was. */
int sampler_read(const pid_t *pids, size_t n, struct usage *u);

/* The processes of a tree, its root first, for pids() where no cgroup knows them. */
int sampler_tree_pids(pid_t root, pid_t **ret);

#endif
