/* SPDX-License-Identifier: BSD-3-Clause */
/* rusage.h - what the kernel says of processes that were waited for */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "model/usage.h"

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
