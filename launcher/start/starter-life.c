/* SPDX-License-Identifier: BSD-3-Clause */
/* starter-life.c - each host's start client and link as they come and go
 *
 * A starter is a start client (with its start channel and exit status) and a link; each may end
 * first, and both ends are needed before the host is gone. */
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/proc.h"
#include "launcher/start/by-other-starters/by-other-starters.h"
#include "launcher/start/start-client-words.h"
#include "launcher/start/starter-private.h"
#include "launcher/start/sweep-dead-starter.h"
#include "launcher/step-record.h"

/* Its start client is over, or need not be waited for. */
static bool client_is_over(const struct starter *st)
{
    const struct host *h = st->host;
    return !st->client_runs ||
           (errands_has_guests(st->all->errands, h) && (h->failed || h->state >= AGENT_RELEASED));
}

void starter_life_settle(struct starter *st)
{
    struct starters *s = st->all;
    struct host *h = st->host;
    if (!client_is_over(st) || starter_is_linked(st) || h->state == AGENT_GONE)
        return;
    client_channel_drain(st->channel);
    client_stderr_finish(st->said);
    client_stderr_destroy(take_ptr(st->said));
    if (h->failed && h->state < AGENT_CLEANED)
        sweep_host(s->sweep, h);
    host_enter(h, AGENT_GONE);
    errands_host_gone(s->errands, h);
    loop_defer_schedule(s->step.turn);
}

/* The adapter may have another way to start the host. */
static bool starts_again(struct starter *st, int status)
{
    struct starters *s = st->all;
    const struct rm_adapter *a = s->plan->adapter;
    if (st->host->state != AGENT_STARTED || verdict_is_ending(s->step.verdict) || !a->again)
        return false;
    const char *words = client_stderr_held(st->said);
    enum start_again again = a->again(s->starting, (size_t)st->host->launch_index, status, words);
    if (again == START_NOT)
        return false;
    if (again == START_LATER)
        return other_steps_ask(s->other_steps, st, words) == 0;
    log_debug("host %s: %s; it is started in another way", st->host->name, words);
    starter_forget(st);
    return true;
}

/* A keeper that ends by itself has seen the end of its worker; a client that has lost the host may
 * leave both alive. Where mprun started the keeper, a worker without it is mprun's child. */
static bool worker_may_live(const struct starter *st, int status)
{
    struct proc_stat ps;
    pid_t worker = step_record_facts(st->all->step.record, st->host->launch_index)->worker;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 0 || (code > 0 && code != st->all->plan->adapter->lost_code))
        return false;
    if (!st->client_is_starter || worker <= 1)
        return true;
    return proc_stat_read(worker, &ps) == 0 && ps.ppid == getpid() && ps.state != 'Z';
}

/* Where another mprun may have started a starter as well, which of them has reported is not known:
 * its link tells of its end. */
static bool may_be_anothers(const struct starter *st)
{
    const struct host *h = st->host;
    return other_steps_may_have_started(st->all->other_steps, h) && h->state >= AGENT_CONNECTED &&
           h->state < AGENT_CLEANED && starter_is_linked(st);
}

static void client_ended(struct starter *st, int status)
{
    struct host *h = st->host;
    starter_client_ends(st);
    if (starts_again(st, status) || may_be_anothers(st))
        return;
    if (h->link)
        link_read_rest(h->link); /* that it has joined another host, or was done */
    st->worker_over = !worker_may_live(st, status);
    /* a starter that was told to go, or that only said HELLO, ends with 0 */
    if (h->state < AGENT_CLEANED) {
        host_mark_failed(h);
        client_end_say(st, status);
    }
    if (h->link)
        link_peer_ends(h->link);
    if (h->state < AGENT_CONNECTED && st->all->plan->transport != TRANSPORT_STDIO)
        host_close_link(h); /* without HELLO it has nothing to tell */
    starter_life_settle(st);
}

static void not_started(struct starter *st, const struct error *err)
{
    host_mark_failed(st->host);
    if (st->host->cancelled)
        log_debug("%s", err->text);
    else
        verdict_fail(st->all->step.verdict, EXIT_CODE_MPRUN, "%s", err->text);
    starter_life_settle(st);
}

void starter_life_event(void *arg, size_t host, enum start_event event,
                        const struct start_channel *channel, int status, const struct error *err)
{
    struct starters *s = arg;
    struct starter *st = &s->of[host]; /* host counts those that have ranks */
    switch (event) {
    case START_CHANNEL_OPEN:
        if (channel->why_forked)
            log_debug("host %s: %s; mprun starts mpstarter itself, not by %s", st->host->name,
                      channel->why_forked, start_client_name(s->plan));
        start_handshake_begin(st, channel);
        break;
    case START_CHANNEL_ENDED:
        client_ended(st, status);
        break;
    case START_FAILED:
        not_started(st, err);
        break;
    }
    loop_defer_schedule(s->step.turn);
}

void starter_life_client_ended(struct starter *st, int status)
{
    client_ended(st, status);
    loop_defer_schedule(st->all->step.turn);
}

void starter_life_client_unknown(struct starter *st)
{
    starter_client_ends(st);
    st->worker_over = true;
    if (st->host->state < AGENT_CLEANED)
        host_mark_failed(st->host);
    starter_life_settle(st);
    loop_defer_schedule(st->all->step.turn);
}

/* ---- what other rooms tell ------------------------------------------------------------------- */

void starters_orphan_ended(struct starters *s, pid_t pid)
{
    for (size_t i = 0; i < s->plan->nused; i++) {
        struct starter *st = &s->of[i];
        if (st->client_runs || step_record_facts(s->step.record, (uint32_t)i)->worker != pid ||
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
            starter_life_settle(&s->of[i]);
}

void starters_released(struct starters *s, struct host *h)
{
    struct starter *st = starter_of(s, h);
    if (client_channel_awaits_ready(st->channel))
        client_channel_close_input(st->channel);
    starter_life_settle(st);
}

void starters_link_ended(struct starters *s, struct host *h)
{
    if (h->state < AGENT_RELEASED)
        host_mark_failed(h);
    starter_life_settle(starter_of(s, h));
}
