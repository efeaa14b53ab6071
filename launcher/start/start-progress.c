/* SPDX-License-Identifier: BSD-3-Clause */
/* start-progress.c - what is shown while hosts are being started
 *
 * On a terminal one line is drawn again and again, and erased at the end or before anything else is
 * written. Where nothing happens for a while, a note names the hosts that are awaited. */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "common/log.h"
#include "launcher/start/starter-private.h"

void starters_erase_progress(struct starters *s)
{
    static const char erase[] = "\r\033[K";
    struct start_progress *p = &s->progress;
    if (p->is_drawn && write(STDERR_FILENO, erase, sizeof(erase) - 1) < 0)
        p->draws = false;
    p->is_drawn = false;
}

static void draw(const struct step_plan *plan, struct start_progress *p)
{
    char line[80];
    struct pollfd terminal = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (!p->draws || p->ticks < PROGRESS_QUIET_TICKS || poll(&terminal, 1, 0) <= 0 ||
        !(terminal.revents & POLLOUT)) /* a terminal that was stopped */
        return;
    int n = snprintf(line, sizeof(line), "\rmprun: starting hosts %zu/%zu\033[K", p->nreported,
                     plan->nused);
    p->is_drawn = write(STDERR_FILENO, line, (size_t)n) == n;
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
    struct start_progress *p = &s->progress;
    char names[340] = "";
    p->ticks++;
    p->still = p->nreported == s->nreported ? p->still + 1 : 0;
    p->nreported = s->nreported;
    if (p->still != PROGRESS_SLOW_TICKS && p->still != PROGRESS_SLOWER_TICKS)
        return;
    name_awaited(s, names, sizeof(names));
    log_note("waiting for %s to report back (at most %g s each, --start-timeout)", names,
             s->plan->cmd->start_timeout);
    for (size_t i = 0; i < s->plan->nused; i++)
        if (s->of[i].host->state < AGENT_CONNECTED)
            client_stderr_show(&s->of[i].said);
}

void start_progress_begin(struct starters *s)
{
    s->progress.draws = s->plan->nused > 1 && !s->plan->cmd->quiet && isatty(STDERR_FILENO);
}

void start_progress_tick(struct starters *s)
{
    name_if_slow(s);
    draw(s->plan, &s->progress);
}
