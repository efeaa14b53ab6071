/* SPDX-License-Identifier: BSD-3-Clause */
/* starter-events.c - each host's start client and link as they come and go
 *
 * A starter is a start client (with its start channel and exit status) and a link; each may end
 * first, and both ends are needed before the host is gone. A client may end before its host reports
 * back (then its end is the reason why the step ends), with the host (the same), or because the
 * start was cancelled (then it is none). */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/processes/proc.h"
#include "launcher/outcome/host-failures.h"
#include "launcher/start/starter-private.h"
#include "launcher/step/step-record.h"
#include "wire/link/link.h"

/* ---- why a start client has ended ------------------------------------------------------------ */

const char *starter_client_name(const struct step_plan *plan, char *buf, size_t n)
{
    bool is_shared = plan->adapter->stdio_channel == STDIO_SHARED;
    snprintf(buf, n, "%s%s", is_shared ? "its task of " : "", start_client_name(plan));
    return buf;
}

/* How a start client has ended, its words, and the exit code that the step has for it. */
struct client_end {
    char how[320], why[800];
    int code;
    bool lacked_memory; /* here, or its mpstarter has said so: nothing else explains it */
    bool may_say_why;   /* its keeper was killed, and its worker has still a link */
};

static void take_words(struct starter *st, struct client_end *end)
{
    client_stderr_take_reason(&st->said, end->why, sizeof(end->why));
    if (strstr(end->why, OOM_KILLED))
        end->code = EXIT_CODE_SIGNAL + SIGKILL;
    end->lacked_memory = end->code != EXIT_CODE_MPRUN;
}

/* Why no starter came to be, or which start client has ended: its words, and the shell's codes for
 * a program that is not there. */
static void say_not_started(struct starter *st, int status, const struct client_end *end)
{
    const struct step_plan *plan = st->all->plan;
    struct verdict *v = st->all->step.verdict;
    const char *how = end->how, *why = end->why;
    char what[500] = "";
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const char *colon = *why ? ": " : "";
    if (!end->lacked_memory)
        start_client_advice(plan, why, what, sizeof(what));
    if (st->client_is_starter)
        verdict_fail(v, end->code, "host %s: mpstarter %s before it reported back%s%s",
                     st->host->name, how, colon, why);
    else if (code == EXIT_CODE_NOT_FOUND || code == EXIT_CODE_CANNOT_EXEC)
        verdict_fail(v, EXIT_CODE_MPRUN,
                     "host %s: '%s' %s there%s%s; install mprun %s on all hosts, or say with "
                     "--prefix where it is",
                     st->host->name, plan->remote_path,
                     code == EXIT_CODE_NOT_FOUND ? "does not exist" : "cannot be executed", colon,
                     why, PACKAGE_VERSION);
    else if (*why && (code == plan->adapter->lost_code || code == EXIT_CODE_MPRUN))
        verdict_fail(v, end->code, "host %s: %s%s", st->host->name, why, what);
    else
        verdict_fail(v, end->code, "host %s: %s %s before mpstarter reported back%s%s%s",
                     st->host->name, start_client_name(plan), how, colon, why, what);
}

/* The step ends for a reason of its own: neither this end nor the client's words are one. */
static void say_cancelled(struct starter *st, const struct client_end *end)
{
    log_debug("host %s: its start was cancelled, %s %s%s%s", st->host->name,
              start_client_name(st->all->plan), end->how, *end->why ? ": " : "", end->why);
}

/* The end of a start client whose host was there. */
static void say_ended(struct starter *st, int status, const struct client_end *end)
{
    char name[128];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (st->client_is_starter && (code == EXIT_CODE_MPRUN || code == end->code))
        host_failures_was_said(st->all->step.failures, st->host);
    const char *why = end->why;
    host_failures_add(st->all->step.failures, st->host, end->may_say_why, end->code,
                      "%s %s%s%s%s; its ranks are ended%s",
                      st->client_is_starter
                          ? "mpstarter"
                          : starter_client_name(st->all->plan, name, sizeof(name)),
                      end->how, *why ? " (" : "", why, *why ? ")" : "",
                      end->lacked_memory ? "" : start_client_killer(st->all->plan));
}

