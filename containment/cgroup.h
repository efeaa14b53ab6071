/* SPDX-License-Identifier: BSD-3-Clause */
/* cgroup.h - the cgroups of one step on one host
 *
 * A cgroup_source finds where a step may make cgroups; a cgroup_tree is what was made there: one
 * subtree for the step, in it `starter` and a leaf per rank. The interface is the same for v1, v2
 * and hybrid machines. Creating and attaching answer through callbacks, because a source such as
 * the node daemon acts on our behalf; callbacks may come before the call returns.
 *
 * Layout below the place found (v2, and each v1 hierarchy that is used):
 *     mprun.<step>/               limits of the host (--mem)
 *     mprun.<step>/starter        the starter's own processes, where they may be moved
 *     mprun.<step>/ranks/W.R.I    a rank: its limits, its processes, born there
 */
#ifndef CONTAINMENT_CGROUP_H
#define CONTAINMENT_CGROUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/idset.h"
#include "common/loop.h"
#include "model/limits.h"
#include "model/rank-name.h"
#include "model/step.h"
#include "model/usage.h"

struct cgroup_tree;
struct cgroup_leaf;

/* ---- where: sources ------------------------------------------------------------------------- */

enum cgroup_controller {
    CGROUP_MEMORY,
    CGROUP_CPUSET,
    CGROUP_CPU, /* v2: cpu; v1: cpuacct */
    CGROUP_PIDS,
    CGROUP_DEVICES,
    CGROUP_FREEZER, /* v1 only */
    CGROUP_CONTROLLER_COUNT,
};
const char *cgroup_controller_text(enum cgroup_controller c);

/* A writable place. Paths are absolute directories; NULL where there is none. */
struct cgroup_place {
    const char *source;      /* name of the source that found it */
    char *v2;                /* parent for our subtree in a cgroup2 mount */
    unsigned v2_controllers; /* bit per enum cgroup_controller that v2 subtrees can have */
    char *v2_why;            /* why it lacks memory or pids; NULL: it has them */
    pid_t *v2_movers;        /* own processes in v2 that have to go into `starter` before */
    size_t nv2_movers;       /* it can have controllers; moved back when the tree goes */
    char *v1[CGROUP_CONTROLLER_COUNT]; /* parent in the hierarchy of each v1 controller */
};
void cgroup_place_free(struct cgroup_place *p);

/* place is valid during the call. NULL: none, and err says why */
typedef void (*cgroup_place_fn)(void *arg, const struct cgroup_place *place,
                                const struct error *err);

struct cgroup_source {
    const char *name; /* "daemon", "own", later "rm", "systemd" */
    /* Find a place; answers once. self: pids that belong to mprun itself on this host (a populated
     * cgroup that holds nothing else may be reorganised). 0: will answer; -1: cannot (err; without
     * text where there is nothing worth saying). */
    int (*acquire)(struct loop *l, const pid_t *self, size_t nself, cgroup_place_fn done, void *arg,
                   struct error *err);
};
/* In the order in which they are asked; NULL-terminated. */
extern const struct cgroup_source *const cgroup_sources[];
/* What the node daemon gives in the job's cgroup, where it runs: source-daemon.c. Who needs more of
 * its answer than a place asks with the first, and takes the place with the second. */
extern const struct cgroup_source cgroup_source_daemon;
struct grant_answer;
/* answer NULL: none, and why says so, without text where there is nothing worth saying */
typedef void (*cgroup_daemon_fn)(void *arg, const struct grant_answer *answer,
                                 const struct error *why);
/* As acquire(): answers once, soon. 0, or -1 with err. The caller is moved into its job's cgroup.
 */
int cgroup_daemon_ask(struct loop *l, cgroup_daemon_fn fn, void *arg, struct error *err);
/* 0 with *ret, for cgroup_place_free(), or -1: the answer has no place. */
int cgroup_daemon_place(const struct grant_answer *answer, struct cgroup_place *ret,
                        struct error *err);
/* The calling process's own (delegated) cgroup: source-own.c. */
extern const struct cgroup_source cgroup_source_own;
/* The last words of its error where there is none: of no use where a manager has the processes. */
#define CGROUP_ADVICE                                                                              \
    ". To get one, start in a delegated scope, for example by "                                    \
    "'systemd-run --user --scope -p Delegate=yes mprun ...'"

/* ---- what: the step's subtree --------------------------------------------------------------- */

typedef void (*cgroup_done_fn)(void *arg, const struct error *err); /* err NULL: done */

struct cgroup_birth { /* how a new process gets into a leaf, for struct spawn */
    int v2_fd;        /* directory for CLONE_INTO_CGROUP; -1: none */
    int v1_procs_fds[CGROUP_CONTROLLER_COUNT]; /* cgroup.procs to write "0" to before exec */
    size_t nv1;
    int v2_procs_fd; /* cgroup.procs of the v2 leaf, to be written like v1's, where the kernel
                        refuses clone3 into a cgroup; -1 where it is known to do it */
};

/* Operations differ between v1, v2 and both; a tree has one table. Functions return 0 or -1 with
 * err, and change nothing more on failure. */
