/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/ending/kill-ladder.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "common/proc.h"
#include "containment/step/tree.h"
#include "starter/containment/step-containment.h"
#include "starter/ending/cleanup.h"
#include "starter/pmi/pmi-server.h"
#include "starter/policy.h"
#include "starter/process-tree.h"
#include "starter/ranks/ranks.h"
#include "starter/services.h"
#include "starter/step-end.h"

/* Kill everything below this process but the PMI server. Returns whether there was anything. */
static bool kill_children(const struct rank_kill_ladder *k)
{
    pid_t *children = NULL, server = k->with->pmi ? k->with->pmi->pid : 0;
    int n = proc_children(getpid(), &children);
    bool any = false;
    for (int i = 0; i < n; i++) {
        if (children[i] == server)
            continue;
        any = true;
        process_tree_signal(children[i], SIGKILL);
    }
    free(children);
    return any;
}

/* By cgroup, and by descent: a rank may have moved itself out of its cgroup. */
static void kill_all(struct rank_kill_ladder *k)
{
    struct cgroup_tree *tree = k->with->containment->tree;
    struct error e;
    if (tree && cgroup_tree_kill(tree, &e) < 0 && !k->has_said_why) {
        k->has_said_why = true;
        log_warn("on %s: %s", k->with->hostname, e.text);
    }
    kill_children(k);
}

/* ---- the ladder ------------------------------------------------------------------------------ */

static void ranks_stuck(void *arg)
{
    struct rank_kill_ladder *k = arg;
    ranks_give_up_killed(k->with->ranks);
}

static void pmi_silent(void *arg)
{
    struct rank_kill_ladder *k = arg;
    if (k->with->pmi && k->with->pmi->pid)
        pmi_server_kill(k->with->pmi);
}

static void kill_now(void *arg)
{
    struct rank_kill_ladder *k = arg;
    k->has_sent_kill = true;
    loop_timer_stop(&k->grace);
    loop_timer_start(&k->pmi_timer, PMI_END_SECONDS, 0);
    loop_timer_start(&k->stuck_timer, KILLED_SECONDS, 0);
    kill_all(k);
    loop_defer_schedule(k->with->turn);
}

void rank_kill_ladder_step(struct rank_kill_ladder *k)
{
    double at = k->with->end->kill_time;
    if (!k->with->end->has_begun || k->has_sent_kill || (k->has_sent_term && at >= k->kill_time))
        return;
    if (!k->has_sent_term) {
        k->has_sent_term = true;
        ranks_signal(k->with->ranks, SIGTERM);
        ranks_signal(k->with->ranks, SIGCONT); /* a stopped process takes its TERM only then */
    }
    k->kill_time = at;
    ranks_cancel_waiting(k->with->ranks);
    if (at <= loop_now())
        kill_now(k);
    else
        loop_timer_start(&k->grace, at - loop_now(), 0);
}

/* ---- what ranks left behind ------------------------------------------------------------------ */

static void cgroup_is_empty(void *arg)
{
    struct rank_kill_ladder *k = arg;
    k->is_cgroup_empty = true;
    loop_defer_schedule(k->with->turn);
}

static void kill_leftovers(void *arg)
{
    struct rank_kill_ladder *k = arg;
    if (loop_now() > k->leftovers_end && !k->has_given_up) {
        k->has_given_up = true;
        cleanup_add_stuck(k->with->cleanup, "processes of the ranks could not be killed");
    }
    kill_all(k);
    loop_defer_schedule(k->with->turn);
}

static void begin_leftovers(struct rank_kill_ladder *k)
{
    struct cgroup_tree *tree = k->with->containment->tree;
    struct error err;
    if (k->has_leftovers_begun)
        return;
    k->has_leftovers_begun = true;
    k->leftovers_end = loop_now() + KILLED_SECONDS;
    kill_all(k);
    if (tree && cgroup_tree_wait_empty(tree, cgroup_is_empty, k, &err) < 0) {
        log_warn("on %s: %s", k->with->hostname, err.text);
        k->is_cgroup_empty = true;
    }
    loop_timer_start(&k->leftovers_timer, LEFTOVERS_PERIOD_SECONDS, LEFTOVERS_PERIOD_SECONDS);
}

bool rank_kill_ladder_leftovers(struct rank_kill_ladder *k)
{
    begin_leftovers(k);
    bool any = kill_children(k);
    if (k->with->containment->tree && !k->is_cgroup_empty)
        any = true;
    if (any && !k->has_given_up)
        return false;
    loop_timer_stop(&k->leftovers_timer);
    return true;
}

/* ---- life ------------------------------------------------------------------------------------ */

void rank_kill_ladder_init(struct rank_kill_ladder *k, const struct starter_services *with)
{
    k->with = with;
    loop_timer_init(&k->grace, with->loop, kill_now, k);
    loop_timer_init(&k->stuck_timer, with->loop, ranks_stuck, k);
    loop_timer_init(&k->pmi_timer, with->loop, pmi_silent, k);
    loop_timer_init(&k->leftovers_timer, with->loop, kill_leftovers, k);
}

void rank_kill_ladder_stop(struct rank_kill_ladder *k)
{
    loop_timer_stop(&k->grace);
    loop_timer_stop(&k->stuck_timer);
    loop_timer_stop(&k->pmi_timer);
    loop_timer_stop(&k->leftovers_timer);
}
