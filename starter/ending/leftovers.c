/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/ending/leftovers.h"

#include <stdio.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/processes/proc.h"
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

/* Lists the processes in the step's cgroup; without one, those below this process. */
static void add_stuck(const struct leftovers *l)
{
    struct cgroup_tree *tree = l->with->containment->tree;
    char who[400] = "", text[480];
    AUTO_FREE pid_t *children = NULL;
    int n = tree ? 0 : proc_children(getpid(), &children);
    if (tree)
        cgroup_tree_describe(tree, who, sizeof(who));
    else if (n > 0)
        proc_describe(children, (size_t)n, who, sizeof(who));
    snprintf(text, sizeof(text), "processes of the step were killed and do not end: %s", who);
    removal_add_stuck(l->with->removal, text);
}

static void kill_again(void *arg)
{
    struct leftovers *l = arg;
    if (loop_now() > l->give_up_time && !l->has_given_up) {
        l->has_given_up = true;
        add_stuck(l);
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
    l->is_cgroup_empty = tree && cgroup_tree_is_empty(tree);
    if (!l->is_cgroup_empty)
        rank_kill_ladder_kill_all(l->ladder);
    if (tree && !l->is_cgroup_empty && cgroup_tree_wait_empty(tree, cgroup_is_empty, l, &err) < 0) {
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
