/* SPDX-License-Identifier: BSD-3-Clause */
/* start-timeout.c - a host that has not reported back within --start-timeout ends the step
 *
 * Time is counted in ticks of the loop, so that a suspended mprun or job loses none of it. */
#include "launcher/start/starter-private.h"
#include "launcher/step/job-suspension.h"

/* From its first start on, however many follow. */
static bool is_being_started(const struct starters *s, const struct host *h)
{
    const struct starter *st = starter_of(s, h);
    if (agents_has_come(st))
        return false;
    return h->state == AGENT_STARTED ||
           (h->state == AGENT_WAITING && (st->room.was_none || agents_start_it(st)));
}

static void say_too_late(struct starter *st)
{
    const struct step_plan *plan = st->all->plan;
    struct verdict *v = st->all->step.verdict;
    char why[600], advice[500];
    client_stderr_take_reason(&st->said, why, sizeof(why));
    const char *colon = *why ? ": " : "";
    start_client_advice(plan, why, advice, sizeof(advice));
    if (start_channel_awaits_ready(st) && !st->client_is_starter)
        verdict_fail(v, EXIT_CODE_MPRUN,
                     "host %s: its mpstarter has not said on its standard output within %g s "
                     "(--start-timeout) that it is there (does '%s' pass that on? is mpstarter of "
                     "this version, %s?)%s%s%s",
                     st->host->name, plan->cmd->start.timeout, start_client_name(plan),
                     PACKAGE_VERSION, colon, why, advice);
    else
        verdict_fail(
            v, EXIT_CODE_MPRUN,
            "host %s: its mpstarter has not reported back within %g s (--start-timeout)%s%s%s",
            st->host->name, plan->cmd->start.timeout, colon, why, advice);
}

/* False: the time of one is over. */
static bool all_in_time(struct starters *s)
{
    for (size_t i = 0; i < s->plan->nused; i++) {
        struct starter *st = &s->of[i];
        if (!is_being_started(s, st->host) ||
            ++st->waited * START_TICK_SECONDS < s->plan->cmd->start.timeout)
            continue;
        if (room_was_none(st))
            return false;
        host_mark_failed(st->host);
        say_too_late(st);
        return false;
    }
    return true;
}

static void tick(void *arg)
{
    struct starters *s = arg;
    bool suspended = s->step.suspension->suspended;
    if (verdict_is_ending(s->step.verdict) ||
        (!suspended && hosts_before(s->step.hosts, AGENT_PLACED) == 0)) {
        start_timeout_end(s);
        return;
    }
    if (suspended || !all_in_time(s))
        return;
    start_progress_tick(s);
}

void start_timeout_begin(struct starters *s)
{
    loop_timer_init(&s->start_timer, s->step.loop, tick, s);
    loop_timer_start(&s->start_timer, START_TICK_SECONDS, START_TICK_SECONDS);
}

void start_timeout_end(struct starters *s)
{
    loop_timer_stop(&s->start_timer);
}
