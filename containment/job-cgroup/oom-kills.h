/* SPDX-License-Identifier: BSD-3-Clause */
/* oom-kills.h - has the kernel killed here for want of memory, and whose limit was reached?
 *
 * The kernel counts each such kill before it sends the signal, so whoever sees an unexplained end
 * reads the counters then; nothing has to be watched. They are those of the cgroup that this
 * process is in, and of the cgroups above it, as far as they can be seen. A rank's own cgroup and
 * the step's (step/tree.h) know more of ranks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "containment/cgroup/driver.h"

enum { OOM_LEVELS = 16 };

struct oom_kills { /* zero: nothing counts them here; private to oom-kills.c */
    const struct cgroup_driver *driver;
    char directory[CGROUP_PATH_MAX];  /* of the process's cgroup */
    size_t root;                      /* length of the mount point's part of it */
    struct oom_count was[OOM_LEVELS]; /* at the beginning: of the directory, and of those above */
    uint64_t told;                    /* kills since then that have explained an end */
};

/* Kills from now on, where this process is now. */
void oom_kills_begin(struct oom_kills *k);
/* An end is not explained. True: by a kill for want of memory, which explains no other end. Says in
 * any case which limit has been reached: "cgroup '/ge-7.1-0a1b2c3d' reached its limit 400 MiB". */
bool oom_kills_explain(struct oom_kills *k, char *limit, size_t n);

/* The words for such a kill in the sentences of all programs. */
#define OOM_KILLED "was killed: out of memory"
/* How a process has ended: OOM_KILLED and the limit, "was killed by signal 9 (Killed)", or "ended
 * with code 3". status: as of waitpid(). Returns the exit code that the step has for it: mprun's
 * own failure, or, for want of memory, that of the signal. */
int oom_kills_describe_end(struct oom_kills *k, int status, char *buf, size_t n);
