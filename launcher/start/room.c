/* SPDX-License-Identifier: BSD-3-Clause */
/* room.c - hosts on which the resource manager has no room for one more task of the job
 *
 * Another mprun has its task there, and no agent that could fork our starter. The manager is asked
 * again later, until there is room or --start-timeout is over. */
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "launcher/start/starter-private.h"
#include "launcher/tunables.h"

/* Some host had no room, and has its starter now. */
static bool has_room_now(const struct starters *s)
{
    for (size_t i = 0; i < s->plan->nused; i++)
        if (s->of[i].room.was_none && s->of[i].host->state >= AGENT_CONNECTED)
            return true;
    return false;
}

/* At first one host alone: two steps that wait for the same ones are not to get half of them each,
 * and wait for the others for ever. */
static void retry_due(void *arg)
{
    struct starters *s = arg;
    bool is_for_all = verdict_is_ending(s->step.verdict) || has_room_now(s), is_first = true;
    for (size_t i = 0; i < s->plan->nused; i++) {
        struct starter *st = &s->of[i];
        if (!st->room.was_none || st->host->state >= AGENT_CONNECTED || !s->starting)
            continue;
        if (st->room.waits && (is_for_all || is_first)) {
            st->room.waits = false;
            starter_retry(st);
        } else if (st->room.waits && !loop_timer_is_active(&s->room_timer)) {
            loop_timer_start(&s->room_timer, ROOM_RETRY_SECONDS, 0);
        }
        is_first = false;
    }
}

void room_init(struct starters *s)
{
    loop_timer_init(&s->room_timer, s->step.loop, retry_due, s);
}

/* Once, with the first host of which it is so. */
static void say_waits(struct starters *s, const struct host *h)
{
    const struct step_plan *plan = s->plan;
    if (s->said_no_room)
        return;
    s->said_no_room = true;
    log_note("host %s: %s has no room for one more task of the job%s: this is tried again until "
             "another mprun of the job has ended, or for %.0f s (--start-timeout)",
             h->name, plan->adapter->name,
             plan->transport == TRANSPORT_STDIO
                 ? " (with --transport=stdio no agent of the job can start it; leave that out)"
                 : "",
             plan->cmd->start.timeout);
}

void room_await(struct starter *st, const char *words)
{
    struct starters *s = st->all;
    bool is_first = !st->room.was_none;
    st->room.was_none = st->room.waits = true;
    snprintf(st->room.refusal, sizeof(st->room.refusal), "%.*s", (int)strcspn(words, "\n"), words);
    log_debug("host %s: no room: %s", st->host->name, st->room.refusal);
    if (!(is_first && agents_make_room(st)))
        say_waits(s, st->host);
    if (!loop_timer_is_active(&s->room_timer))
        loop_timer_start(&s->room_timer, ROOM_RETRY_SECONDS, 0);
}

bool room_was_none(struct starter *st)
{
    const struct step_plan *plan = st->all->plan;
    char advice[500];
    if (st->room.was_none)
        verdict_fail(st->all->step.verdict, EXIT_CODE_MPRUN,
                     "host %s: not started within %g s (--start-timeout): %s%s", st->host->name,
                     plan->cmd->start.timeout, st->room.refusal,
                     start_client_advice(plan, st->room.refusal, advice, sizeof(advice)));
    return st->room.was_none;
}

/* The adapter says of each that it was not begun. */
void room_cancel(struct starters *s)
{
    if (loop_timer_is_active(&s->room_timer))
        loop_timer_start(&s->room_timer, 0, 0);
}

void room_end(struct starters *s)
{
    loop_timer_stop(&s->room_timer);
}
