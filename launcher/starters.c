/* SPDX-License-Identifier: BSD-3-Clause */
/* starters.c - each host's start client and link as they come and go
 *
 * A starter is a start client (with its start channel and exit status) and a link; each may end
 * first, and both ends are needed before the host is gone. */
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/proc.h"
#include "launcher/run.h"

#define UNREACHABLE_SECONDS 10.0 /* to end, after the link grace */

enum { SSH_FAILED = 255 }; /* an exit code */

/* By its own link, or through the host above it. Whose start client has ended may still have its
 * worker: it ends its ranks, cleans up and says so, and must not be disturbed. */
int starters_is_linked(struct host *h)
{
    return h->link ||
           (!h->worker_over && h->state >= AGENT_PLACED && h->state < AGENT_CLEANED && host_top(h));
}

int starters_has_client(const struct host *h)
{
    return h->channel_open && !h->nguests;
}

/* Whether its start client is over, or not waited for. */
static int client_is_over(const struct host *h)
{
    return !h->channel_open || (h->nguests && (h->failed || h->state >= AGENT_RELEASED));
}

static void host_gone(struct host *h)
{
    if (!client_is_over(h) || starters_is_linked(h) || h->state == AGENT_GONE)
        return;
    start_channel_drain(h);
    start_words_close(h);
    if (h->failed && h->state < AGENT_CLEANED)
        sweep_host(h);
    agent_enter(h, AGENT_GONE);
    errands_host_gone(h);
    step_changed(h->run);
}

void starters_forget(struct host *h)
{
    start_channel_close(h);
    start_words_drop(h);
    link_destroy(h->link);
    h->link = NULL;
    h->failed = h->lost = 0;
    agent_enter(h, AGENT_WAITING);
}

/* The adapter may have another way to start the host. */
static int starts_again(struct host *h, int status)
{
    struct run *r = h->run;
    if (h->state != AGENT_STARTED || r->killing || !r->adapter->again)
        return 0;
    const char *words = start_words_held(h);
    enum start_again again = r->adapter->again(r->starting, (size_t)h->launch_index, status, words);
    if (again == START_NOT)
        return 0;
    if (again == START_LATER)
        return handing_begin(h, words) == 0;
    log_debug("host %s: %s; it is started in another way", h->name, words);
    starters_forget(h);
    return 1;
}

/* A keeper that ends by itself has seen the end of its worker; ssh's 255 may mean anything. Where
 * we started the keeper, a worker without it is our child. */
static int worker_may_live(const struct host *h, int status)
{
    struct proc_stat st;
    if (WIFEXITED(status) && WEXITSTATUS(status) != SSH_FAILED)
        return 0;
    if (!h->is_starter || h->worker_pid <= 1)
        return 1;
    return proc_stat_read((pid_t)h->worker_pid, &st) == 0 && st.ppid == getpid() && st.state != 'Z';
}

/* Where another mprun may have started a starter as well, which of them has reported is not known:
 * its link tells of its end. */
static int may_be_anothers(struct host *h)
{
    return h->stray && h->state >= AGENT_CONNECTED && h->state < AGENT_CLEANED &&
           starters_is_linked(h);
}

static void channel_ended(struct host *h, int status)
{
    struct run *r = h->run;
    h->channel_open = 0;
    if (starts_again(h, status) || may_be_anothers(h))
        return;
    if (h->link)
        link_read_rest(h->link); /* that it has joined another host, or was done */
    h->worker_over = !worker_may_live(h, status);
    /* a starter that was told to go, or that only said HELLO, ends with 0 */
    if (h->state < AGENT_CLEANED) {
        h->failed = 1;
        start_client_say_end(h, status);
    }
    if (h->link)
        link_peer_ends(h->link);
    if (h->state < AGENT_CONNECTED && h->link && r->transport != TRANSPORT_STDIO) {
        link_destroy(h->link); /* who has not said HELLO has nothing to tell */
        h->link = NULL;
    }
    host_gone(h);
}

