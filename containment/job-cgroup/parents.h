/* SPDX-License-Identifier: BSD-3-Clause */
/* parents.h - the cgroups below which a step may make its own: those that mprund, the node daemon,
 * gives, or those that the process is in */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "containment/cgroup/controllers.h"

struct grant_answer;
struct idset;
struct loop;

/* Writable cgroups. Paths are absolute directories; NULL: there is none. */
struct cgroup_parents {
    char *v2;                /* parent for the step's subtree in a cgroup2 mount */
    unsigned v2_controllers; /* set of controllers that v2 subtrees can have */
    char *v2_why;            /* why it lacks memory or pids; NULL: it has them */
    pid_t *v2_movers;        /* mprun's processes in v2 that have to go into `starter` before v2 */
    size_t nv2_movers;       /* can give controllers; moved back when the tree goes */
    char *v1[CGROUP_CONTROLLER_COUNT]; /* parent in the hierarchy of each v1 controller */
};
void cgroup_parents_free(struct cgroup_parents *p);
/* Forget those of the other version. -1 with err: none is left, and *p is freed. */
int cgroup_parents_keep(struct cgroup_parents *p, int version, struct error *err);

/* The calling process's own (delegated) cgroups. self: mprun's own processes on this host; a cgroup
 * that holds only these may be reorganised. 0 with *ret, which the caller frees, or -1 with err. */
int cgroup_parents_own(const pid_t *self, size_t nself, struct cgroup_parents *ret,
                       struct error *err);
/* The directory of a process's (0: this one's) cgroup in version 2, or in v1's hierarchy of c
 * (*version 0: in v1 where the process has c there, else in v2; *version says which). The caller
 * frees it. *ret_root_len (NULL: not wanted) is the length of the mount point. NULL with
 * err. */
char *cgroup_of_process(pid_t pid, int *version, enum cgroup_controller c, size_t *ret_root_len,
                        struct error *err);
/* Root: let the cgroups above the process's own give all controllers that a step can use, as far as
 * they can. */
void cgroup_parents_enable(void);
/* The last words of its error. A program leaves them out where a resource manager has the
 * processes: the advice is of no use there. */
#define CGROUP_ADVICE                                                                              \
    ". To get one, start in a delegated scope, for example by "                                    \
    "'systemd-run --user --scope -p Delegate=yes mprun ...'"

/* answer NULL: there is none, and why says so, without text where there is nothing worth saying */
typedef void (*cgroup_daemon_fn)(void *arg, const struct grant_answer *answer,
                                 const struct error *why);
/* The daemon moves the calling process into its job's cgroup. 0: fn will be called once, soon; -1
 * with err: it will not. */
int cgroup_daemon_ask(struct loop *l, cgroup_daemon_fn fn, void *arg, struct error *err);
struct mprund_question;
/* Tell the daemon that the ranks in this cgroup, by its path below the one that it gives, are
 * frozen or go on: it lends these hardware threads and GPUs meanwhile. fn is called once, soon, and
 * what is returned is no more then; NULL with err: it will not be. */
struct mprund_question *cgroup_daemon_suspended(struct loop *l, const char *cgroup,
                                                const struct idset *cpus, const char *gpus,
                                                cgroup_daemon_fn fn, void *arg, struct error *err);
/* Wait for the answer no longer: fn is not called. NULL is fine. */
void cgroup_daemon_forget(struct mprund_question *q);
/* Have the daemon hold a cgroup, by its path below the one that it gives, to these GPUs: it waits
 * for that, POLICY_DEVICES_S at most. 0, or -1 with err: it is not held. */
int cgroup_daemon_hold_devices(const char *cgroup, const char *gpus, struct error *err);
/* Takes the cgroups that the daemon gives, as cgroup_parents_own(); -1 with err: it gives none. */
int cgroup_parents_granted(const struct grant_answer *answer, struct cgroup_parents *ret,
                           struct error *err);
