/* SPDX-License-Identifier: BSD-3-Clause */
/* empty.c - waiting until no process is left in any rank's cgroup */
#include "containment/step/tree-private.h"

#include <errno.h>
#include <stdio.h>

#include "containment/policy.h"

static void empty_tell(void *arg)
{
    struct cgroup_tree *t = arg;
    void (*fn)(void *) = t->empty.fn;
    void *fn_arg = t->empty.arg;
    empty_wait_stop(t);
    if (fn)
        fn(fn_arg);
}

/* No process is left; there is none in a directory that is gone either. */
static int is_empty(struct cgroup_tree *t)
{
    const struct hierarchy *h = tree_tracker(t);
    int populated = h->driver->populated(hierarchy_ranks(h));
    return populated == 0 || (populated < 0 && errno == ENOENT);
}

static void look_again_later(struct empty_wait *e)
{
    loop_timer_start(&e->timer, e->delay, 0);
    e->delay = e->delay * 2 < POLICY_EMPTY_LAST_S ? e->delay * 2 : POLICY_EMPTY_LAST_S;
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
    loop_timer_init(&e->timer, t->loop, empty_check, t);
    loop_defer_init(&e->defer, t->loop, empty_tell, t);
    e->fn = fn;
    e->arg = arg;
    e->delay = POLICY_EMPTY_FIRST_S;
    e->watch = watch_populated(t);
    if (is_empty(t)) /* never from inside this call */
        loop_defer_schedule(&e->defer);
    else if (e->watch < 0)
        look_again_later(e);
    return 0;
}

void empty_wait_stop(struct cgroup_tree *t)
{
    struct empty_wait *e = &t->empty;
    if (e->watch >= 0 && t->watches)
        watches_remove(t->watches, e->watch);
    loop_timer_stop(&e->timer);
    loop_defer_stop(&e->defer);
    *e = (struct empty_wait){.watch = -1};
}
