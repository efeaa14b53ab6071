/* SPDX-License-Identifier: BSD-3-Clause */
/* process-usage.h - what processes have used: rusage of those that were waited for, and samples
 *
 * The exact total peak of memory is the cgroup's, or getrusage()'s; what no counter remembers - how
 * much was anonymous, shared, of files, swapped out - is read from /proc/PID/status of the rank's
 * processes, added up, and kept in its struct usage: as the present values and as sampled peaks.
 * Memory that several processes of a rank share counts for each of them. */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "model/usage.h"

/* ---- processes that were waited for ---------------------------------------------------------- */

uint64_t rusage_cpu(const struct rusage *r); /* microseconds */
/* Set what getrusage(2) knows of one rank: CPU time, memory peak, faults, switches. */
void usage_from_rusage(struct usage *u, const struct rusage *r);
/* Add CPU time; the larger memory peak stays. */
void usage_add_rusage(struct usage *u, const struct rusage *r);

/* Processes of no known rank: orphans that this process has inherited and reaped. */
struct other_processes { /* written here; others read */
    uint64_t n;
    struct rusage sum; /* CPU time, and the largest memory peak of one */
};
/* Add one: a callback of the reaper. arg: the struct. */
void other_processes_add(void *arg, pid_t pid, int status, const struct rusage *usage);

/* ---- samples --------------------------------------------------------------------------------- */

/* Set the memory of these processes. -1: none of them is there any more; *u is unchanged. */
int usage_sample(struct usage *u, const pid_t *pids, size_t n);
