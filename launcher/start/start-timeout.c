/* SPDX-License-Identifier: BSD-3-Clause */
/* start-timeout.c - while hosts are being started: those whose --start-timeout is over end the
 * step, and progress is shown
 *
 * Time is counted in ticks of the loop, so that a suspended mprun or job loses none of it. On a
 * terminal one line is drawn again and again, and erased at the end or before anything else is
 * written. Where nothing happens for a while, a note names the hosts that are awaited. */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "common/log.h"
#include "launcher/job-suspension.h"
#include "launcher/start/starter-private.h"

/* ---- progress -------------------------------------------------------------------------------- */

void starters_erase_progress(struct starters *s)
{
    static const char erase[] = "\r\033[K";
    struct start_timeout *t = &s->timeout;
    if (t->is_drawn && write(STDERR_FILENO, erase, sizeof(erase) - 1) < 0)
        t->draws = false;
    t->is_drawn = false;
}

static void draw(const struct step_plan *plan, struct start_timeout *t)
{
    char line[80];
    struct pollfd terminal = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (!t->draws || t->ticks < PROGRESS_QUIET_TICKS || poll(&terminal, 1, 0) <= 0 ||
        !(terminal.revents & POLLOUT)) /* a terminal that was stopped */
        return;
    int n = snprintf(line, sizeof(line), "\rmprun: starting hosts %zu/%zu\033[K", t->nreported,
                     plan->nused);
    t->is_drawn = write(STDERR_FILENO, line, (size_t)n) == n;
}

/* "n3, n7 and 12 others" */
static void name_awaited(const struct starters *s, char *buf, size_t n)
{
    size_t named = 0, others = 0, at = 0;
    size_t awaited = s->plan->nused - s->nreported;
    for (size_t i = 0; i < s->plan->nused && at < n; i++) {
        const struct host *h = s->of[i].host;
        if (h->state >= AGENT_CONNECTED)
            continue;
        /* a last one is named as well as counted */
        if (named < PROGRESS_NAMED_HOSTS || awaited == PROGRESS_NAMED_HOSTS + 1)
            at += (size_t)snprintf(buf + at, n - at, "%s%.100s", named ? ", " : "", h->name);
        else
            others++;
        named++;
    }
    if (others && at < n)
        snprintf(buf + at, n - at, " and %zu others", others);
}

static void name_if_slow(struct starters *s)
{
    struct start_timeout *t = &s->timeout;
    char names[340] = "";
    t->ticks++;
    t->still = t->nreported == s->nreported ? t->still + 1 : 0;
    t->nreported = s->nreported;
    if (t->still != PROGRESS_SLOW_TICKS && t->still != PROGRESS_SLOWER_TICKS)
        return;
    name_awaited(s, names, sizeof(names));
    log_note("waiting for %s to report back (at most %g s each, --start-timeout)", names,
             s->plan->cmd->start_timeout);
    for (size_t i = 0; i < s->plan->nused; i++)
        if (s->of[i].host->state < AGENT_CONNECTED)
            client_stderr_show(&s->of[i].said);
}

/* ---- --start-timeout ------------------------------------------------------------------------- */

/* From its first start on, however many follow. */
static bool is_being_started(const struct starters *s, const struct host *h)
{
    return h->state == AGENT_STARTED ||
           (h->state == AGENT_WAITING && starter_of(s, h)->room.was_none);
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
                     st->host->name, plan->cmd->start_timeout, start_client_name(plan),
                     PACKAGE_VERSION, colon, why, advice);
    else
        verdict_fail(v, EXIT_CODE_MPRUN,
                     "host %s: its mpstarter has not reported back within %g s "
                     "(--start-timeout)%s%s%s",
                     st->host->name, plan->cmd->start_timeout, colon, why, advice);
}

/* False: the time of one is over. */
static bool all_in_time(struct starters *s)
{
    for (size_t i = 0; i < s->plan->nused; i++) {
        struct starter *st = &s->of[i];
        if (!is_being_started(s, st->host) ||
            ++st->waited * START_TICK_SECONDS < s->plan->cmd->start_timeout)
            continue;
        if (other_steps_fail_for_room(&s->other_steps, st))
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
    name_if_slow(s);
    draw(s->plan, &s->timeout);
}

void start_timeout_begin(struct starters *s)
{
    s->timeout.draws = s->plan->nused > 1 && !s->plan->cmd->quiet && isatty(STDERR_FILENO);
    loop_timer_init(&s->timeout.timer, s->step.loop, tick, s);
    loop_timer_start(&s->timeout.timer, START_TICK_SECONDS, START_TICK_SECONDS);
}

void start_timeout_end(struct starters *s)
{
    starters_erase_progress(s);
    loop_timer_stop(&s->timeout.timer);
}