static void say_client_ended(struct starter *st, int status)
{
    const struct host *h = st->host;
    struct client_end end;
    bool is_killed = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CODE_SIGNAL + SIGKILL;
    end.code = oom_kills_describe_end(&st->all->oom_kills, status, end.how, sizeof(end.how));
    if (is_killed && st->client_is_starter) /* its keeper has said so of its worker */
        end.code = EXIT_CODE_SIGNAL + SIGKILL;
    if (!h->cancelled && host_failures_is_consequence(st->all->step.failures, h)) {
        log_debug("host %s: its start client %s, for the other's sake", h->name, end.how);
        return;
    }
    take_words(st, &end);
    end.may_say_why = is_killed && h->link && link_is_open(h->link);
    if (h->cancelled)
        say_cancelled(st, &end);
    else if (h->state < AGENT_CONNECTED)
        say_not_started(st, status, &end);
    else
        say_ended(st, status, &end);
}

/* ---- beginning and end of a start client ----------------------------------------------------- */

static void tell_left(struct starter *st)
{
    const struct rm_adapter *a = st->all->plan->adapter;
    bool has_left = st->host->state >= AGENT_CONNECTED && !starter_is_linked(st);
    if (a->left && st->client_runs && has_left && st->all->starting)
        a->left(st->all->starting, (size_t)st->host->launch_index);
}

static void settle(struct starter *st)
{
    struct starters *s = st->all;
    struct host *h = st->host;
    tell_left(st);
    if (st->client_runs || starter_is_linked(st) || h->state == AGENT_GONE)
        return;
    start_channel_drain(st);
    client_stderr_finish(&st->said);
    if (h->failed && h->state < AGENT_CLEANED)
        sweep_dead_starter(st);
    host_enter(h, AGENT_GONE);
    through_host_gone(s, h);
    loop_defer_schedule(s->step.turn);
}

/* The adapter may have another way to start the host. */
static bool starts_again(struct starter *st, int status)
{
    struct starters *s = st->all;
    const struct rm_adapter *a = s->plan->adapter;
    if (st->host->state != AGENT_STARTED || verdict_is_ending(s->step.verdict) || !a->again)
        return false;
    const char *words = client_stderr_held(&st->said);
    enum start_again again = a->again(s->starting, (size_t)st->host->launch_index, status, words);
    if (again == START_NOT)
        return false;
    if (again == START_LATER)
        room_await(st, words);
    else
        log_debug("host %s: %s; it is started in another way", st->host->name, words);
    starter_forget(st);
    return true;
}

/* A keeper that ends by itself has seen the end of its worker; a client that has lost the host may
 * leave both alive. Where mprun started the keeper, a worker without it is mprun's child. */
static bool worker_may_live(const struct starter *st, int status)
{
    struct proc_stat ps;
    pid_t worker = st->all->step.record->facts[st->host->launch_index].worker;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 0 || (code > 0 && code != st->all->plan->adapter->lost_code))
        return false;
    if (!st->client_is_starter || worker <= 1)
        return true;
    return proc_stat_read(worker, &ps) == 0 && ps.ppid == getpid() && ps.state != 'Z';
}

void starter_client_ended(struct starter *st, int status)
{
    struct host *h = st->host;
    if (st->is_started_twice && h->state >= AGENT_CONNECTED && starter_is_linked(st)) {
        starter_client_ends(st); /* the link tells of the starter that has come first */
        loop_defer_schedule(st->all->step.turn);
        return;
    }
    if (h->link)
        link_read_rest(h->link); /* that it has joined another host, or was done */
    starter_client_ends(st);     /* behind that: with the link's end alone less would be known */
    loop_defer_schedule(st->all->step.turn);
    if (starts_again(st, status))
        return;
    st->worker_over = !worker_may_live(st, status);
    /* a starter that was told to go, or that only said HELLO, ends with 0 */
    if (h->state < AGENT_CLEANED) {
        agents_cannot(st);
        host_mark_failed(h);
        say_client_ended(st, status);
    } else if (status != 0 && host_failures_awaits(st->all->step.failures, h)) {
        say_client_ended(st, status); /* a worker without keeper has cleaned up before that */
    }
    if (h->link)
        link_peer_ends(h->link);
    if (h->state < AGENT_CONNECTED && st->all->plan->transport != TRANSPORT_STDIO)
        host_close_link(h); /* without HELLO it has nothing to tell */
    settle(st);
}

