/* SPDX-License-Identifier: BSD-3-Clause */
/* start-channel-protocol.c - mpstarter is there, on its start channel: it is told what it has to
 * know, and comes over a link, for which the channel itself may serve */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/fault.h"
#include "common/fdio.h"
#include "common/log.h"
#include "launcher/start/start-preamble.h"
#include "launcher/start/starter-private.h"

/* ---- the channel as link --------------------------------------------------------------------- */

/* It is the host's by construction, and its peer proves the key too. */
static int link_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct starter *st = arg;
    if (host_id != st->host->launch_index)
        return error_set(why, EPROTO, "the starter claims to be host %u", host_id);
    client_channel_show_text(st->host, link_noise(l));
    link_set_events(l, st->all->step.links, st->host);
    return 0;
}

static void link_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
}

static void link_closed(void *arg, struct link *l, const struct error *why)
{
    struct starter *st = arg;
    client_channel_show_text(st->host, link_noise(l));
    st->all->step.links->closed(st->host, l, why);
}

static void make_link(struct starter *st, int in_fd, int out_fd)
{
    static const struct link_events events = {
        .opened = link_opened, .frame = link_frame, .closed = link_closed};
    struct starters *s = st->all;
    struct host *h = st->host;
    struct error e;
    char name[300];
    struct link_options o = {.role = LINK_ACCEPTOR, .key = s->plan->key, .skip_noise = 1};
    snprintf(name, sizeof(name), "host %s", h->name);
    struct link *l = link_create(s->step.loop, out_fd, in_fd, &o, name, &events, st, &e);
    if (l)
        host_set_link(h, l);
    else
        verdict_fail(s->step.verdict, EXIT_CODE_MPRUN, "%s", e.text);
}

/* ---- what mpstarter says on the channel ------------------------------------------------------ */

static int tell(struct starter *st, bool may_ask, struct error *err)
{
    uint8_t packed[PREAMBLE_MAX];
    uint32_t flags =
        (st->client_is_starter ? PREAMBLE_SUBREAPER : 0) | (may_ask ? PREAMBLE_FALLBACK : 0);
    int n = starter_preamble(st, flags, packed, err);
    int rc = n < 0 ? -1 : client_channel_tell(st->channel, packed, (size_t)n, may_ask);
    if (n >= 0 && rc < 0)
        error_errno(err, errno, "write the start parameters");
    explicit_bzero(packed, sizeof(packed));
    return rc;
}

/* Also a starter whose host has one already (another mprun may have started that after all) is told
 * what it waits for: it is refused then, and ends. */
static void channel_ready(void *arg)
{
    struct starter *st = arg;
    const struct host *h = st->host;
    bool may_ask = start_preamble_allows_channel(st->all->plan) && !h->link;
    struct error e;
    if (tell(st, may_ask, &e) < 0) {
        log_debug("host %s: %s", h->name, e.text); /* its status tells of its end */
        client_channel_close(st->channel);
        return;
    }
    if (st->all->plan->transport == TRANSPORT_STDIO && !h->link) {
        int in, out;
        client_channel_take(st->channel, &in, &out);
        make_link(st, in, out);
    } else if (!may_ask) {
        client_channel_end_input(st->channel);
    }
    fault_point("starting");
}

/* No address of ours can be reached from there. */
static void channel_asks(void *arg)
{
    struct starter *st = arg;
    int in, out;
    if (st->host->link) {
        client_channel_close_input(st->channel);
        return;
    }
    client_channel_take(st->channel, &in, &out);
    if (fd_write_all(in, PREAMBLE_YES, strlen(PREAMBLE_YES)) < 0) /* its end is told */
        log_debug("host %s: its start channel takes nothing", st->host->name);
    make_link(st, in, out);
}

void start_handshake_begin(struct starter *st, const struct start_channel *c)
{
    static const struct client_channel_events events = {.ready = channel_ready,
                                                        .asks = channel_asks};
    struct starters *s = st->all;
    starter_client_begins(st, c->pid, c->is_starter);
    client_channel_destroy(st->channel);
    st->channel = client_channel_create(s->step.loop, st->host, c, &events, st);
    if (c->err_fd >= 0)
        st->said = client_stderr_create(s->step.loop, s->plan, st->host, c->err_fd);
    if (!st->channel)
        verdict_fail(s->step.verdict, EXIT_CODE_MPRUN, "host %s: out of memory", st->host->name);
}
