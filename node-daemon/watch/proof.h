/* SPDX-License-Identifier: BSD-3-Clause */
/* proof.h - of which job a manager's own process is, that did not say so
 *
 * Such a process runs the program that the configuration names (that file, whatever it is called),
 * with the real uid of root, as a child of the manager's daemon, which is known the same way. Only
 * root can have started it, and what it then says of its job is root's word. */
#pragma once

#include "node-daemon/reader/evidence-sources.h"
#include "node-daemon/reader/ge-config.h"
#include "node-daemon/watch/process.h"

struct proof {
    enum grant_manager manager;
    char task[GRANT_JOB_MAX]; /* Grid Engine's slave tasks: "1.n12"; else "" */
    struct evidence evidence;
};

/* A process of a rule's. 0, or -1 with err. */
int proof_by_rule(const struct conf_rule *rule, const struct program *daemon,
                  const struct process *p, struct proof *ret, struct error *err);
/* A shepherd of Grid Engine's: it is in the directory of its task, which the execd made. Where the
 * execd was started again meanwhile it is no child any more: then the number in the directory
 * counts.
 */
int proof_of_shepherd(const struct conf *c, const struct program *execd, const struct process *p,
                      struct proof *ret, struct error *err);

/* A task that has a directory. */
struct ge_task {
    char job[GRANT_JOB_MAX], task[GRANT_JOB_MAX];
    gid_t group;    /* as the directory has it; 0: not there yet */
    pid_t shepherd; /* the same; -1 */
    enum { GE_TASK_NEW, GE_TASK_KNOWN, GE_TASK_FAILED } state; /* of what follows */
    struct evidence evidence; /* looked up when the first process of the task is found */
};
/* 0, or -1: it has ended, or begins. */
int ge_task_read(const struct conf *c, const char *job, const char *task, struct ge_task *ret);
/* Is this process in the task: its group, and its owner's uid? 0 with *ret, or -1. What is known of
 * the task is looked up once, and kept in t, which is to be read again before that is old. */
int proof_by_group(const struct conf *c, struct ge_task *t, const struct process *p,
                   struct proof *ret, struct error *err);
