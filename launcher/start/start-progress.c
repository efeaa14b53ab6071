/* SPDX-License-Identifier: BSD-3-Clause */
/* start-progress.c - the line of progress, and the note on slow starts */
#include "launcher/start/start-progress.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "launcher/policy.h"
#include "launcher/hosts/host-table.h"

struct start_progress {
    const struct step_plan *plan;
    struct host *const *hosts;
    unsigned ticks, still; /* since the start began, and since a host reported back */
    size_t nreported;      /* hosts, at the last tick */
    bool draws;            /* there is a terminal, and more than one host */
    bool is_drawn;         /* the line is there now */
};

struct start_progress *start_progress_create(const struct step_plan *plan,
                                             struct host *const *hosts)
{
    struct start_progress *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->plan = plan;
    p->hosts = hosts;
    p->draws = plan->nused > 1 && !plan->cmd->quiet && isatty(STDERR_FILENO);
    return p;
}

void start_progress_destroy(struct start_progress *p)
{
    start_progress_erase(p);
    free(p);
}

void start_progress_erase(struct start_progress *p)
{
    static const char erase[] = "\r\033[K";
    if (!p)
        return;
    if (p->is_drawn && write(STDERR_FILENO, erase, sizeof(erase) - 1) < 0)
        p->draws = false;
    p->is_drawn = false;
}

void start_progress_draw(struct start_progress *p)
{
    char line[80];
    struct pollfd terminal = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (!p || !p->draws || p->ticks < PROGRESS_QUIET_TICKS || poll(&terminal, 1, 0) <= 0 ||
        !(terminal.revents & POLLOUT)) /* a terminal that was stopped */
        return;
    int n = snprintf(line, sizeof(line), "\rmprun: starting hosts %zu/%zu\033[K", p->nreported,
                     p->plan->nused);
    p->is_drawn = write(STDERR_FILENO, line, (size_t)n) == n;
}

/* "n3, n7 and 12 others" */
static void name_awaited(const struct start_progress *p, char *buf, size_t n)
{
    size_t named = 0, others = 0, at = 0;
    size_t awaited = p->plan->nused - p->nreported;
    for (size_t i = 0; i < p->plan->nused && at < n; i++) {
        const struct host *h = p->hosts[i];
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

bool start_progress_tick(struct start_progress *p, size_t nreported)
{
    char names[340] = "";
    if (!p)
        return false;
    p->ticks++;
    p->still = p->nreported == nreported ? p->still + 1 : 0;
    p->nreported = nreported;
    if (p->still != PROGRESS_SLOW_TICKS && p->still != PROGRESS_SLOWER_TICKS)
        return false;
    name_awaited(p, names, sizeof(names));
    log_note("waiting for %s to report back (at most %g s each, --start-timeout)", names,
             p->plan->cmd->start_timeout);
    return true;
}
