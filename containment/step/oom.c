/* SPDX-License-Identifier: BSD-3-Clause */
/* oom.c - hearing that the kernel killed for want of memory, and whose limit it was
 *
 * A kill counts in the cgroup of the process that died. It is a leaf's own affair when that leaf's
 * limit ran out; otherwise the step's, when the step's ran out; otherwise it was a limit further up
 * or the whole machine, which is seen in the usage of the rank but is not told here.
 *
 * v2: memory.events changes, first for the limit, then for each kill. v1: an eventfd fires before
 * the kernel kills, on the cgroup with the limit and on all below, so the counters are looked at
 * again for a while. */
#include "containment/step/tree-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "containment/tunables.h"

/* ---- counting -------------------------------------------------------------------------------- */

static int memory_index(const struct cgroup_tree *t)
{
    for (size_t i = 0; i < t->nh; i++)
        if (hierarchy_made(&t->h[i]) && (t->h[i].controllers & CGROUP_BIT(CGROUP_MEMORY)))
            return (int)i;
    return -1;
}

static bool is_held(const struct limit *l)
{
    return l->set && l->held_by == HELD_BY_CGROUP;
}

static int leaf_count(const struct cgroup_leaf *leaf, int h, struct oom_count *ret)
{
    if (leaf->in[h] != LEAF_OWN)
        return -1;
    return leaf->tree->h[h].driver->oom_count(leaf_at(leaf, (size_t)h), ret);
}

/* Tell of a leaf's kills if its own limit ran out. 1: told. */
static int check_leaf(struct cgroup_leaf *leaf, int h)
{
    struct cgroup_tree *t = leaf->tree;
    struct oom_count c;
    if (!is_held(&leaf->limits.memory) || leaf_count(leaf, h, &c) < 0)
        return 0;
    if (c.hits == 0 || c.kills <= leaf->oom.told)
        return 0;
    uint64_t n = c.kills - leaf->oom.told;
    leaf->oom.told = c.kills;
    t->oom.told_leaves += n;
    t->oom.fn(t->oom.arg, leaf, n);
    return 1;
}

/* All kills of ranks so far. */
static uint64_t kills_of_ranks(const struct cgroup_tree *t, int h)
{
    const struct hierarchy *in = &t->h[h];
    struct oom_count c;
    uint64_t sum = in->driver->oom_count(hierarchy_ranks(in), &c) == 0 ? c.kills : 0;
    if (in->driver->version == 2) /* counts what is below, removed cgroups too */
        return sum;
    for (const struct cgroup_leaf *leaf = t->leaves; leaf; leaf = leaf->next)
        if (leaf_count(leaf, h, &c) == 0)
            sum += c.kills;
    return sum + t->oom.gone_kills;
}

static void take_as_told(struct cgroup_tree *t, int h)
{
    struct oom_count c;
    for (struct cgroup_leaf *leaf = t->leaves; leaf; leaf = leaf->next)
        if (leaf_count(leaf, h, &c) == 0 && c.kills > leaf->oom.told)
            leaf->oom.told = c.kills;
}

/* The sum is read before the leaves: what a leaf counts meanwhile is not taken for the step's. */
static int check_step(struct cgroup_tree *t, int h)
{
    struct oom_count c;
    int told = 0;
    uint64_t sum = kills_of_ranks(t, h);
    for (struct cgroup_leaf *leaf = t->leaves; leaf; leaf = leaf->next)
        told |= check_leaf(leaf, h);
    if (!is_held(&t->limits.memory) || t->h[h].driver->oom_count(hierarchy_top(&t->h[h]), &c) < 0 ||
        c.hits == 0 || sum <= t->oom.told_leaves + t->oom.step.told)
        return told;
    uint64_t n = sum - t->oom.told_leaves - t->oom.step.told;
    t->oom.step.told += n;
    take_as_told(t, h);
    t->oom.fn(t->oom.arg, NULL, n);
    return 1;
}

/* ---- hearing --------------------------------------------------------------------------------- */

static void v2_changed(void *arg)
{
    struct oom_watch *w = arg;
    int h = memory_index(w->tree);
    if (h < 0)
        return;
    if (w->leaf)
        (void)check_leaf(w->leaf, h);
    else
        (void)check_step(w->tree, h);
}

static void look_again(void *arg)
{
    struct cgroup_tree *t = arg;
    int h = memory_index(t);
    if (h >= 0 && check_step(t, h))
        t->oom.delay = POLICY_OOM_FIRST_S; /* there may be more */
    else
        t->oom.delay *= 2;
    if (t->oom.delay <= POLICY_OOM_LAST_S)
        loop_timer_start(&t->oom.again, t->oom.delay, 0);
}