struct cgroup_ops {
    const char *name; /* "v2", "v1", "hybrid" */
    int (*leaf_create)(struct cgroup_tree *t, struct rank_name rank, const struct limits *limits,
                       struct cgroup_leaf **ret, cgroup_done_fn done, void *arg, struct error *err);
    int (*attach)(struct cgroup_leaf *leaf, pid_t pid, cgroup_done_fn done, void *arg,
                  struct error *err);
    int (*kill)(struct cgroup_tree *t, struct error *err);
    int (*freeze)(struct cgroup_tree *t, int frozen, struct error *err);
};

/* Make the step's subtree and set the host's limits while it is empty. Before it, subtrees at the
 * same place whose starter was killed without a chance to remove them are ended and removed: a
 * step's owner is known by a lock on its directory that ends with the calling process. held_by of
 * each set limit is filled in; a limit that the place cannot hold stays HELD_BY_NONE. level:
 * TRACK_RANK or TRACK_STEP (no leaves: ranks share one). NULL: nothing was left behind. */
struct cgroup_tree *cgroup_tree_create(struct loop *l, const struct cgroup_place *place,
                                       const char *step_id, enum tracking level,
                                       struct limits *host_limits, struct error *err);
const struct cgroup_ops *cgroup_tree_ops(const struct cgroup_tree *t);
/* Directories that were made, or may still be made for a later rank's limits: for whoever has to
 * remove them after a crash. */
size_t cgroup_tree_paths(const struct cgroup_tree *t, const char *const **ret);
/* The directory whose cgroup.kill ends all ranks (v2), or NULL. */
const char *cgroup_tree_v2_path(const struct cgroup_tree *t);
/* Hold all ranks to these hardware threads, cut with those that the place has, whatever affinity
 * they set: to be called before the first leaf is made. Memory nodes are those of the place. -1:
 * nothing here can hold them, or nothing would be left; more paths may have been made. */
int cgroup_tree_hold_cpus(struct cgroup_tree *t, const struct idset *cpus, struct error *err);
/* Which controllers can limit ranks here, bit per enum cgroup_controller. */
unsigned cgroup_tree_controllers(const struct cgroup_tree *t);
/* Why it cannot limit memory or processes, for a message; "" where it can, or nobody knows. */
const char *cgroup_tree_why_no_limits(const struct cgroup_tree *t);
/* A child of a process of ours, which may be in `starter` as its parent is, goes to where that came
 * from: it outlives the tree. 0, also where none was moved; -1: there it cannot be now. */
int cgroup_tree_send_home(struct cgroup_tree *t, pid_t pid, struct error *err);
/* Move a process of ours (not a rank) into the subtree's `starter` cgroup. */
int cgroup_tree_adopt_starter(struct cgroup_tree *t, pid_t pid, struct error *err);
/* Descriptors stay the leaf's. */
void cgroup_leaf_birth(const struct cgroup_leaf *leaf, struct cgroup_birth *ret);
struct rank_name cgroup_leaf_rank(const struct cgroup_leaf *leaf);
const struct limits *cgroup_leaf_limits(const struct cgroup_leaf *leaf); /* held_by filled in */
/* What the leaf's processes used so far, dead ones included; adds to *u what it knows. */
void cgroup_leaf_usage(const struct cgroup_leaf *leaf, struct usage *u);
void cgroup_tree_usage(const struct cgroup_tree *t, struct usage *u); /* all ranks */
/* Bytes that all ranks have now: what USAGE_MEMORY_PEAK is the highest of. 0 with *ret, or -1 where
 * nothing here counts it. */
int cgroup_tree_memory(const struct cgroup_tree *t, uint64_t *ret);
/* pids in the leaf now: number, or -1; *ret is malloc'ed. ENOTSUP, here and for kill, at
 * TRACK_STEP: the processes are not of one rank. */
int cgroup_leaf_pids(const struct cgroup_leaf *leaf, pid_t **ret);
int cgroup_leaf_kill(struct cgroup_leaf *leaf, struct error *err);

/* Out of memory: called when a limit of a leaf, or of the step (leaf NULL), made the kernel kill.
 * count: processes killed since the last call. Reading it again at exit is cgroup_leaf_usage(),
 * which also knows of kills for a limit further up. fn may kill, but not remove or destroy. */
typedef void (*cgroup_oom_fn)(void *arg, struct cgroup_leaf *leaf, uint64_t count);
int cgroup_tree_watch_oom(struct cgroup_tree *t, cgroup_oom_fn fn, void *arg, struct error *err);

/* Called once, from the loop, when no process is left in any rank's leaf. */
int cgroup_tree_wait_empty(struct cgroup_tree *t, void (*fn)(void *arg), void *arg,
                           struct error *err);
/* Remove a leaf, or everything. A cgroup that cannot go yet is retried by the caller: -1, EBUSY. */
int cgroup_leaf_remove(struct cgroup_leaf *leaf, struct error *err);
int cgroup_tree_remove(struct cgroup_tree *t, struct error *err);
/* Forget everything; removes no cgroup. NULL is fine. */
void cgroup_tree_destroy(struct cgroup_tree *t);

/* ---- for a process that knows only paths (keeper, after a crash): no loop, may wait --------- */

/* Kill what is in the cgroup directories (v2: cgroup.kill; v1: freeze, kill, thaw, repeated), wait
 * at most timeout_ms for them to empty, and remove them and what is below, children first.
 * 0, or -1 with the first that stayed and why (pid, state, wait channel). */
int cgroup_sweep(const char *const *paths, size_t n, int timeout_ms, struct error *err);

#endif
