/* SPDX-License-Identifier: BSD-3-Clause */
/* process.h - a process that did not ask: held on to, and looked at
 *
 * Everything is read through one open /proc/PID, which stays that of this process, so that a number
 * that was given to another one meanwhile reads as nothing. */
#pragma once

#include "node-daemon/lib/program.h"
#include "node-daemon/mover/peer.h"

struct process {
    int dir;          /* /proc/PID */
    struct peer peer; /* its number, effective uid, groups, and a hold on it */
    uid_t real_uid;
    pid_t parent;
};

/* 0, or -1 with errno: it has ended. */
int process_open(pid_t pid, struct process *ret);
void process_close(struct process *p);
/* What stands in /proc/PID/environ for this name, as it was when the program began: 0, or -1: it is
 * not there, or longer than buf. */
int process_environment(const struct process *p, const char *name, char *buf, size_t n);

/* Does this process run it? */
int process_runs(const struct process *p, const struct program *program);
/* Is its parent a process of root's that runs this program? */
int process_is_child_of(const struct process *p, const struct program *daemon);
