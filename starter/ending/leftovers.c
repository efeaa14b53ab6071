/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/ending/leftovers.h"

#include "common/log.h"
#include "containment/step/tree.h"
#include "starter/containment/step-containment.h"
#include "starter/ending/kill-ladder.h"
#include "starter/ending/removal.h"
#include "starter/services.h"
#include "starter/tunables.h"

static void cgroup_is_empty(void *arg)
{
    struct leftovers *l = arg;
    l->is_cgroup_empty = true;
    loop_defer_schedule(l->with->turn);
}

static void kill_again(void *arg)
{
    struct leftovers *l = arg;
    if (loop_now() > l->give_up_time && !l->has_given_up) {
        l->has_given_up = true;
        removal_add_stuck(l->with->removal, "processes of the step could not be killed");
    }
    rank_kill_ladder_kill_all(l->ladder);
    loop_defer_schedule(l->with->turn);
}

static void begin(struct leftovers *l)
{
    struct cgroup_tree *tree = l->with->containment->tree;
    struct error err;
    if (l->has_begun)
        return;
    l->has_begun = true;
    l->give_up_time = loop_now() + KILLED_SECONDS;
    rank_kill_ladder_kill_all(l->ladder);
    if (tree && cgroup_tree_wait_empty(tree, cgroup_is_empty, l, &err) < 0) {
        log_warn("on %s: %s", l->with->hostname, err.text);
        l->is_cgroup_empty = true;
    }
    loop_timer_start(&l->timer, LEFTOVERS_PERIOD_SECONDS, LEFTOVERS_PERIOD_SECONDS);
}

bool leftovers_end(struct leftovers *l)
{
    begin(l);
    bool any = rank_kill_ladder_kill_children(l->ladder);
    if (l->with->containment->tree && !l->is_cgroup_empty)
        any = true;
    if (any && !l->has_given_up)
        return false;
    loop_timer_stop(&l->timer);
    return true;
}

void leftovers_init(struct leftovers *l, const struct starter_services *with,
                    struct rank_kill_ladder *ladder)
{
    l->with = with;
    l->ladder = ladder;
    loop_timer_init(&l->timer, with->loop, kill_again, l);
}

void leftovers_stop(struct leftovers *l)
{
    loop_timer_stop(&l->timer);
}
