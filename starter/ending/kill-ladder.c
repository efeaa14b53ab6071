/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/ending/kill-ladder.h"

#include <signal.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/processes/proc.h"
#include "containment/step/tree.h"
#include "starter/containment/step-containment.h"
#include "starter/pmi/pmi-server.h"
#include "starter/tunables.h"
#include "starter/process-tree.h"
#include "starter/ranks/ranks.h"
#include "starter/services.h"
#include "starter/ending/step-end.h"

bool rank_kill_ladder_kill_children(const struct rank_kill_ladder *k)
{
    pid_t server = k->with->pmi ? k->with->pmi->pid : 0;
    AUTO_FREE pid_t *children = NULL;
    int n = proc_children(getpid(), &children);
    bool any = false;
    for (int i = 0; i < n; i++) {
        if (children[i] == server)
            continue;
        any = true;
        process_tree_signal(children[i], SIGKILL);
    }
    return any;
}

void rank_kill_ladder_kill_all(struct rank_kill_ladder *k)
{
    struct cgroup_tree *tree = k->with->containment->tree;
    struct error e;
    if (tree && cgroup_tree_kill(tree, &e) < 0 && !k->has_said_why) {
        k->has_said_why = true;
        log_warn("on %s: %s", k->with->hostname, e.text);
    }
    rank_kill_ladder_kill_children(k);
}

/* ---- the ladder ------------------------------------------------------------------------------ */

static void ranks_stuck(void *arg)
{
    struct rank_kill_ladder *k = arg;
    ranks_give_up_killed(k->with->ranks);
}

/* While a killed rank is still there, mppmi was asked nothing, and rightly waits. */
static void pmi_silent(void *arg)
{
    struct rank_kill_ladder *k = arg;
    if (k->with->pmi && pmi_server_owes_answer(k->with->pmi))
        pmi_server_kill(k->with->pmi);
}

void rank_kill_ladder_pmi_ends(struct rank_kill_ladder *k)
{
    if (k->has_sent_kill && !loop_timer_is_active(&k->pmi_timer))
        loop_timer_start(&k->pmi_timer, PMI_END_SECONDS, 0);
}

static void kill_now(void *arg)
{
    struct rank_kill_ladder *k = arg;
    k->has_sent_kill = true;
    loop_timer_stop(&k->grace);
    loop_timer_start(&k->pmi_timer, PMI_END_SECONDS, 0);
    loop_timer_start(&k->stuck_timer, KILLED_SECONDS, 0);
    rank_kill_ladder_kill_all(k);
    loop_defer_schedule(k->with->turn);
}

void rank_kill_ladder_step(struct rank_kill_ladder *k)
{
    double at = k->with->end->kill_time;
    if (!k->with->end->has_begun || k->has_sent_kill || (k->has_sent_term && at == k->kill_time))
        return;
    if (!k->has_sent_term) {
        k->has_sent_term = true;
        ranks_signal(k->with->ranks, SIGTERM);
        ranks_resume(k->with->ranks); /* a suspended process takes its TERM only then */
    }
    k->kill_time = at;
    ranks_cancel_waiting(k->with->ranks);
    if (at <= loop_now())
        kill_now(k);
    else
        loop_timer_start(&k->grace, at - loop_now(), 0);
}

/* ---- life ------------------------------------------------------------------------------------ */

void rank_kill_ladder_init(struct rank_kill_ladder *k, const struct starter_services *with)
{
    k->with = with;
    loop_timer_init(&k->grace, with->loop, kill_now, k);
    loop_timer_init(&k->stuck_timer, with->loop, ranks_stuck, k);
    loop_timer_init(&k->pmi_timer, with->loop, pmi_silent, k);
}

void rank_kill_ladder_stop(struct rank_kill_ladder *k)
{
    loop_timer_stop(&k->grace);
    loop_timer_stop(&k->stuck_timer);
    loop_timer_stop(&k->pmi_timer);
}
