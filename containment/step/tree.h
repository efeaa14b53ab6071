/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.h - the cgroups of one step on one host: a tree for the step, and in it a leaf for each rank
 *
 * The interface is the same for v1, v2 and hybrid machines. Below its parent (in v2, and in each
 * v1 hierarchy that is used):
 *     mprun.<step>/               limits of the host (--mem)
 *     mprun.<step>/starter        the starter's own processes, where they may be moved
 *     mprun.<step>/ranks/W.R.I    a rank: its limits, its processes, born there
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/text/idset.h"
#include "common/loop.h"
#include "containment/cgroup/devices.h"
#include "containment/job-cgroup/parents.h"
#include "model/limits.h"
#include "model/rank-name.h"
#include "model/step.h"
#include "model/usage.h"

struct cgroup_tree;
struct cgroup_leaf;

/* ---- the tree ------------------------------------------------------------------------------- */

/* Makes the step's subtree and sets the host's limits while it is empty. First kills and removes
 * subtrees of the same parent whose starter was killed before it could remove them: an owner holds
 * a lock on its subtree's directory, which ends with the owner's process. Fills in held_by of each
 * set limit; a limit that the parents cannot hold stays HELD_BY_NONE. level: TRACK_RANK, or
 * TRACK_STEP (ranks share one cgroup). NULL with err: nothing was left behind. */
struct cgroup_tree *cgroup_tree_create(struct loop *l, const struct cgroup_parents *parents,
                                       const char *step_id, enum tracking level,
                                       struct limits *host_limits, struct error *err);
/* Frees t; removes no cgroup. NULL is fine. */
void cgroup_tree_destroy(struct cgroup_tree *t);
/* Removes all its cgroups. -1 with EBUSY: one still has a process; try again. */
int cgroup_tree_remove(struct cgroup_tree *t, struct error *err);

/* Returns the versions of cgroups that it uses: "v2", "v1", or "hybrid" for both. */
const char *cgroup_tree_kind(const struct cgroup_tree *t);
/* Lists the directories that were made, or may still be made for a later rank's limits: a sweep
 * after a crash needs them. They stay the tree's. Returns their number. */
size_t cgroup_tree_paths(const struct cgroup_tree *t, const char *const **ret);
/* Returns the set of controllers that can limit ranks here. */
unsigned cgroup_tree_controllers(const struct cgroup_tree *t);
/* Says for a message why the tree cannot limit memory or processes; "": it can, or the reason is
 * not known. */
const char *cgroup_tree_why_no_limits(const struct cgroup_tree *t);

/* Holds all ranks to these hardware threads, as far as the parent has them, whatever affinity ranks
 * set; memory nodes stay the parent's. Call it before the first leaf is made. -1 with err: nothing
 * here can hold them, or no thread would be left; more paths may have been made. */
int cgroup_tree_hold_cpus(struct cgroup_tree *t, const struct idset *cpus, struct error *err);
/* Prepares to hold ranks to devices (cgroup_leaf_hold_devices()). Call it before the first leaf is
 * made. -1 with err: that is not possible here, as it takes root. */
int cgroup_tree_hold_devices(struct cgroup_tree *t, struct error *err);
/* When a rank has too much memory, the kernel is to kill one of its processes, and not all (v2; v1
 * never kills all). Call it before the first leaf is made. */
void cgroup_tree_kill_one(struct cgroup_tree *t);
/* Moves a process that was born in `starter`, because its parent is there, to the cgroup that the
 * parent came from, so that it can outlive the tree. Returns 0, also if mprun's processes were not
 * moved; -1 with err. */
int cgroup_tree_send_home(struct cgroup_tree *t, pid_t pid, struct error *err);

/* Adds to *u what all ranks have used so far, ended ones included, as far as it is counted here. */
void cgroup_tree_usage(const struct cgroup_tree *t, struct usage *u);
/* Reads the bytes that all ranks have now; USAGE_MEMORY_PEAK is their highest value. Returns 0 with
 * *ret; -1: nothing here counts them. */
int cgroup_tree_memory(const struct cgroup_tree *t, uint64_t *ret);

