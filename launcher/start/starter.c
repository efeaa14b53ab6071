/* SPDX-License-Identifier: BSD-3-Clause */
/* starter.c - one host's starter: its client begins, ends, is forgotten, is started again */
#include "common/cleanup.h"
#include "launcher/socket-directory.h"
#include "launcher/start/listen.h"
#include "launcher/start/start-preamble.h"
#include "launcher/start/starter-private.h"

void starter_client_begins(struct starter *st, pid_t pid, bool is_starter)
{
    st->client_runs = true;
    st->client_pid = pid;
    st->client_is_starter = is_starter;
    host_enter(st->host, AGENT_STARTED);
}

void starter_client_ends(struct starter *st)
{
    st->client_runs = false;
    client_channel_client_ended(st->channel);
}

void starter_forget(struct starter *st)
{
    client_channel_destroy(take_ptr(st->channel));
    client_stderr_destroy(take_ptr(st->said));
    host_forget_start(st->host);
}

void starter_retry(struct starter *st)
{
    st->is_direct = true;
    st->all->plan->adapter->retry(st->all->starting, (size_t)st->host->launch_index);
}

/* A worker whose start client has ended may live: it ends its ranks, cleans up and says so through
 * the host above, and must not be disturbed. */
bool starter_is_linked(const struct starter *st)
{
    struct host *h = st->host;
    return h->link || (!st->worker_over && h->state >= AGENT_PLACED && h->state < AGENT_CLEANED &&
                       host_top(h));
}

int starter_preamble(const struct starter *st, uint32_t more_flags, uint8_t ret[PREAMBLE_MAX],
                     struct error *err)
{
    const struct starters *s = st->all;
    return start_preamble_pack(s->plan, st->host, s->step.directory->path,
                               listeners_addresses(s->listeners), more_flags, ret, err);
}
