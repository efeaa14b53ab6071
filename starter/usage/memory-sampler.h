/* SPDX-License-Identifier: BSD-3-Clause */
/* memory-sampler.h - samples how the memory of each rank is made up
 *
 * The exact total peak is the cgroup's, or getrusage()'s; what no counter remembers - how much was
 * anonymous, shared, of files, swapped out - is read from /proc/PID/status of the rank's processes,
 * added up, and kept in its struct usage: as the present values and as sampled peaks. Memory that
 * several processes of a rank share counts for each of them. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "model/usage.h"

struct loop;
struct sampler;

/* The ranks to sample, 0 .. count() - 1. */
struct sampler_source {
    size_t (*count)(void *arg);
    /* The processes of a rank now: their number and *ret, malloc'ed; 0 or -1: none, *ret is not
     * used. */
    int (*pids)(void *arg, size_t rank, pid_t **ret);
    struct usage *(*usage)(void *arg, size_t rank);
};

/* Take a sample every period (seconds), and a first one after FIRST_SAMPLE_PART of it, so that
 * short steps have one, too. loop and *source's arg must live as long. NULL with err: no memory. */
struct sampler *sampler_create(struct loop *loop, double period,
                               const struct sampler_source *source, void *arg, struct error *err);
void sampler_destroy(struct sampler *s); /* NULL is fine */
/* Take a sample of all ranks now. */
void sampler_sample(struct sampler *s);

/* Set *u to the sum of these processes. -1: none of them is there any more; *u is unchanged. */
int sampler_read(const pid_t *pids, size_t n, struct usage *u);
