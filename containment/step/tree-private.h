/* SPDX-License-Identifier: BSD-3-Clause */
/* tree-private.h - what the files of containment/step/ know of a tree and its leaves
 *
 * A tree uses one or more hierarchies: the cgroup2 mount, and each v1 mount that is needed. Every
 * hierarchy has the same shape (top, ranks, a leaf per rank); a driver knows its files. One of the
 * hierarchies is the tracker: its leaves tell which processes live, and mprun kills ranks through
 * it. */
#pragma once

#include "containment/cgroup/kill.h"
#include "containment/cgroup/watches.h"
#include "containment/step/hierarchy.h"
#include "containment/step/tree.h"

enum { HIERARCHY_MAX = 1 + CGROUP_CONTROLLER_COUNT };

struct empty_wait {        /* the wait of cgroup_tree_wait_empty() */
    void (*fn)(void *arg); /* NULL: nobody waits */
    void *arg;
    int watch;    /* v2; -1: none */
    double delay; /* seconds until the next look, if there is no watch */
    struct loop_timer timer;
    struct loop_defer defer;
};

enum leaf_in { LEAF_NONE, LEAF_OWN, LEAF_SHARED };

struct cgroup_leaf { /* written by leaf.c */
    struct cgroup_tree *tree;
    struct cgroup_leaf *next, *prev;
    char name[CGROUP_NAME_MAX]; /* W.R.I */
    struct limits limits;
    enum leaf_in in[HIERARCHY_MAX];
    int procs_fd[HIERARCHY_MAX]; /* cgroup.procs to be written at birth; -1: none */
    int v2_fd;                   /* -1: no v2 */
    bool counted;                /* the tree's sum has its OOM kills */
};

struct cgroup_tree { /* written by tree.c, unless a member names another file */
    struct loop *loop;
    enum tracking level;
    char name[CGROUP_NAME_MAX]; /* mprun.<step> */
    struct hierarchy h[HIERARCHY_MAX];
    size_t nh;
    size_t track;                           /* index in h */
    unsigned v2_offers;                     /* controllers that subtrees can have in v2 */
    char *v1_late[CGROUP_CONTROLLER_COUNT]; /* parents in v1's hierarchies of controllers that a
                                               tree uses only on demand; NULL: none */
    struct limits limits;
    char *why_no_limits; /* NULL: it has limits, or the reason is not known */
    const char *paths[HIERARCHY_MAX];
    struct cgroup_leaf *leaves; /* leaf.c */
    size_t nleaves;             /* made so far; leaf.c */
    struct watches *watches;    /* made by tree_watches(); NULL: not made yet, or not possible */
    struct empty_wait empty;
    struct oom_count gone; /* of leaves that were removed: v1 counts them nowhere else; usage.c */
    struct killer killer;
    bool kills_one; /* memory.oom.group is not set */
    struct {
        struct loop_timer timer; /* v1: until the next request */
        int tries;
    } freezer; /* freeze.c */
};

/* Returns the tree's one inotify instance, made at the first call: a user has few. May be NULL. */
static inline struct watches *tree_watches(struct cgroup_tree *t)
{
    if (!t->watches)
        t->watches = watches_create(t->loop);
    return t->watches;
}
static inline struct hierarchy *tree_tracker(struct cgroup_tree *t)
{
    return &t->h[t->track];
}
/* Returns a leaf's directory in a hierarchy; `ranks` if the leaf shares that. */
static inline struct cgroup_at leaf_at(const struct cgroup_leaf *leaf, size_t h)
{
    return (struct cgroup_at){leaf->tree->h[h].ranks_fd,
                              leaf->in[h] == LEAF_OWN ? leaf->name : "."};
}

/* ---- tree.c --------------------------------------------------------------------------------- */

/* Returns the v1 hierarchy, made or not, with this controller; NULL: the tree has none. */
struct hierarchy *tree_v1_hierarchy(struct cgroup_tree *t, enum cgroup_controller c);
/* Returns it, and makes it if need be; NULL with err. ENOTSUP: this host has none. */
struct hierarchy *tree_make_v1(struct cgroup_tree *t, enum cgroup_controller c, struct error *err);
void empty_wait_stop(struct cgroup_tree *t);

/* ---- freeze.c ------------------------------------------------------------------------------- */

void freezer_init(struct cgroup_tree *t);

/* ---- leaf.c --------------------------------------------------------------------------------- */

void leaf_free(struct cgroup_leaf *leaf); /* forgets it; removes nothing */

/* ---- usage.c -------------------------------------------------------------------------------- */

/* Keeps what a leaf counted, before the leaf is removed. */
void usage_leaf_gone(struct cgroup_leaf *leaf);
