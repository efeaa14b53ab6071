/* SPDX-License-Identifier: BSD-3-Clause */
/* start-timeout.c - the clock of a start */
#include "launcher/start/start-timeout.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "launcher/policy.h"
#include "launcher/signals/job-suspension.h"
#include "launcher/start/by-other-starters/by-other-starters.h"
#include "launcher/start/start-client-words.h"
#include "launcher/start/start-progress.h"
#include "launcher/start/starter-private.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

struct start_timeout {
    struct starters *starters;
    struct start_progress *progress;
    struct loop_timer timer;
    unsigned *waited; /* by launch_index: ticks since the host's first start client began */
};

/* From its first start on, however many follow. */
static bool is_being_started(const struct starters *s, const struct host *h)
{
    return h->state == AGENT_STARTED ||
           (h->state == AGENT_WAITING && other_steps_had_no_room(s->other_steps, h));
}

static void say_too_late(struct starter *st)
{
    const struct step_plan *plan = st->all->plan;
    struct verdict *v = st->all->step.verdict;
    char why[600], advice[500];
    client_stderr_take_reason(st->said, why, sizeof(why));
    const char *colon = *why ? ": " : "";
    start_client_advice(plan, why, advice, sizeof(advice));
    if (client_channel_awaits_ready(st->channel) && !st->client_is_starter)
        verdict_fail(v, EXIT_CODE_MPRUN,
                     "host %s: its mpstarter has not said on its standard output within %g s "
                     "(--start-timeout) that it is there (does '%s' pass that on? is mpstarter of "
                     "this version, %s?)%s%s%s",
                     st->host->name, plan->cmd->start_timeout, start_client_name(plan),
                     PACKAGE_VERSION, colon, why, advice);
    else
        verdict_fail(v, EXIT_CODE_MPRUN,
                     "host %s: its mpstarter has not reported back within %g s "
                     "(--start-timeout)%s%s%s",
                     st->host->name, plan->cmd->start_timeout, colon, why, advice);
}

/* False: the time of one is over. */
static bool all_in_time(struct start_timeout *t)
{
    struct starters *s = t->starters;
    for (size_t i = 0; i < s->plan->nused; i++) {
        struct starter *st = &s->of[i];
        if (!is_being_started(s, st->host) ||
            ++t->waited[i] * START_TICK_SECONDS < s->plan->cmd->start_timeout)
            continue;
        if (other_steps_fail_for_room(s->other_steps, st))
            return false;
        host_mark_failed(st->host);
        say_too_late(st);
        return false;
    }
    return true;
}

static void end(struct start_timeout *t)
{
    start_progress_destroy(take_ptr(t->progress));
    loop_timer_stop(&t->timer);
}

static void tick(void *arg)
{
    struct start_timeout *t = arg;
    struct starters *s = t->starters;
    bool suspended = job_suspension_holds(s->step.suspension);
    if (verdict_is_ending(s->step.verdict) ||
        (!suspended && hosts_before(s->step.hosts, AGENT_PLACED) == 0)) {
        end(t);
        return;
    }
    if (suspended || !all_in_time(t))
        return;
    if (start_progress_tick(t->progress, s->nreported))
        for (size_t i = 0; i < s->plan->nused; i++)
            if (s->of[i].host->state < AGENT_CONNECTED)
                client_stderr_show(s->of[i].said);
    start_progress_draw(t->progress);
}

struct start_timeout *start_timeout_create(struct starters *s)
{
    struct start_timeout *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->starters = s;
    t->progress = start_progress_create(s->plan, s->step.hosts->used);
    t->waited = calloc(s->plan->nused, sizeof(*t->waited));
    loop_timer_init(&t->timer, s->step.loop, tick, t);
    if (t->progress && t->waited) {
        loop_timer_start(&t->timer, START_TICK_SECONDS, START_TICK_SECONDS);
        return t;
    }
    start_timeout_destroy(t);
    return NULL;
}

void start_timeout_destroy(struct start_timeout *t)
{
    if (!t)
        return;
    start_progress_destroy(t->progress);
    loop_timer_stop(&t->timer);
    free(t->waited);
    free(t);
}

void start_timeout_erase_progress(struct start_timeout *t)
{
    if (t)
        start_progress_erase(t->progress);
}
