/* SPDX-License-Identifier: BSD-3-Clause */
/* cgroup-private.h - what the files of containment/ know of each other
 *
 * A tree uses one or more hierarchies: the cgroup2 mount, and each v1 mount that is needed. Every
 * hierarchy holds the same shape (top, ranks, a leaf per rank); a driver knows how its files are
 * called. One of the hierarchies is the one that tracks: its leaves tell who is alive, and it is
 * the one through which ranks are killed. */
#ifndef CONTAINMENT_CGROUP_PRIVATE_H
#define CONTAINMENT_CGROUP_PRIVATE_H

#include "containment/cgroup-parts.h"

#define CGROUP_STEP_PREFIX "mprun."

enum { HIERARCHY_MAX = 1 + CGROUP_CONTROLLER_COUNT };

/* ---- hierarchy.c: our subtree in one hierarchy ---------------------------------------------- */

struct hierarchy {
    const struct cgroup_driver *driver;
    unsigned available;   /* controllers that our subtree may be given */
    unsigned controllers; /* that `top` has: for limits of the host */
    unsigned for_ranks;   /* that leaves have */
    int every_rank;       /* all ranks get a leaf here; else only those with a limit */
    char *parent;         /* the place */
    char *top;            /* parent/mprun.<step> */
    char *ranks;          /* top/ranks */
    char *home;           /* where processes in `starter` came from; NULL: none was moved */
    unsigned turned_on;   /* controllers that we enabled in `parent` to get them */
    int parent_fd, top_fd, ranks_fd; /* -1: not made */
    int ranks_procs_fd; /* cgroup.procs of `ranks`, for ranks without a leaf here; -1: not open */
    int missed;         /* some rank is not in it: it was made later */
};

int hierarchy_init(struct hierarchy *h, const struct cgroup_driver *driver, const char *parent,
                   unsigned available, const char *step_name);
void hierarchy_free(struct hierarchy *h);
/* Make top and ranks. movers: own processes that have to leave `parent` before it can have
 * controllers. leaves: ranks will get leaves of their own. Nothing is left on failure. */
int hierarchy_make(struct hierarchy *h, const pid_t *movers, size_t nmovers, int leaves,
                   struct error *err);
/* Let `ranks`, which is made, have these too: those of them that it could be given. */
unsigned hierarchy_add_controllers(struct hierarchy *h, unsigned controllers);
static inline int hierarchy_made(const struct hierarchy *h)
{
    return h->top_fd >= 0;
}
/* Move a process of ours below top/starter. */
int hierarchy_send_home(const struct hierarchy *h, pid_t pid, struct error *err);
int hierarchy_adopt(struct hierarchy *h, pid_t pid, struct error *err);
int hierarchy_remove(struct hierarchy *h, struct error *err); /* EBUSY: try again later */
static inline struct cgroup_at hierarchy_top(const struct hierarchy *h)
{
    return (struct cgroup_at){h->top_fd, "."};
}
static inline struct cgroup_at hierarchy_ranks(const struct hierarchy *h)
{
    return (struct cgroup_at){h->ranks_fd, "."};
}

/* ---- stale.c: steps whose owner is gone ------------------------------------------------------ */

enum { STALE_AGE_S = 30 };
void stale_lock(
    int dir); /* for as long as the descriptor is open, and no longer than this process */
/* End and remove steps' cgroups below parent that are ours, not locked, and at least that old. */
void stale_sweep(const char *parent, int min_age);

/* ---- events.c: hearing of changes ----------------------------------------------------------- */

struct empty_wait { /* waiting for the ranks' cgroup to have no process */
    void (*fn)(void *arg);
    void *arg;
    int watch;
    double delay;
    struct loop_timer *timer;
    struct loop_defer *defer;
};
void empty_wait_stop(struct cgroup_tree *t);

/* ---- oom.c ---------------------------------------------------------------------------------- */

struct oom_watch { /* of one cgroup with a memory limit */
    struct cgroup_tree *tree;
    struct cgroup_leaf *leaf; /* NULL: the step's */
    uint64_t told;            /* kills that were reported, or are somebody else's */
    int watch;                /* v2; -1: none */
    int eventfd;              /* v1; -1: none */
    struct loop_io *io;
};

