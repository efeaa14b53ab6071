/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c - hearing of changes in v2 event files, and of the ranks' cgroup becoming empty
 *
 * cgroup.events and memory.events announce a change to inotify. A watch is set before the file is
 * read, so that no change falls between. One inotify instance serves a tree: a user has few. */
#include "containment/cgroup-private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/cleanup.h"

struct watch {
    int id;
    watch_fn fn;
    void *arg;
};

struct watches {
    int fd;
    struct loop_io *io;
    struct watch *w;
    size_t n, cap;
    int busy, destroyed; /* a callback may destroy us while others wait to be called */
};

static struct watch *watches_find(struct watches *w, int id)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->w[i].id == id)
            return &w->w[i];
    return NULL;
}

/* Callbacks may add and remove watches, so each event is looked up anew. */
static void watches_ready(void *arg, int fd, unsigned events)
{
    struct watches *w = arg;
    char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n = read(fd, buf, sizeof(buf));
    w->busy = 1;
    for (ssize_t at = 0; at < n && !w->destroyed;) {
        const struct inotify_event *e = (const struct inotify_event *)(buf + at);
        at += (ssize_t)(sizeof(*e) + e->len);
        struct watch *found = (e->mask & IN_MODIFY) ? watches_find(w, e->wd) : NULL;
        if (found)
            found->fn(found->arg);
    }
    w->busy = 0;
    if (w->destroyed)
        watches_destroy(w);
}

struct watches *watches_create(struct loop *l)
{
    struct watches *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (w->fd >= 0)
        w->io = loop_io_create(l, w->fd, LOOP_READ, watches_ready, w);
    if (w->io)
        return w;
    watches_destroy(w);
    return NULL;
}

void watches_destroy(struct watches *w)
{
    if (!w)
        return;
    w->destroyed = 1;
    if (w->busy)
        return;
    loop_io_destroy(w->io);
    cleanup_close(&w->fd);
    free(w->w);
    free(w);
}

int watches_add(struct watches *w, const char *path, watch_fn fn, void *arg)
{
    if (w->n == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 16;
        struct watch *grown = realloc(w->w, cap * sizeof(*grown));
        if (!grown)
            return -1;
        w->w = grown;
        w->cap = cap;
    }
    int id = inotify_add_watch(w->fd, path, IN_MODIFY);
    if (id < 0)
        return -1;
    w->w[w->n++] = (struct watch){id, fn, arg};
    return id;
}

void watches_remove(struct watches *w, int id)
{
    struct watch *found = watches_find(w, id);
    if (!found)
        return;
    (void)inotify_rm_watch(w->fd, id);
    *found = w->w[--w->n];
}

struct watches *tree_watches(struct cgroup_tree *t)
{
    if (!t->watches)
        t->watches = watches_create(t->loop);
    return t->watches;
}

/* ---- empty ---------------------------------------------------------------------------------- */

/* v1 has no event for this (its release agent is one program for the whole machine), so it is
 * looked at after times that grow; v2 without a watch to be had is treated alike. */
static const double DELAY_FIRST = 0.001, DELAY_LAST = 0.064;

static void empty_tell(void *arg)
{
    struct cgroup_tree *t = arg;
    void (*fn)(void *) = t->empty.fn;
    void *fn_arg = t->empty.arg;
    empty_wait_stop(t);
    if (fn)
        fn(fn_arg);
}

/* Is nobody left? A directory that is gone has nobody. */
static int is_empty(struct cgroup_tree *t)
{
    const struct hierarchy *h = tree_tracker(t);
    int populated = h->driver->populated(hierarchy_ranks(h));
    return populated == 0 || (populated < 0 && errno == ENOENT);
}

static void look_again_later(struct empty_wait *e)
{
    loop_timer_start(e->timer, e->delay, 0);
    e->delay = e->delay * 2 < DELAY_LAST ? e->delay * 2 : DELAY_LAST;
}

static void empty_check(void *arg)
{
    struct cgroup_tree *t = arg;
    if (is_empty(t))
        empty_tell(t);
    else if (t->empty.watch < 0)
        look_again_later(&t->empty);
}

static int watch_populated(struct cgroup_tree *t)
{
    const struct hierarchy *h = tree_tracker(t);
    char path[CGROUP_PATH_MAX];
    struct watches *w = h->driver->version == 2 ? tree_watches(t) : NULL;
    if (!w || snprintf(path, sizeof(path), "%s/cgroup.events", h->ranks) >= (int)sizeof(path))
        return -1;
    return watches_add(w, path, empty_check, t);
}

int cgroup_tree_wait_empty(struct cgroup_tree *t, void (*fn)(void *arg), void *arg,
                           struct error *err)
{
    struct empty_wait *e = &t->empty;
    if (e->fn)
        return error_set(err, EALREADY, "wait for cgroup '%s' to empty: already waiting",
                         tree_tracker(t)->ranks);
    if (!e->timer)
        e->timer = loop_timer_create(t->loop, empty_check, t);
    if (!e->defer)
        e->defer = loop_defer_create(t->loop, empty_tell, t);
    if (!e->timer || !e->defer)
        return error_errno(err, ENOMEM, "wait for cgroup '%s' to empty", tree_tracker(t)->ranks);
    e->fn = fn;
    e->arg = arg;
    e->delay = DELAY_FIRST;
    e->watch = watch_populated(t);
    if (is_empty(t)) /* never from inside this call */
        loop_defer_schedule(e->defer);
    else if (e->watch < 0)
        look_again_later(e);
    return 0;
}

void empty_wait_stop(struct cgroup_tree *t)
{
    struct empty_wait *e = &t->empty;
    if (e->watch >= 0 && t->watches)
        watches_remove(t->watches, e->watch);
    loop_timer_destroy(e->timer);
    loop_defer_destroy(e->defer);
    *e = (struct empty_wait){.watch = -1};
}
