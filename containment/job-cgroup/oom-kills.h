/* SPDX-License-Identifier: BSD-3-Clause */
/* oom-kills.h - has the kernel killed here for want of memory, and which limit was reached?
 *
 * The kernel counts each such kill before it sends the signal. So a program that sees an
 * unexplained end reads the counters then, and need not watch anything. The counters are those of
 * this process's cgroup, and of the cgroups above it as far as they can be seen. A rank's own
 * cgroup and the step's (step/tree.h) know more of ranks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "containment/cgroup/driver.h"

enum { OOM_LEVELS = 16 };

struct oom_kills { /* all zero: nothing counts kills here; private to oom-kills.c */
    const struct cgroup_driver *driver;
    char directory[CGROUP_PATH_MAX];  /* of the process's cgroup */
    size_t root;                      /* length of the mount point in it */
    struct oom_count was[OOM_LEVELS]; /* at the beginning: of the directory, and of those above */
    uint64_t told;                    /* kills since the beginning that have explained an end */
};

/* Counts kills from now on, in the cgroup where this process is now. */
void oom_kills_begin(struct oom_kills *k);
/* Explains the end of a process. Returns true if a kill for want of memory explains it; that kill
 * explains no other end. In any case `limit` says which limit was reached: "cgroup
 * '/ge-7.1-0a1b2c3d' reached its limit 400 MiB". */
bool oom_kills_explain(struct oom_kills *k, char *limit, size_t n);

/* All programs describe such a kill with these words. */
#define OOM_KILLED "was killed: out of memory"
/* Says how a process has ended: OOM_KILLED and the limit, "was killed by signal 9 (Killed)", or
 * "ended with code 3". status: of waitpid(). Returns the step's exit code for that: mprun's own
 * failure, or, for want of memory, the code of the signal. */
int oom_kills_describe_end(struct oom_kills *k, int status, char *buf, size_t n);
