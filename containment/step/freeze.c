/* SPDX-License-Identifier: BSD-3-Clause */
/* freeze.c - freezes all ranks of a step, and thaws them
 *
 * v2 freezes by itself, new processes too. A v1 freezer may stick in FREEZING until the next
 * request, and does not freeze a process in state D at all: then it has to thaw the others. */
#include "containment/step/tree-private.h"
#include "containment/tunables.h"

/* Returns 1: done; 0: not yet; -1: it cannot be done. */
static int request(struct cgroup_tree *t, int frozen)
{
    const struct hierarchy *h = tree_tracker(t);
    return h->driver->freeze(hierarchy_ranks(h), frozen);
}

static void ask_again(void *arg)
{
    struct cgroup_tree *t = arg;
    if (++t->freezer.tries > POLICY_FREEZE_TRIES)
        (void)request(t, 0);
    else if (request(t, 1) == 0)
        loop_timer_start(&t->freezer.timer, POLICY_FREEZE_PAUSE_MS / 1e3, 0);
}

int cgroup_tree_freeze(struct cgroup_tree *t, bool frozen)
{
    loop_timer_stop(&t->freezer.timer);
    t->freezer.tries = 0;
    int rc = request(t, frozen);
    if (frozen && rc == 0 && tree_tracker(t)->driver->version == 1)
        loop_timer_start(&t->freezer.timer, POLICY_FREEZE_PAUSE_MS / 1e3, 0);
    return rc;
}

void freezer_init(struct cgroup_tree *t)
{
    loop_timer_init(&t->freezer.timer, t->loop, ask_again, t);
}
