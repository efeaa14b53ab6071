/* SPDX-License-Identifier: BSD-3-Clause */
/* process-usage.h - what processes have used: rusage of those that were waited for, and samples
 *
 * The exact peak of all memory comes from the cgroup, or from getrusage(). No counter remembers how
 * much of it was anonymous, shared, of files or swapped out. So usage_sample() reads that from
 * /proc/PID/status of the rank's processes, adds it up, and keeps it in the rank's struct usage:
 * the present values and the sampled peaks. Memory that several processes share counts for each. */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "model/usage.h"

/* ---- processes that were waited for ---------------------------------------------------------- */

uint64_t rusage_cpu(const struct rusage *r); /* microseconds */
/* Sets what getrusage(2) knows of one rank: CPU time, memory peak, faults, switches. */
void usage_from_rusage(struct usage *u, const struct rusage *r);
/* Adds CPU time; keeps the larger memory peak. */
void usage_add_rusage(struct usage *u, const struct rusage *r);

/* Processes that belong to no known rank: orphans that this process has inherited and reaped. */
struct other_processes { /* written by process-usage.c; others read */
    uint64_t n;
    struct rusage sum; /* CPU time, and the largest memory peak of one */
};
/* Adds one; a callback of the reaper. arg: the struct. */
void other_processes_add(void *arg, pid_t pid, int status, const struct rusage *usage);

/* ---- samples --------------------------------------------------------------------------------- */

/* Sets the memory of these processes. -1: none of them exists any more; *u is unchanged. */
int usage_sample(struct usage *u, const pid_t *pids, size_t n);