static void not_started(struct starter *st, const struct error *err)
{
    starter_client_ends(st);
    agents_cannot(st);
    host_mark_failed(st->host);
    if (st->host->cancelled)
        log_debug("%s", err->text);
    else
        verdict_fail(st->all->step.verdict, EXIT_CODE_MPRUN, "%s", err->text);
    settle(st);
}

void starter_said(void *arg, size_t host, const char *text, size_t n)
{
    client_stderr_add(&((struct starters *)arg)->of[host].said, text, n);
}

void starter_event(void *arg, size_t host, enum start_event event,
                   const struct start_channel *channel, int status, const struct error *err)
{
    struct starters *s = arg;
    struct starter *st = &s->of[host]; /* host counts those that have ranks */
    switch (event) {
    case START_CHANNEL_OPEN:
        if (channel->why_forked)
            log_debug("host %s: %s; mprun starts mpstarter itself, not by %s", st->host->name,
                      channel->why_forked, start_client_name(s->plan));
        starter_client_begins(st, channel->pid, channel->is_starter);
        start_channel_open(st, channel);
        break;
    case START_CHANNEL_ENDED:
        starter_client_ended(st, status);
        break;
    case START_FAILED:
        not_started(st, err);
        break;
    }
    loop_defer_schedule(s->step.turn);
}

void starter_client_unknown(struct starter *st)
{
    starter_client_ends(st);
    st->worker_over = true;
    if (st->host->state < AGENT_CLEANED) {
        agents_cannot(st);
        host_mark_failed(st->host);
    }
    settle(st);
    loop_defer_schedule(st->all->step.turn);
}

/* ---- what other rooms tell ------------------------------------------------------------------- */

void starters_orphan_ended(struct starters *s, pid_t pid)
{
    for (size_t i = 0; i < s->plan->nused; i++) {
        struct starter *st = &s->of[i];
        if (st->client_runs || s->step.record->facts[i].worker != pid ||
            !s->plan->used.hosts[i].here)
            continue;
        st->worker_over = true;
        s->unsettled = true;
        loop_defer_schedule(s->step.turn);
    }
}

void starters_unsettle(struct starters *s)
{
    s->unsettled = true;
}

void starters_settle(struct starters *s)
{
    if (!s->unsettled)
        return;
    s->unsettled = false;
    for (size_t i = 0; i < s->plan->nused; i++)
        if (s->of[i].host->state >= AGENT_STARTED)
            settle(&s->of[i]);
}

void starters_released(struct starters *s, struct host *h)
{
    struct starter *st = starter_of(s, h);
    if (start_channel_awaits_ready(st))
        start_channel_close_input(st);
    settle(st);
}

void starters_link_ended(struct starters *s, struct host *h)
{
    if (h->state < AGENT_RELEASED)
        host_mark_failed(h);
    settle(starter_of(s, h));
}

/* ---- hosts out of reach, whose start clients may never end by themselves --------------------- */

static void abandon(struct starter *st)
{
    struct starters *s = st->all;
    char name[128];
    if (!st->client_runs)
        return;
    if (st->host->failed && st->host->state < AGENT_CLEANED) /* mprun's own KILL is no reason */
        host_failures_add(s->step.failures, st->host, false, EXIT_CODE_MPRUN,
                          "its mpstarter has gone, and %s does not end",
                          starter_client_name(s->plan, name, sizeof(name)));
    if (s->starting && s->plan->adapter->abandon && st->agent != AGENT_FORKS) {
        s->plan->adapter->abandon(s->starting, (size_t)st->host->launch_index);
        return;
    }
    starter_client_ends(st);
    settle(st);
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

void starters_abandon_after(struct starters *s, double seconds)
{
    if (loop_timer_is_active(&s->unreachable))
        return;
    loop_timer_init(&s->unreachable, s->step.loop, due, s);
    loop_timer_start(&s->unreachable, seconds, UNREACHABLE_SECONDS);
}

void starters_await_end(struct starters *s)
{
    starters_abandon_after(s, s->plan->cmd->links.grace + UNREACHABLE_SECONDS);
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
