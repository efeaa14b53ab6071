/* SPDX-License-Identifier: BSD-3-Clause */
/* parents.h - the cgroups below which a step may make its own: mprund, the node daemon, gives them,
 * or the process is in them */
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
    pid_t *v2_movers;  /* mprun's processes in v2: they move into `starter` before v2 can give */
    size_t nv2_movers; /* controllers, and move back when the tree is removed */
    char *v1[CGROUP_CONTROLLER_COUNT]; /* parent in the hierarchy of each v1 controller */
};
void cgroup_parents_free(struct cgroup_parents *p);
/* Forgets the parents of the other version. -1 with err: none is left, and *p is freed. */
int cgroup_parents_keep(struct cgroup_parents *p, int version, struct error *err);

/* Finds the calling process's own (delegated) cgroups. self: mprun's own processes on this host; if
 * a cgroup holds only these, mprun may reorganise it. Returns 0 with *ret, which the caller frees,
 * or -1 with err. */
int cgroup_parents_own(const pid_t *self, size_t nself, struct cgroup_parents *ret,
                       struct error *err);
/* Returns the directory of a process's cgroup (pid 0: of this process); the caller frees it.
 * *version 2: in v2; 1: in v1's hierarchy of c; 0: in v1 if the process has c there, else in v2,
 * and *version says which. *ret_root_len (may be NULL): the length of the mount point. NULL with
 * err. */
char *cgroup_of_process(pid_t pid, int *version, enum cgroup_controller c, size_t *ret_root_len,
                        struct error *err);
/* As root: lets the cgroups above the process's own give all controllers that a step can use, as
 * far as they can. */
void cgroup_parents_enable(void);
/* cgroup_parents_own() ends its error with this text. A program leaves it out when a resource
 * manager has the processes: the advice does not help there. */
#define CGROUP_ADVICE                                                                              \
    ". To get one, start in a delegated scope, for example by "                                    \
    "'systemd-run --user --scope -p Delegate=yes mprun ...'"

/* answer NULL: there is none; why says so, without text if there is nothing to report. */
typedef void (*cgroup_daemon_fn)(void *arg, const struct grant_answer *answer,
                                 const struct error *why);
/* Asks mprund to move the calling process into its job's cgroup. Returns 0: fn will be called once,
 * soon; -1 with err: fn will not be called. */
int cgroup_daemon_ask(struct loop *l, cgroup_daemon_fn fn, void *arg, struct error *err);
struct mprund_question;
/* Tells mprund that the ranks in this cgroup, given by its path below the one that mprund gave, are
 * frozen or go on: meanwhile mprund lends these hardware threads and GPUs. Calls fn once, soon; the
 * returned question is freed by then. NULL with err: fn will not be called. */
struct mprund_question *cgroup_daemon_suspended(struct loop *l, const char *cgroup,
                                                const struct idset *cpus, const char *gpus,
                                                cgroup_daemon_fn fn, void *arg, struct error *err);
/* Stops waiting for the answer; fn will not be called. NULL is fine. */
void cgroup_daemon_forget(struct mprund_question *q);
/* Has mprund hold a cgroup, given by its path below the one that mprund gave, to these GPUs. Waits
 * POLICY_DEVICES_S at most. Returns 0, or -1 with err: the cgroup is not held. */
int cgroup_daemon_hold_devices(const char *cgroup, const char *gpus, struct error *err);
/* Fills *ret from mprund's answer, like cgroup_parents_own(). -1 with err: mprund gives none. */
int cgroup_parents_granted(const struct grant_answer *answer, struct cgroup_parents *ret,
                           struct error *err);