static void v1_fired(void *arg, int fd, unsigned events)
{
    struct oom_watch *w = arg;
    uint64_t n;
    if (read(fd, &n, sizeof(n)) < 0)
        return;
    w->tree->oom.delay = POLICY_OOM_FIRST_S / 2;
    look_again(w->tree);
}

static int start_v2(struct oom_watch *w, const char *directory)
{
    char path[CGROUP_PATH_MAX];
    struct watches *all = tree_watches(w->tree);
    if (!all) {
        errno = EMFILE;
        return -1;
    }
    if (snprintf(path, sizeof(path), "%s/memory.events", directory) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    w->watch = watches_add(all, path, v2_changed, w);
    return w->watch < 0 ? -1 : 0;
}

static int start_v1(struct oom_watch *w, struct cgroup_at d)
{
    char text[64];
    AUTO_CLOSE int dir = at_open(d);
    AUTO_CLOSE int control = dir < 0 ? -1 : openat(dir, "memory.oom_control", O_RDONLY | O_CLOEXEC);
    AUTO_CLOSE int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (control < 0 || event < 0)
        return -1;
    snprintf(text, sizeof(text), "%d %d", event, control);
    if (at_write((struct cgroup_at){dir, "."}, "cgroup.event_control", text) < 0)
        return -1;
    w->io = loop_io_create(w->tree->loop, event, LOOP_READ, v1_fired, w);
    if (!w->io)
        return -1;
    w->eventfd = take_fd(&event);
    return 0;
}

static int start(struct oom_watch *w, const struct hierarchy *h, struct cgroup_at d,
                 const char *directory, struct error *err)
{
    int rc = h->driver->version == 2 ? start_v2(w, directory) : start_v1(w, d);
    return rc < 0 ? error_errno(err, errno, "watch cgroup '%s' for lack of memory", directory) : 0;
}

int oom_leaf_start(struct cgroup_leaf *leaf, struct error *err)
{
    struct cgroup_tree *t = leaf->tree;
    char directory[CGROUP_PATH_MAX];
    int h = memory_index(t);
    if (!t->oom.fn || !is_held(&leaf->limits.memory) || h < 0 || leaf->in[h] != LEAF_OWN)
        return 0;
    snprintf(directory, sizeof(directory), "%s/%s", t->h[h].ranks, leaf->name);
    return start(&leaf->oom, &t->h[h], leaf_at(leaf, (size_t)h), directory, err);
}

int cgroup_tree_watch_oom(struct cgroup_tree *t, cgroup_oom_fn fn, void *arg, struct error *err)
{
    int h = memory_index(t);
    oom_stop(t); /* an earlier watcher */
    loop_timer_init(&t->oom.again, t->loop, look_again, t);
    t->oom.fn = fn;
    t->oom.arg = arg;
    int rc = h >= 0 && is_held(&t->limits.memory)
                 ? start(&t->oom.step, &t->h[h], hierarchy_top(&t->h[h]), t->h[h].top, err)
                 : 0;
    for (struct cgroup_leaf *leaf = t->leaves; rc == 0 && leaf; leaf = leaf->next)
        rc = oom_leaf_start(leaf, err);
    if (rc < 0)
        oom_stop(t);
    return rc;
}

void oom_watch_init(struct oom_watch *w, struct cgroup_tree *t, struct cgroup_leaf *leaf)
{
    *w = (struct oom_watch){.tree = t, .leaf = leaf, .watch = -1, .eventfd = -1};
}

/* Counts that a leaf had, and no longer tells, must not be taken for the step's. */
void oom_leaf_gone(struct cgroup_leaf *leaf)
{
    struct cgroup_tree *t = leaf->tree;
    struct oom_count c;
    int h = memory_index(t);
    if (h < 0 || leaf_count(leaf, h, &c) < 0)
        return;
    t->oom.gone_kills += c.kills;
    t->oom.gone_hits += c.hits;
    if (is_held(&leaf->limits.memory) && c.hits > 0 && c.kills > leaf->oom.told)
        t->oom.told_leaves += c.kills - leaf->oom.told;
}

void oom_watch_stop(struct oom_watch *w)
{
    if (w->watch >= 0 && w->tree->watches)
        watches_remove(w->tree->watches, w->watch);
    loop_io_destroy(w->io);
    cleanup_close(&w->eventfd);
    w->io = NULL;
    w->watch = w->eventfd = -1;
}

void oom_stop(struct cgroup_tree *t)
{
    oom_watch_stop(&t->oom.step);
    for (struct cgroup_leaf *leaf = t->leaves; leaf; leaf = leaf->next)
        oom_watch_stop(&leaf->oom);
    loop_timer_stop(&t->oom.again);
    t->oom.fn = NULL;
}