struct oom_state {
    cgroup_oom_fn fn; /* NULL: nobody watches */
    void *arg;
    struct oom_watch step;
    uint64_t told_leaves;     /* sum over leaves, removed ones too */
    struct loop_timer *again; /* v1 tells of an OOM before it kills */
    double delay;
};

void oom_watch_init(struct oom_watch *w, struct cgroup_tree *t, struct cgroup_leaf *leaf);
/* For a leaf made after cgroup_tree_watch_oom(). A leaf without a memory limit needs none. */
int oom_leaf_start(struct cgroup_leaf *leaf, struct error *err);
void oom_watch_stop(struct oom_watch *w);
void oom_leaf_gone(struct cgroup_leaf *leaf); /* before it is removed: keep what it counted */
void oom_stop(struct cgroup_tree *t);

/* ---- tree.c, leaf.c ------------------------------------------------------------------------- */

enum leaf_in { LEAF_NONE, LEAF_OWN, LEAF_SHARED };

struct cgroup_leaf {
    struct cgroup_tree *tree;
    struct cgroup_leaf *next, *prev;
    struct rank_name rank;
    char name[CGROUP_NAME_MAX]; /* W.R.I */
    struct limits limits;
    enum leaf_in in[HIERARCHY_MAX];
    int procs_fd[HIERARCHY_MAX]; /* cgroup.procs to be written at birth; -1: none */
    int v2_fd;                   /* -1: no v2 */
    int counted;                 /* its OOM kills are in the tree's sum */
    struct killer killer;
    struct oom_watch oom;
};

struct cgroup_tree {
    struct loop *loop;
    const struct cgroup_ops *ops;
    enum tracking level;
    char name[CGROUP_NAME_MAX]; /* mprun.<step> */
    struct hierarchy h[HIERARCHY_MAX];
    size_t nh;
    size_t track;       /* index in h */
    unsigned v2_offers; /* controllers that subtrees of the place can have in v2 */
    char *v1_cpuset;    /* the place in v1's hierarchy of cpuset; NULL: none */
    struct limits limits;
    char *why_no_limits; /* NULL: they can be had, or it is not known */
    const char *paths[HIERARCHY_MAX];
    struct cgroup_leaf *leaves;
    size_t nleaves;      /* made so far */
    uint64_t gone_kills; /* OOM kills in leaves that were removed: v1 counts them nowhere else */
    uint64_t gone_hits;
    struct watches *watches; /* NULL: none yet, or none to be had */
    struct empty_wait empty;
    struct oom_state oom;
    struct killer killer;
    struct loop_timer *freezing; /* v1: FROZEN has to be written again while it is FREEZING */
    int freeze_tries;
};

struct watches *tree_watches(struct cgroup_tree *t); /* made when first asked for; may be NULL */
static inline struct hierarchy *tree_tracker(struct cgroup_tree *t)
{
    return &t->h[t->track];
}
/* The v1 hierarchy, made or not, with this controller; NULL: not among those of the tree. */
struct hierarchy *tree_v1_hierarchy(struct cgroup_tree *t, enum cgroup_controller c);
/* One more, not made yet; NULL: out of memory. */
struct hierarchy *tree_add_v1(struct cgroup_tree *t, const char *parent, unsigned available);
/* A leaf's directory in a hierarchy; of `ranks` where it shares that. */
struct cgroup_at leaf_at(const struct cgroup_leaf *leaf, size_t h);

int leaf_create(struct cgroup_tree *t, struct rank_name rank, const struct limits *limits,
                struct cgroup_leaf **ret, cgroup_done_fn done, void *arg, struct error *err);
int leaf_attach(struct cgroup_leaf *leaf, pid_t pid, cgroup_done_fn done, void *arg,
                struct error *err);
void leaf_free(struct cgroup_leaf *leaf); /* forgets it; removes nothing */
int tree_kill(struct cgroup_tree *t, struct error *err);
int tree_freeze(struct cgroup_tree *t, int frozen, struct error *err);

extern const struct cgroup_ops cgroup_ops_v1;
extern const struct cgroup_ops cgroup_ops_v2;
extern const struct cgroup_ops cgroup_ops_hybrid;

#endif
