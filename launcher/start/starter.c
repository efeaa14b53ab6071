/* SPDX-License-Identifier: BSD-3-Clause */
/* starter.c - one host's starter: its client begins, ends, is forgotten, is started again */
#include <sys/wait.h>

#include "launcher/start/starter-private.h"

void starter_client_begins(struct starter *st, pid_t pid, bool is_starter)
{
    st->client_runs = true;
    st->client_pid = pid;
    st->client_is_starter = is_starter;
    if (pid > 0 && !st->all->oom_kills.driver)
        oom_kills_begin(&st->all->oom_kills);
    /* its HELLO may have been faster than the news of its start */
    if (st->host->state < AGENT_STARTED)
        host_enter(st->host, AGENT_STARTED);
}

void starter_client_ends(struct starter *st)
{
    st->client_runs = false;
}

void starter_forget(struct starter *st)
{
    start_channel_close(st);
    client_stderr_close(&st->said);
    host_forget_start(st->host);
}

void starter_retry(struct starter *st)
{
    st->is_direct = true;
    st->all->plan->adapter->retry(st->all->starting, (size_t)st->host->launch_index);
}

bool starter_may_have_channel(const struct starter *st, int status)
{
    return st->host->state == AGENT_STARTED && !verdict_is_ending(st->all->step.verdict) &&
           WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CODE_MPRUN &&
           start_channel_may_be_link(st->all->plan);
}

/* A worker whose start client has ended may live: it ends its ranks, cleans up and says so through
 * the host above, and must not be disturbed. */
bool starter_is_linked(const struct starter *st)
{
    struct host *h = st->host;
    return h->link || (!st->worker_over && h->state >= AGENT_PLACED && h->state < AGENT_CLEANED &&
                       host_top(h));
}
