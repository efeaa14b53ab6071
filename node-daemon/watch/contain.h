/* SPDX-License-Identifier: BSD-3-Clause */
/* contain.h - where a process is, and putting it into its job's cgroup, with what it has started */
#pragma once

#include "node-daemon/lib/ground.h"
#include "node-daemon/lib/mover-protocol.h"
#include "node-daemon/watch/process.h"

struct containment {
    struct start *start; /* with the link to the mover */
    struct ground ground;
};

/* The directory of the job that it is in: "" for none. 0, or -1: it has ended, or is in a cgroup
 * mprun.* directly below the ground, where it stays. */
int contain_where(const struct containment *c, const struct process *p, char dir[CGROUP_NAME_MAX]);
/* Put it there. 0, or -1 with err; ESRCH: it has ended. */
int contain_enter(const struct containment *c, const char *dir, const struct process *p,
                  struct error *err);
/* The same with what it has started, down to the last, but for who is in another job or in a step.
 * How many those were. */
size_t contain_below(const struct containment *c, const char *dir, pid_t top);
