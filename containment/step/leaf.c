/* SPDX-License-Identifier: BSD-3-Clause */
/* leaf.c - the cgroup of one rank, in the hierarchies where it needs one
 *
 * A leaf costs a directory in each hierarchy. So a rank has a leaf only where the hierarchy tracks,
 * counts, or holds a limit of this rank; elsewhere it is in `ranks`, so that the host's limits
 * hold. Usage files are opened when they are read. */
#include "containment/step/tree-private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"

/* ---- where ----------------------------------------------------------------------------------- */

/* Returns the hierarchy that can limit by this controller; NULL: none. v2 comes first. Makes a v1
 * hierarchy when it is first needed, and does not try again if that fails. */
static struct hierarchy *limiter(struct cgroup_tree *t, enum cgroup_controller c)
{
    for (size_t i = 0; i < t->nh; i++) {
        struct hierarchy *h = &t->h[i];
        if (hierarchy_made(h) && (h->for_ranks & CGROUP_BIT(c)))
            return h;
        if (hierarchy_made(h) || h->driver->version != 1 || !(h->available & CGROUP_BIT(c)))
            continue;
        if (hierarchy_make(h, NULL, 0, 1, NULL) == 0) {
            h->missed = t->nleaves > 0;
            return h;
        }
        h->available = 0;
    }
    return NULL;
}

