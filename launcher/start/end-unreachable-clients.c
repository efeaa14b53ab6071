/* SPDX-License-Identifier: BSD-3-Clause */
/* end-unreachable-clients.c - hosts out of reach, whose start clients may never end by themselves
 */
#include "launcher/policy.h"
#include "launcher/start/starter-private.h"

static void abandon(struct starter *st)
{
    struct starters *s = st->all;
    if (!st->client_runs)
        return;
    if (s->starting && s->plan->adapter->abandon) {
        s->plan->adapter->abandon(s->starting, (size_t)st->host->launch_index);
        return;
    }
    starter_client_ends(st);
    starter_life_settle(st);
}

/* Hosts below a lost one have had the time to notice, and to end by themselves. One that has never
 * reported back is reached by nobody, whatever host is above it. */
static void due(void *arg)
{
    struct starters *s = arg;
    for (size_t i = 0; i < s->plan->nused; i++)
        if (!host_top(s->of[i].host) || s->of[i].host->state == AGENT_STARTED)
            abandon(&s->of[i]);
}

void unreachable_abandon_after(struct starters *s, double seconds)
{
    if (loop_timer_active(&s->unreachable))
        return;
    loop_timer_init(&s->unreachable, s->step.loop, due, s);
    loop_timer_start(&s->unreachable, seconds, UNREACHABLE_SECONDS);
}

void starters_await_end(struct starters *s)
{
    unreachable_abandon_after(s, s->plan->cmd->link_grace + UNREACHABLE_SECONDS);
}

void starters_lost(struct starters *s, struct host *h, bool silent)
{
    host_mark_failed(h);
    host_mark_lost(h);
    if (silent)
        abandon(starter_of(s, h));
    s->unsettled = true; /* those below it, too */
    loop_defer_schedule(s->step.turn);
    starters_await_end(s);
}
