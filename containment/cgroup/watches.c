/* SPDX-License-Identifier: BSD-3-Clause */
/* watches.c - cgroup.events and memory.events announce changes to inotify. Set a watch before you
 * read the file, so that you miss no change. */
#include "containment/cgroup/watches.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"

struct watch {
    int id;
    watch_fn fn;
    void *arg;
};

struct watches {
    int fd;
    struct loop_io *io;
    struct watch *w;
    size_t n;
    bool busy, destroyed; /* a callback may destroy it while others wait to be called */
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
    w->busy = true;
    for (ssize_t at = 0; at < n && !w->destroyed;) {
        const struct inotify_event *e = (const struct inotify_event *)(buf + at);
        at += (ssize_t)(sizeof(*e) + e->len);
        struct watch *found = (e->mask & IN_MODIFY) ? watches_find(w, e->wd) : NULL;
        if (found)
            found->fn(found->arg);
    }
    w->busy = false;
    if (w->destroyed)
        watches_destroy(w);
}

struct watches *watches_create(struct loop *l)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0)
        return NULL;
    struct watches *w = must(calloc(1, sizeof(*w)));
    w->fd = fd;
    w->io = loop_io_create(l, fd, LOOP_READ, watches_ready, w);
    return w;
}

void watches_destroy(struct watches *w)
{
    if (!w)
        return;
    w->destroyed = true;
    if (w->busy)
        return;
    loop_io_destroy(w->io);
    cleanup_close(&w->fd);
    free(w->w);
    free(w);
}

int watches_add(struct watches *w, const char *path, watch_fn fn, void *arg)
{
    int id = inotify_add_watch(w->fd, path, IN_MODIFY);
    if (id < 0)
        return -1;
    w->w = must(reallocarray(w->w, w->n + 1, sizeof(*w->w)));
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