static void choose_places(struct cgroup_leaf *leaf)
{
    struct cgroup_tree *t = leaf->tree;
    unsigned need = t->level == TRACK_RANK ? cgroup_limits_controllers(&leaf->limits) : 0;
    for (unsigned c = 0; c < CGROUP_CONTROLLER_COUNT; c++) {
        struct hierarchy *h = (need & CGROUP_BIT(c)) ? limiter(t, c) : NULL;
        if (h)
            leaf->in[h - t->h] = LEAF_OWN;
    }
    for (size_t i = 0; i < t->nh; i++) {
        if (!hierarchy_made(&t->h[i]))
            continue;
        if (t->level == TRACK_RANK && t->h[i].every_rank)
            leaf->in[i] = LEAF_OWN;
        else if (leaf->in[i] == LEAF_NONE)
            leaf->in[i] = LEAF_SHARED;
    }
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Can processes be born in a v2 cgroup here (5.7, and no filter of system calls against it)?
 * If they cannot, they have to write themselves into cgroup.procs. */
static bool is_birth_possible(void)
{
    static int known = -1;
    int major = 0, minor = 0;
    struct utsname u;
    if (known >= 0)
        return known;
    if (uname(&u) < 0 || sscanf(u.release, "%d.%d", &major, &minor) != 2)
        return false;
    (void)syscall(435 /* clone3 */, NULL, 0); /* arguments of no size: never starts anything */
    known = (major > 5 || (major == 5 && minor >= 7)) && errno == EINVAL;
    return known;
}

static int open_procs(struct hierarchy *h, struct cgroup_at d)
{
    char path[CGROUP_NAME_MAX + 16];
    if (strcmp(d.name, ".") != 0) {
        snprintf(path, sizeof(path), "%s/cgroup.procs", d.name);
        return openat(d.fd, path, O_WRONLY | O_CLOEXEC);
    }
    if (h->ranks_procs_fd < 0) /* all ranks without a leaf share it; the hierarchy closes it */
        h->ranks_procs_fd = openat(d.fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    return h->ranks_procs_fd;
}

static int open_for_birth(struct cgroup_leaf *leaf, size_t i)
{
    struct hierarchy *h = &leaf->tree->h[i];
    struct cgroup_at d = leaf_at(leaf, i);
    if (h->driver->version == 2) {
        leaf->v2_fd = leaf->in[i] == LEAF_OWN ? at_open(d) : d.fd;
        if (leaf->v2_fd < 0)
            return -1;
        if (is_birth_possible())
            return 0;
    }
    leaf->procs_fd[i] = open_procs(h, d);
    return leaf->procs_fd[i] < 0 ? -1 : 0;
}

static int make_in(struct cgroup_leaf *leaf, size_t i, struct error *err)
{
    struct hierarchy *h = &leaf->tree->h[i];
    struct cgroup_at d = leaf_at(leaf, i);
    if (leaf->in[i] == LEAF_OWN) {
        if (at_make(d, 0755) < 0) {
            int saved = errno;
            leaf->in[i] = LEAF_NONE; /* nothing was made, so there is nothing to remove */
            return error_errno(err, saved, "make cgroup '%s/%s'", h->ranks, d.name);
        }
        if (h->driver->prepare(hierarchy_ranks(h), d, h->available) < 0)
            return error_errno(err, errno, "set up cgroup '%s/%s'", h->ranks, d.name);
        cgroup_limit(h->driver, d, h->for_ranks, &leaf->limits);
        if (h->driver->version == 2 && !leaf->tree->kills_one &&
            (h->for_ranks & CGROUP_BIT(CGROUP_MEMORY)))
            (void)at_write(d, "memory.oom.group", "1"); /* all of it, never a part */
    }
    if (open_for_birth(leaf, i) < 0)
        return error_errno(err, errno, "open cgroup '%s/%s'", h->ranks, d.name);
    return 0;
}

static int make_everywhere(struct cgroup_leaf *leaf, struct error *err)
{
    for (size_t i = 0; i < leaf->tree->nh; i++)
        if (leaf->in[i] != LEAF_NONE && make_in(leaf, i, err) < 0) {
            while (++i < leaf->tree->nh)
                leaf->in[i] = LEAF_NONE; /* never made */
            return -1;
        }
    return 0;
}

static struct cgroup_leaf *leaf_new(struct cgroup_tree *t, struct rank_name rank,
                                    const struct limits *limits)
{
    struct cgroup_leaf *leaf = must(malloc(sizeof(*leaf)));
    *leaf = (struct cgroup_leaf){.tree = t, .v2_fd = -1, .next = t->leaves};
    for (size_t i = 0; i < HIERARCHY_MAX; i++)
        leaf->procs_fd[i] = -1;
    snprintf(leaf->name, sizeof(leaf->name), "%" PRIu32 ".%" PRIu32 ".%" PRIu32, rank.world,
             rank.rank, rank.incarnation);
    if (limits)
        leaf->limits = *limits;
    limits_forget_holders(&leaf->limits);
    if (t->leaves)
        t->leaves->prev = leaf;
    t->leaves = leaf;
    return leaf;
}

struct cgroup_leaf *cgroup_leaf_create(struct cgroup_tree *t, struct rank_name rank,
                                       const struct limits *limits, struct error *err)
{
    struct cgroup_leaf *leaf = leaf_new(t, rank, limits);
    choose_places(leaf);
    if (make_everywhere(leaf, err) < 0) {
        int saved = errno;
        (void)cgroup_leaf_remove(leaf, NULL);
        errno = saved;
        return NULL;
    }
    t->nleaves++;
    return leaf;
}

/* ---- using ----------------------------------------------------------------------------------- */

void cgroup_leaf_birth(const struct cgroup_leaf *leaf, struct cgroup_birth *ret)
{
    *ret = (struct cgroup_birth){.v2_fd = leaf->v2_fd, .v2_procs_fd = -1};
    for (size_t c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        ret->v1_procs_fds[c] = -1;
    for (size_t i = 0; i < leaf->tree->nh; i++) {
        if (leaf->procs_fd[i] < 0)
            continue;
        if (leaf->tree->h[i].driver->version == 2)
            ret->v2_procs_fd = leaf->procs_fd[i];
        else
            ret->v1_procs_fds[ret->nv1++] = leaf->procs_fd[i];
    }
}

const struct limits *cgroup_leaf_limits(const struct cgroup_leaf *leaf)
{
    return &leaf->limits;
}

int cgroup_leaf_pids(const struct cgroup_leaf *leaf, pid_t **ret)
{
    if (leaf->in[leaf->tree->track] != LEAF_OWN)
        return error_number(ENOTSUP); /* they are all ranks' */
    return (int)at_pids(leaf_at(leaf, leaf->tree->track), ret);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void close_descriptors(struct cgroup_leaf *leaf)
{
    struct cgroup_tree *t = leaf->tree;
    for (size_t i = 0; i < t->nh; i++) {
        if (leaf->procs_fd[i] != t->h[i].ranks_procs_fd)
            cleanup_close(&leaf->procs_fd[i]);
        leaf->procs_fd[i] = -1;
    }
    if (leaf->v2_fd != tree_tracker(t)->ranks_fd)
        cleanup_close(&leaf->v2_fd);
    leaf->v2_fd = -1;
}

void leaf_free(struct cgroup_leaf *leaf)
{
    close_descriptors(leaf);
    if (leaf->next)
        leaf->next->prev = leaf->prev;
    if (leaf->prev)
        leaf->prev->next = leaf->next;
    else
        leaf->tree->leaves = leaf->next;
    free(leaf);
}

int cgroup_leaf_remove(struct cgroup_leaf *leaf, struct error *err)
{
    struct cgroup_tree *t = leaf->tree;
    if (!leaf->counted) {
        usage_leaf_gone(leaf);
        leaf->counted = true;
    }
    for (size_t i = 0; i < t->nh; i++) {
        char path[CGROUP_PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", t->h[i].ranks, leaf->name);
        if (leaf->in[i] == LEAF_OWN && at_remove_or_tell(leaf_at(leaf, i), path, err) < 0)
            return -1;
    }
    leaf_free(leaf);
    return 0;
}