/* Begins to kill all ranks; the loop goes on with it until none is left. 0, or -1 with err. */
int cgroup_tree_kill(struct cgroup_tree *t, struct error *err);
/* Writes for messages what is in the ranks' cgroups, like at_describe(). */
void cgroup_tree_describe(struct cgroup_tree *t, char *buf, size_t n);
/* Writes the path of the ranks' directory in v2, relative to the directory `top`, into buf. false:
 * it is not below top. */
bool cgroup_tree_below(const struct cgroup_tree *t, const char *top, char *buf, size_t n);
/* Freezes all ranks, or thaws them. On v1 the loop goes on with it for a bounded time, until all
 * are frozen; if some cannot be frozen, it thaws all. Returns 1: done; 0: under way; -1: nothing
 * here can. */
int cgroup_tree_freeze(struct cgroup_tree *t, bool frozen);
bool cgroup_tree_is_empty(struct cgroup_tree *t); /* no process is left in any rank's leaf */
/* Calls fn once, from the loop, when no process is left in any rank's leaf. -1 with err; EALREADY:
 * an earlier call still waits. */
int cgroup_tree_wait_empty(struct cgroup_tree *t, void (*fn)(void *arg), void *arg,
                           struct error *err);

/* Returns whether the ranks together reached the memory limit of the step on this host. */
bool cgroup_tree_reached_limit(const struct cgroup_tree *t);
/* Adds to *u how often the ranks hit that limit, as far as it is counted here. */
void cgroup_tree_limit_usage(const struct cgroup_tree *t, struct usage *u);

/* ---- a leaf --------------------------------------------------------------------------------- */

/* Makes a rank's cgroup, with its limits. A limit that nothing here can hold stays HELD_BY_NONE.
 * NULL with err: nothing was left behind. */
struct cgroup_leaf *cgroup_leaf_create(struct cgroup_tree *t, struct rank_name rank,
                                       const struct limits *limits, struct error *err);
/* Removes the cgroup and frees leaf. -1 with EBUSY: it still has a process; try again. */
int cgroup_leaf_remove(struct cgroup_leaf *leaf, struct error *err);

const struct limits *cgroup_leaf_limits(const struct cgroup_leaf *leaf); /* held_by filled in */
/* Keeps its processes from these devices; call it while there are none. 0, or -1 with err. */
int cgroup_leaf_hold_devices(const struct cgroup_leaf *leaf, const struct cgroup_device *device,
                             size_t n, struct error *err);
/* Writes the path of its directory in v2, relative to `top`, into buf. false: not below top. */
bool cgroup_leaf_below(const struct cgroup_leaf *leaf, const char *top, char *buf, size_t n);
/* Adds to *u what the leaf's processes have used so far, ended ones included, as far as it is
 * counted here. */
void cgroup_leaf_usage(const struct cgroup_leaf *leaf, struct usage *u);
/* Returns whether the leaf reached a memory limit of its own. Its usage tells whether the kernel
 * has killed; that may have been for a limit further up. */
bool cgroup_leaf_reached_limit(const struct cgroup_leaf *leaf);
/* Returns whether a fork failed there because the leaf had all processes that its limit allows. */
bool cgroup_leaf_refused_process(const struct cgroup_leaf *leaf);
/* Lists its processes. Returns their number with *ret, which the caller frees; -1 with errno.
 * ENOTSUP at TRACK_STEP: the processes are not of one rank. */
int cgroup_leaf_pids(const struct cgroup_leaf *leaf, pid_t **ret);

struct cgroup_birth { /* how a new process gets into a leaf, for struct spawn */
    int v2_fd;        /* directory for CLONE_INTO_CGROUP; -1: none */
    int v1_procs_fds[CGROUP_CONTROLLER_COUNT]; /* cgroup.procs: write "0" to each before exec */
    size_t nv1;
    int v2_procs_fd; /* cgroup.procs of the v2 leaf, to be written like v1's where the kernel
                        refuses clone3 into a cgroup; -1: the kernel does not refuse it */
};
/* Tells how to start a process in the leaf. The descriptors stay the leaf's. */
void cgroup_leaf_birth(const struct cgroup_leaf *leaf, struct cgroup_birth *ret);
