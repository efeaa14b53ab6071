/* SPDX-License-Identifier: BSD-3-Clause */
/* host-failures.c - one sentence for hosts that fail at about the same time
 *
 * The step ends at once; the sentence waits for hosts that are lost with the same switch or power
 * supply. Hosts behind a failed host, and hosts whose start mprun has cancelled, do not count as
 * failed. */
#include "launcher/outcome/host-failures.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/text/host-name-list.h"
#include "common/must.h"
#include "launcher/hosts/host-links.h"
#include "launcher/outcome/verdict.h"
#include "launcher/tunables.h"

static bool is_listed(const void *arg, const struct host *h)
{
    const struct host_failures *f = arg;
    return f->listed[h->launch_index];
}

static bool is_behind(const void *arg, const struct host *h)
{
    return (h->failed || h->state < AGENT_CLEANED) && host_is_behind(h, is_listed, arg);
}

static bool has_failed(const void *arg, const struct host *h)
{
    return is_listed(arg, h) && !is_behind(arg, h);
}

static bool has_died(const void *arg, const struct host *h)
{
    return h->failed;
}

bool host_failures_is_consequence(const struct host_failures *f, const struct host *h)
{
    return h->cancelled ||
           (verdict_is_ending(f->verdict) && (h->told || host_is_behind(h, has_died, NULL)));
}

/* A starter's own words may begin with "on HOST: ". */
static bool names_host(const char *words, const char *host)
{
    size_t n = strlen(host);
    return !strncmp(words, "on ", 3) && !strncmp(words + 3, host, n) && words[3 + n] == ':';
}

static void say(struct host_failures *f)
{
    char names[600], behind[NAME_RUN_TEXT], text[1200];
    size_t n = hosts_list(f->hosts, has_failed, f, names, sizeof(names));
    size_t nbehind = hosts_list(f->hosts, is_behind, f, behind, sizeof(behind));
    int at = n > 1 ? snprintf(text, sizeof(text),
                              "hosts %s: they failed together; %s was the first: %.400s", names,
                              f->first->name, f->text)
             : names_host(f->text, f->first->name)
                 ? snprintf(text, sizeof(text), "%s", f->text)
                 : snprintf(text, sizeof(text), "host %s: %s", f->first->name, f->text);
    if (nbehind && at > 0 && (size_t)at < sizeof(text))
        snprintf(text + at, sizeof(text) - (size_t)at, "; behind %s, and ended as well: %s",
                 n > 1 ? "them" : "it", behind);
    verdict_explain(f->verdict, text);
    if (n > 1 || nbehind || f->said != f->first)
        log_error("%s", text);
}

void host_failures_say(struct host_failures *f)
{
    if (!loop_timer_is_active(&f->timer) || f->keeper_died)
        return;
    loop_timer_stop(&f->timer);
    say(f);
}

void host_failures_finish(struct host_failures *f)
{
    f->keeper_died = false;
    host_failures_say(f);
}

/* The end of a host that is behind another may be noticed first, and much earlier: the other's
 * keeper cleans up, and its link waits for another connection. When a host has died by itself, the
 * host above says so. */
static bool may_be_behind(const struct host *h)
{
    return h->below && !h->lost;
}

/* The clean-up after a host takes time, and events may have waited for it: they come first. */
static void due(void *arg)
{
    struct host_failures *f = arg;
    if (!f->is_due) {
        f->is_due = true;
        loop_timer_start(&f->timer, 0, 0);
    } else if (may_be_behind(f->first) && loop_now() < f->until) {
        f->is_due = false;
        loop_timer_start(&f->timer, FAIL_TOGETHER_SECONDS, 0);
    } else {
        say(f);
    }
}

/* Is the text now that of the sentence? */
static bool list(struct host_failures *f, struct host *h, const char *text)
{
    f->listed[h->launch_index] = true;
    if (f->first && !is_behind(f, f->first))
        return false;
    f->first = h;
    snprintf(f->text, sizeof(f->text), "%s", text);
    return true;
}

bool host_failures_awaits(const struct host_failures *f, const struct host *h)
{
    return f->keeper_died && f->first == h;
}

static void add(struct host_failures *f, struct host *h, bool silent, bool keeper_died,
                int exit_code, const char *text)
{
    log_debug("host %s: %s", h->name, text);
    if (host_failures_awaits(f, h) && host_failures_correct(f, h, exit_code, text))
        return;
    if (host_failures_is_consequence(f, h))
        return;
    if (verdict_fail_silently(f->verdict, exit_code)) {
        f->until = loop_now() + FAIL_TOGETHER_SILENT_SECONDS;
        loop_timer_start(&f->timer, silent ? FAIL_TOGETHER_SILENT_SECONDS : FAIL_TOGETHER_SECONDS,
                         0);
    }
    if (loop_timer_is_active(&f->timer) && list(f, h, text))
        f->keeper_died = keeper_died;
    verdict_end_ranks(f->verdict, -1, text);
}

void host_failures_add(struct host_failures *f, struct host *h, bool silent, int exit_code,
                       const char *fmt, ...)
{
    char text[sizeof(f->text)];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    add(f, h, silent, false, exit_code, text);
}

void host_failures_keeper_died(struct host_failures *f, struct host *h, int exit_code,
                               const char *text)
{
    add(f, h, true, true, exit_code, text);
}

void host_failures_was_said(struct host_failures *f, const struct host *h)
{
    f->said = h;
}

bool host_failures_correct(struct host_failures *f, const struct host *h, int exit_code,
                           const char *text)
{
    if (!loop_timer_is_active(&f->timer) || f->first != h)
        return false;
    f->keeper_died = false;
    f->verdict->exit_code = exit_code;
    snprintf(f->text, sizeof(f->text), "%s", text);
    loop_timer_start(&f->timer, FAIL_TOGETHER_SECONDS, 0);
    return true;
}

void host_failures_init(struct host_failures *f, struct loop *loop, const struct host_table *t,
                        struct verdict *verdict)
{
    *f = (struct host_failures){.hosts = t, .verdict = verdict};
    f->listed = must(calloc(t->plan->nused + 1, sizeof(*f->listed)));
    loop_timer_init(&f->timer, loop, due, f);
}

void host_failures_free(struct host_failures *f)
{
    loop_timer_stop(&f->timer);
    free(f->listed);
}
