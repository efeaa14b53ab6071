/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.c - while hosts are being started: how many have reported back, and who is awaited
 *
 * On a terminal one line is drawn and drawn again, and erased at the end or for anything else that
 * is said. Time is counted in ticks of the loop, so that a suspended mprun loses none of it. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "launcher/run.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#define TICK         0.25 /* seconds */
#define QUIET_TICKS  2u   /* a start that takes no longer is not drawn */
#define SLOW_TICKS   40u  /* nobody new for so long: who is awaited is said */
#define SLOWER_TICKS 240u /* and once more */
#define NAMED_HOSTS  2u

void progress_erase(struct run *r)
{
    static const char erase[] = "\r\033[K";
    if (r->drawn && write(STDERR_FILENO, erase, sizeof(erase) - 1) < 0)
        r->draws = 0;
    r->drawn = 0;
}

static void draw(struct run *r)
{
    char line[80];
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&p, 1, 0) <= 0 || !(p.revents & POLLOUT)) /* a terminal that was stopped */
        return;
    int n = snprintf(line, sizeof(line), "\rmprun: starting hosts %zu/%zu\033[K", r->nreported,
                     r->nused);
    r->drawn = write(STDERR_FILENO, line, (size_t)n) == n;
}

/* "n3, n7 and 12 others" */
static void name_awaited(struct run *r, char *buf, size_t n)
{
    size_t named = 0, others = 0, at = 0;
    size_t awaited = r->nused - r->nreported;
    for (size_t i = 0; i < r->nused && at < n; i++) {
        const struct host *h = r->launched[i];
        if (h->state >= AGENT_CONNECTED)
            continue;
        /* a last one is named as well as counted */
        if (named < NAMED_HOSTS || awaited == NAMED_HOSTS + 1)
            at += (size_t)snprintf(buf + at, n - at, "%s%.100s", named ? ", " : "", h->name);
        else
            others++;
        named++;
    }
    if (others && at < n)
        snprintf(buf + at, n - at, " and %zu others", others);
}

static void say_awaited(struct run *r)
{
    char names[340] = "";
    name_awaited(r, names, sizeof(names));
    log_note("waiting for %s to report back (at most %g s each, --start-timeout)", names,
             r->cmd.start_timeout);
    for (size_t i = 0; i < r->nused; i++)
        if (r->launched[i]->state < AGENT_CONNECTED)
            start_words_show(r->launched[i]);
}

/* From its first start on, however often there are others. */
static int is_being_started(const struct host *h)
{
    return h->state == AGENT_STARTED || (h->state == AGENT_WAITING && h->no_room);
}

/* It had its time. */
static void say_too_late(struct host *h)
{
    struct run *r = h->run;
    char why[600], what[500];
    start_words_reason(h, why, sizeof(why));
    const char *colon = *why ? ": " : "", *advice = start_client_advice(r, why, what, sizeof(what));
    if (start_channel_awaits_word(h) && !h->is_starter)
        run_fail(r, EXIT_CODE_MPRUN,
                 "host %s: its mpstarter has not said on its standard output within %g s "
                 "(--start-timeout) that it is there (does '%s' pass that on? is mpstarter of this "
                 "version, %s?)%s%s%s",
                 h->name, r->cmd.start_timeout, start_client_name(r), PACKAGE_VERSION, colon, why,
                 advice);
    else
        run_fail(r, EXIT_CODE_MPRUN,
                 "host %s: its mpstarter has not reported back within %g s (--start-timeout)%s%s%s",
                 h->name, r->cmd.start_timeout, colon, why, advice);
}

static int check_patience(struct run *r)
{
    for (size_t i = 0; i < r->nused; i++) {
        struct host *h = r->launched[i];
        if (!is_being_started(h) || ++h->waited * TICK < r->cmd.start_timeout)
            continue;
        if (h->no_room && !h->handed) {
            handing_time_over(h);
            return -1;
        }
        h->failed = 1;
        say_too_late(h);
        return -1;
    }
    return 0;
}

static void tick(void *arg)
{
    struct run *r = arg;
    if (r->state != STEP_STARTING || r->killing) {
        progress_end(r);
        return;
    }
    if (suspension_holds(r))
        return;
    r->ticks++;
    r->still = r->nreported == r->reported ? r->still + 1 : 0;
    r->reported = r->nreported;
    if (check_patience(r) < 0)
        return;
    if (r->still == SLOW_TICKS || r->still == SLOWER_TICKS)
        say_awaited(r);
    if (r->draws && r->ticks >= QUIET_TICKS)
        draw(r);
}

void progress_begin(struct run *r)
{
    r->draws = r->nused > 1 && !r->cmd.quiet && isatty(STDERR_FILENO);
    r->progress = loop_timer_create(r->loop, tick, r);
    if (r->progress)
        loop_timer_start(r->progress, TICK, TICK);
}

void progress_end(struct run *r)
{
    progress_erase(r);
    loop_timer_destroy(r->progress);
    r->progress = NULL;
}