void starters_event(void *arg, size_t host, enum start_event event,
                    const struct start_channel *channel, int status, const struct error *err)
{
    struct run *r = arg;
    struct host *h = r->launched[host]; /* host counts those that have ranks */
    switch (event) {
    case START_CHANNEL_OPEN:
        if (channel->instead)
            log_debug("host %s: %s; mprun starts mpstarter itself, not by %s", h->name,
                      channel->instead, start_client_name(r));
        start_channel_open(h, channel);
        break;
    case START_CHANNEL_ENDED:
        channel_ended(h, status);
        break;
    case START_FAILED:
        h->failed = 1;
        if (h->cancelled)
            log_debug("%s", err->text);
        else
            run_fail(r, EXIT_CODE_MPRUN, "%s", err->text);
        host_gone(h);
        break;
    }
    step_changed(r);
}

void starters_retry(struct host *h)
{
    h->direct = 1;
    h->run->adapter->retry(h->run->starting, (size_t)h->launch_index);
}

void starters_client_ended(struct host *h, int status)
{
    channel_ended(h, status);
    step_changed(h->run);
}

void starters_client_unknown(struct host *h)
{
    h->channel_open = 0;
    h->worker_over = 1;
    if (h->state < AGENT_CLEANED)
        h->failed = 1;
    host_gone(h);
    step_changed(h->run);
}

/* Its start client is ended, or, where that must not be, not waited for. */
static void abandon(struct host *h)
{
    struct run *r = h->run;
    if (!h->channel_open)
        return;
    if (r->starting && r->adapter->abandon) {
        r->adapter->abandon(r->starting, (size_t)h->launch_index);
        return;
    }
    h->channel_open = 0;
    host_gone(h);
}

/* Hosts below a lost one have had the time to notice, and to end by themselves. One that has never
 * reported back is reached by nobody, whoever is above it. */
static void abandon_unreachable(void *arg)
{
    struct run *r = arg;
    for (size_t i = 0; i < r->nused; i++) {
        struct host *h = r->launched[i];
        if (!host_top(h) || h->state == AGENT_STARTED)
            abandon(h);
    }
}

static void abandon_after(struct run *r, double seconds)
{
    if (!r->lost_timer)
        r->lost_timer = loop_timer_create(r->loop, abandon_unreachable, r);
    if (r->lost_timer && !loop_timer_active(r->lost_timer))
        loop_timer_start(r->lost_timer, seconds, UNREACHABLE_SECONDS);
}

void starters_await_end(struct run *r)
{
    abandon_after(r, r->cmd.link_grace + UNREACHABLE_SECONDS);
}

void starters_lost(struct host *h, int silent)
{
    struct run *r = h->run;
    h->failed = 1;
    h->lost = 1;
    if (silent)
        abandon(h);
    r->unsettled = 1; /* those below it, too */
    step_changed(r);
    starters_await_end(r);
}

/* Where start clients are not ended, those whose starters never come are not waited for. */
void starters_cancel(struct run *r)
{
    if (grants_forget(r))
        starting_none(r);
    if (!r->starting)
        return;
    for (size_t i = 0; i < r->nused; i++)
        if (r->launched[i]->state < AGENT_CONNECTED)
            r->launched[i]->cancelled = 1;
    r->adapter->cancel(r->starting);
    handing_cancel(r);
    through_end(r);
    if (!r->adapter->abandon)
        abandon_after(r, UNREACHABLE_SECONDS);
}

void starters_orphan_ended(struct run *r, pid_t pid)
{
    for (size_t i = 0; i < r->nused; i++) {
        struct host *h = r->launched[i];
        if (h->channel_open || (pid_t)h->worker_pid != pid || !r->alloc.hosts[h->index].here)
            continue;
        h->worker_over = 1;
        r->unsettled = 1;
        step_changed(r);
    }
}

void starters_settle(struct run *r)
{
    if (!r->unsettled)
        return;
    r->unsettled = 0;
    for (size_t i = 0; i < r->nused; i++)
        if (r->launched[i]->state >= AGENT_STARTED)
            host_gone(r->launched[i]);
}

void starters_released(struct host *h)
{
    if (start_channel_awaits_word(h))
        start_channel_close_input(h);
    host_gone(h);
}

void starters_host_gone(struct host *h)
{
    if (h->state < AGENT_RELEASED)
        h->failed = 1;
    host_gone(h);
}
