/* SPDX-License-Identifier: BSD-3-Clause */
/* cgroup-private.h - what the files of containment/ know of each other
 *
 * A tree uses one or more hierarchies: the cgroup2 mount, and each v1 mount that is needed. Every
 * hierarchy holds the same shape (top, ranks, a leaf per rank); a driver knows how its files are
 * called. One of the hierarchies is the one that tracks: its leaves tell who is alive, and it is
 * the one through which ranks are killed. */
#ifndef CONTAINMENT_CGROUP_PRIVATE_H
#define CONTAINMENT_CGROUP_PRIVATE_H

#include "containment/cgroup.h"

#define CGROUP_STEP_PREFIX "mprun."
#define CGROUP_BIT(c)      (1u << (c))

enum { CGROUP_PATH_MAX = 4096, CGROUP_NAME_MAX = 64, HIERARCHY_MAX = 1 + CGROUP_CONTROLLER_COUNT };

/* ---- mounts.c: where cgroups are, from the kernel's own tables ------------------------------ */

struct cgroup_mount {
    int version;          /* 1 or 2 */
    unsigned controllers; /* v1: those mounted together */
    char *root;           /* the cgroup that is seen at `point`, from the reader's namespace */
    char *point;
    int read_only;
};

struct cgroup_mounts {
    struct cgroup_mount *m;
    size_t n;
};

/* From the text of /proc/PID/mountinfo. -1: out of memory. */
int cgroup_mounts_parse(const char *text, struct cgroup_mounts *ret);
void cgroup_mounts_free(struct cgroup_mounts *mounts);

/* A process's cgroup in each hierarchy, from the text of /proc/PID/cgroup; NULL: not in one. */
struct cgroup_membership {
    char *v2;
    char *v1[CGROUP_CONTROLLER_COUNT];
};
int cgroup_membership_parse(const char *text, struct cgroup_membership *ret);
void cgroup_membership_free(struct cgroup_membership *m);

/* The directory in which a cgroup can be seen: caller frees. controller counts for version 1 only.
 * NULL with err: not mounted, or only a mount that shows another part of the hierarchy. ret_root
 * (may be NULL) is the length of the mount point's part of the path. */
char *cgroup_directory(const struct cgroup_mounts *mounts, int version, enum cgroup_controller c,
                       const char *cgroup, size_t *ret_root, struct error *err);

/* Both tables as they are now for a process (0: the caller). */
int cgroup_mounts_read(struct cgroup_mounts *ret, struct error *err);
int cgroup_membership_read(pid_t pid, struct cgroup_membership *ret, struct error *err);

/* ---- dir.c: one cgroup directory ------------------------------------------------------------ */

/* The directory `name` below the open directory `fd`; "." is that directory itself. */
struct cgroup_at {
    int fd;
    const char *name;
};

int at_open(struct cgroup_at d);
ssize_t at_read(struct cgroup_at d, const char *file, char *buf, size_t n); /* as file_read_at */
int at_write(struct cgroup_at d, const char *file, const char *text);       /* as file_write_at */
int at_write_u64(struct cgroup_at d, const char *file, uint64_t value);
/* A number; -1 when the file is not there or holds something else ("max": errno ERANGE). */
int at_read_u64(struct cgroup_at d, const char *file, uint64_t *ret);
int at_exists(struct cgroup_at d, const char *file);
/* The value of `key` in "key value" lines; -1: no such line. */
int flat_key_u64(const char *text, const char *key, uint64_t *ret);
/* Is this word in a list separated by blanks? */
int word_in_list(const char *list, const char *word);

/* Processes in the directory and all below: a malloc'ed array and its length, or -1. Processes
 * that this pid namespace cannot name are not in it. */
ssize_t at_pids(struct cgroup_at d, pid_t **ret);
/* Is any process there or below, also one without a name here? -1: cannot say. */
int at_has_processes(struct cgroup_at d);
/* Remove what is below and the directory itself, children first. 0, or -1 with errno. A directory
 * that is not there is success. */
