/* SPDX-License-Identifier: BSD-3-Clause */
/* failed.c - hosts that fail: one sentence for those that do at about the same time
 *
 * The step is ended at once; the sentence waits for what else is lost with the same switch, or the
 * same power supply. Hosts that are reached through a failed one are no failures of their own, nor
 * are those whose start was cancelled. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/name-run.h"
#include "common/number.h"
#include "launcher/run.h"

#define TOGETHER        0.2 /* seconds, of processes that die */
#define TOGETHER_SILENT 5.0 /* of hosts that give no answer: each is noticed on its own */

static int is_listed(const struct host *h)
{
    return h->listed;
}

static int is_behind(const struct host *h)
{
    return (h->failed || h->state < AGENT_CLEANED) && host_is_behind(h, is_listed);
}

static int has_died(const struct host *h)
{
    return h->failed;
}

int host_was_ended(const struct host *h)
{
    return h->cancelled || (h->run->killing && (h->told || host_is_behind(h, has_died)));
}

static int has_failed(const struct host *h)
{
    return h->listed && !is_behind(h);
}

static void say(struct run *r)
{
    char names[600], behind[NAME_RUN_TEXT], first[sizeof(r->failure_text)];
    size_t n = hosts_list(r, has_failed, names, sizeof(names));
    size_t nbehind = hosts_list(r, is_behind, behind, sizeof(behind));
    snprintf(first, sizeof(first), "%s", r->failure_text);
    int at = n > 1 ? snprintf(r->failure_text, sizeof(r->failure_text),
                              "hosts %s: they failed together; %s was the first: %.400s", names,
                              r->first_failed->name, first)
                   : snprintf(r->failure_text, sizeof(r->failure_text), "host %s: %s",
                              r->first_failed->name, first);
    if (nbehind && at > 0 && (size_t)at < sizeof(r->failure_text))
        snprintf(r->failure_text + at, sizeof(r->failure_text) - (size_t)at,
                 "; behind %s, and ended as well: %s", n > 1 ? "them" : "it", behind);
    log_error("%s", r->failure_text);
}

void failed_say(struct run *r)
{
    if (!r->failed_timer || !loop_timer_active(r->failed_timer))
        return;
    loop_timer_stop(r->failed_timer);
    say(r);
}

/* The end of one that is behind another may be noticed first, and much earlier: that one's keeper
 * cleans up, and its link waits for another connection. Of one that has died by itself the host
 * above says so. */
static int may_be_behind(const struct host *h)
{
    return h->below && !h->lost;
}

/* What has happened meanwhile may not have been looked at yet: to clean up after one takes time. */
static void due(void *arg)
{
    struct run *r = arg;
    if (!r->failed_due) {
        r->failed_due = 1;
        loop_timer_start(r->failed_timer, 0, 0);
    } else if (may_be_behind(r->first_failed) && loop_now() < r->failed_until) {
        r->failed_due = 0;
        loop_timer_start(r->failed_timer, TOGETHER, 0);
    } else {
        say(r);
    }
}

static void list(struct host *h, const char *text)
{
    struct run *r = h->run;
    h->listed = 1;
    if (r->first_failed && !is_behind(r->first_failed))
        return;
    r->first_failed = h;
    snprintf(r->failure_text, sizeof(r->failure_text), "%s", text);
}

void failed_begin(struct run *r)
{
    r->failed_timer = loop_timer_create(r->loop, due, r);
}

void host_fails(struct host *h, int silent, const char *fmt, ...)
{
    struct run *r = h->run;
    char text[900];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    log_debug("host %s: %s", h->name, text);
    if (host_was_ended(h))
        return;
    if (r->exit_code < 0) {
        r->exit_code = EXIT_CODE_MPRUN;
        r->explained = 1; /* what ranks do after this is a consequence */
        r->failed_until = loop_now() + TOGETHER_SILENT;
        loop_timer_start(r->failed_timer, silent ? TOGETHER_SILENT : TOGETHER, 0);
    }
    if (loop_timer_active(r->failed_timer))
        list(h, text);
    run_kill(r, -1, text);
    step_changed(r);
}
