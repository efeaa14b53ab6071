/* SPDX-License-Identifier: BSD-3-Clause */
/* start-progress.c - shows progress while hosts are being started
 *
 * On a terminal a line counts the hosts. If nothing happens for a while, a note names the missing
 * hosts. */
#include <stdio.h>
#include <unistd.h>

#include "common/log.h"
#include "common/files/tty.h"
#include "launcher/io/output.h"
#include "launcher/start/starter-private.h"

/* In the background the terminal is another program's. */
static void draw(const struct starters *s)
{
    char line[80];
    const struct step_plan *plan = s->plan;
    if (plan->nused < 2 || plan->cmd->quiet || s->progress.ticks < PROGRESS_QUIET_TICKS ||
        !tty_is_foreground(STDERR_FILENO))
        return;
    snprintf(line, sizeof(line), "mprun: starting hosts %zu/%zu", s->nreported, plan->nused);
    output_progress(s->step.output, line);
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
             s->plan->cmd->start.timeout);
    for (size_t i = 0; i < s->plan->nused; i++)
        if (s->of[i].host->state < AGENT_CONNECTED)
            client_stderr_show(&s->of[i].said);
}

void start_progress_tick(struct starters *s)
{
    name_if_slow(s);
    draw(s);
}