int at_remove(struct cgroup_at d);
/* Call fn for each directory below, children first, and then for d itself, until it returns non-0,
 * which is passed on; -1 when a directory cannot be read. */
int at_walk(struct cgroup_at d, int (*fn)(struct cgroup_at d, void *arg), void *arg);
/* "pid 17 (solver, state D, waiting in nfs_wait)": the first that is still there, and how many. */
void at_describe(struct cgroup_at d, char *buf, size_t n);

/* ---- v1.c, v2.c: the files of a hierarchy --------------------------------------------------- */

struct oom_count {
    uint64_t hits;  /* how often this cgroup's own limit ran out (v1: was reached) */
    uint64_t kills; /* processes killed in it (v2: and below), for whatever limit */
};

struct cgroup_driver {
    int version;
    /* Let children of d have these controllers: those that they can have now. v1: all. */
    unsigned (*enable)(struct cgroup_at d, unsigned controllers);
    void (*disable)(struct cgroup_at d, unsigned controllers);
    /* Make a new, empty cgroup fit to take processes. */
    int (*prepare)(struct cgroup_at parent, struct cgroup_at d, unsigned controllers);
    /* Set what is set in *l and concerns these controllers, read it back, fill in held_by. */
    void (*limit)(struct cgroup_at d, unsigned controllers, struct limits *l);
    /* Let the kernel kill all of a leaf when it is out of memory, never a part of it. v1: cannot.
     */
    void (*oom_group)(struct cgroup_at d);
    void (*usage)(struct cgroup_at d, unsigned controllers, struct usage *u);
    int (*oom_count)(struct cgroup_at d, struct oom_count *ret);
    /* Start freezing or thawing; 1: that state is reached, 0: not yet (call again), -1: errno. */
    int (*freeze)(struct cgroup_at d, int frozen);
    int (*populated)(struct cgroup_at d); /* d or below; -1: cannot say */
    /* Kill all at once; -1 with errno ENOENT where there is no such file. */
    int (*kill)(struct cgroup_at d);
};
extern const struct cgroup_driver cgroup_driver_v1;
extern const struct cgroup_driver cgroup_driver_v2;

/* Does this machine have swap space at all? Without, a limit of swap holds by itself. */
int machine_has_swap(void);

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

/* ---- kill.c: ending what is in a cgroup ----------------------------------------------------- */

/* One ladder, without a loop: cgroup.kill; else freeze, kill each, thaw, and again. */
struct kill_ladder {
    struct cgroup_at at; /* fd and name stay the caller's */
    const struct cgroup_driver *driver;
    int by_file;      /* cgroup.kill did it */
    int frozen_tries; /* while freezing */
    unsigned rounds;  /* of kill and thaw */
};
void kill_ladder_init(struct kill_ladder *k, struct cgroup_at at,
                      const struct cgroup_driver *driver);
/* Do what can be done now: milliseconds until the next call, 0 when nobody is left, -1 with errno
 * when nothing can be done. Never waits. */
int kill_ladder_step(struct kill_ladder *k);

/* The same on a loop, going on by itself until nobody is left. */
struct killer {
    struct kill_ladder ladder;
    struct loop_timer *timer;
};
int killer_start(struct killer *k, struct loop *l, struct cgroup_at at,
                 const struct cgroup_driver *driver, struct error *err);
void killer_stop(struct killer *k);

/* Send SIGKILL to every process there and below: number of processes met, or -1. Never to the
 * caller, never to a number that is not a process of this cgroup. */
ssize_t kill_each(struct cgroup_at d);

/* ---- events.c: hearing of changes ----------------------------------------------------------- */

typedef void (*watch_fn)(void *arg);
struct watches; /* inotify on cgroup files: v2 tells changes of its event files that way */
struct watches *watches_create(struct loop *l); /* NULL: the kernel has no instance left */
void watches_destroy(struct watches *w);
int watches_add(struct watches *w, const char *path, watch_fn fn, void *arg); /* an id, or -1 */
void watches_remove(struct watches *w, int id);

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
    size_t track; /* index in h */
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
