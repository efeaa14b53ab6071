/* SPDX-License-Identifier: BSD-3-Clause */
/* start-channel.c - standard input and output of a start client: mprun's ends of a start channel
 *
 * mpstarter announces itself on it. Only then does mprun send key and addresses: so no other
 * program gets them, and no start client gets input before its task runs, which makes some start
 * the task later. All other text comes from login scripts, task prologs and the like; mprun shows
 * it. Where mpstarter reaches none of mprun's addresses, the channel becomes its link. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/processes/fault.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "launcher/socket-directory.h"
#include "launcher/start/starter-private.h"
#include "wire/transport/address.h"

/* ---- the preamble ---------------------------------------------------------------------------- */

static uint32_t preamble_flags(const struct step_plan *plan)
{
    const struct cmdline *cmd = plan->cmd;
    uint32_t flags = 0;
    if (plan->transport == TRANSPORT_STDIO)
        flags |= PREAMBLE_STDIO;
    if (plan->transport != TRANSPORT_UNIX && cmd->links.security == LINK_ENCRYPT)
        flags |= PREAMBLE_ENCRYPT;
    if (plan->transport != TRANSPORT_UNIX && cmd->links.security == LINK_MAC)
        flags |= PREAMBLE_MAC;
    if (cmd->verbose)
        flags |= PREAMBLE_VERBOSE;
    if (cmd->explain)
        flags |= PREAMBLE_EXPLAIN;
    if (plan->step.pmi)
        flags |= PREAMBLE_PMI;
    return flags;
}

/* is_here: every host that reads it is this machine. */
static int pack_preamble(const struct starters *s, uint32_t host_id, uint32_t more_flags,
                         bool is_here, uint8_t ret[PREAMBLE_MAX], struct error *err)
{
    const struct step_plan *plan = s->plan;
    const char *directory = s->step.directory->path;
    char home[ADDRESS_TEXT] = "";
    struct preamble p = {.host_id = host_id,
                         .launcher = (uint32_t)getpid(),
                         .flags = preamble_flags(plan) | more_flags};
    memcpy(p.key, plan->key, sizeof(p.key));
    if (is_here && directory[0] && address_of_path("home", directory, home) < 0)
        home[0] = 0;
    snprintf(p.addresses, sizeof(p.addresses), "%s%s%s", home, *home ? " " : "",
             s->listeners.addresses);
    if (plan->transport == TRANSPORT_TCP)
        p.link_grace = (uint32_t)(plan->cmd->links.grace + 0.999);
    int n = preamble_pack(&p, ret, err);
    explicit_bzero(&p, sizeof(p));
    return n;
}

int start_preamble(const struct starter *st, uint32_t more_flags, uint8_t ret[PREAMBLE_MAX],
                   struct error *err)
{
    const struct starters *s = st->all;
    return pack_preamble(s, st->host->launch_index, more_flags,
                         s->plan->alloc.hosts[st->host->index].here, ret, err);
}

int start_preamble_of_all(const struct starters *s, uint8_t ret[PREAMBLE_MAX], struct error *err)
{
    return pack_preamble(s, 0, PREAMBLE_NUMBERED, s->plan->same_machine, ret, err);
}

bool start_channel_may_be_link(const struct step_plan *plan)
{
    return plan->transport == TRANSPORT_TCP && plan->cmd->links.transport == TRANSPORT_AUTO &&
           plan->adapter->stdio_channel == STDIO_PER_HOST;
}

/* ---- the channel as link --------------------------------------------------------------------- */

static void show_text(const struct host *h, const char *text)
{
    if (*text)
        log_note("host %s said: %s", h->name, text);
}

/* It is the host's by construction, and its peer proves the key too. */
static int link_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct starter *st = arg;
    if (host_id != st->host->launch_index)
        return error_set(why, EPROTO, "the starter claims to be host %u", host_id);
    show_text(st->host, link_noise(l));
    link_set_events(l, st->all->step.links, st->host);
    return 0;
}

static void link_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
}

static void link_closed(void *arg, struct link *l, const struct error *why)
{
    struct starter *st = arg;
    show_text(st->host, link_noise(l));
    st->all->step.links->closed(st->host, l, why);
}

static void stop_reading(struct client_channel *c)
{
    loop_io_destroy(take_ptr(c->out_io));
}

/* answer: what mpstarter is told first; "": nothing. */
static void become_link(struct starter *st, const char *answer)
{
    static const struct link_events events = {
        .opened = link_opened, .frame = link_frame, .closed = link_closed};
    struct client_channel *c = &st->channel;
    struct starters *s = st->all;
    struct error e;
    char name[300];
    struct link_options o = {.role = LINK_ACCEPTOR,
                             .key = s->plan->key,
                             .security = s->plan->cmd->links.security,
                             .skip_noise = 1};
    stop_reading(c);
    int in = take_fd(&c->in_fd), out = take_fd(&c->out_fd);
    if (fd_write_all(in, answer, strlen(answer)) < 0) /* its end is told */
        log_debug("host %s: its start channel takes nothing", st->host->name);
    snprintf(name, sizeof(name), "host %s", st->host->name);
    struct link *l = link_create(s->step.loop, out, in, &o, name, &events, st, &e);
    if (l)
        host_set_link(st->host, l);
    else
        verdict_fail(s->step.verdict, EXIT_CODE_MPRUN, "%s", e.text);
}

/* ---- what mpstarter says --------------------------------------------------------------------- */

/* may_ask: it may ask for the channel later. */
static int tell(struct starter *st, bool may_ask, struct error *err)
{
    uint8_t packed[PREAMBLE_MAX];
    uint32_t flags =
        (st->client_is_starter ? PREAMBLE_SUBREAPER : 0) | (may_ask ? PREAMBLE_FALLBACK : 0);
    int n = start_preamble(st, flags, packed, err);
    int rc = n < 0 ? -1 : fd_write_all(st->channel.in_fd, packed, (size_t)n);
    if (n >= 0 && rc < 0)
        error_errno(err, errno, "write the start parameters");
    if (may_ask)
        st->channel.awaited.word = PREAMBLE_ASK;
    explicit_bzero(packed, sizeof(packed));
    return rc;
}

static void is_ready(struct starter *st)
{
    const struct host *h = st->host;
    bool may_ask = start_channel_may_be_link(st->all->plan);
    struct error e;
    st->channel.is_ready = true;
    if (agents_take(st))
        return;
    if (tell(st, may_ask, &e) < 0) {
        log_debug("host %s: %s", h->name, e.text); /* its status tells of its end */
        start_channel_close(st);
        return;
    }
    if (st->all->plan->transport == TRANSPORT_STDIO)
        become_link(st, "");
    else if (!may_ask)
        start_channel_end_input(st);
    fault_point("starting");
}

/* mpstarter says nothing more on its stdout before it has an answer. */
static void word_came(struct starter *st)
{
    if (st->channel.in_fd < 0 || !st->client_runs)
        return;
    if (!st->channel.is_ready)
        is_ready(st);
    else if (st->host->link)
        start_channel_close_input(st);
    else /* no address of ours can be reached from there */
        become_link(st, PREAMBLE_YES);
}

static void readable(void *arg, int fd, unsigned events)
{
    struct starter *st = arg;
    struct client_channel *c = &st->channel;
    char buf[2048], text[sizeof(buf) + AWAIT_MAX + 1];
    int found = 0;
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n < 0 && errno == EINTR)
        return;
    size_t length = n > 0 ? await_take(&c->awaited, buf, (size_t)n, text, &found)
                          : await_rest(&c->awaited, text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        length--;
    text[length] = 0;
    show_text(st->host, text);
    if (found)
        word_came(st);
    if (n > 0)
        return;
    stop_reading(c);
    close(take_fd(&c->out_fd));
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void start_channel_open(struct starter *st, const struct start_channel *from)
{
    start_channel_close(st);
    if (from->err_fd >= 0 || from->out_fd < 0)
        client_stderr_open(&st->said, st->all->step.loop, st->host, st->all->step.failures,
                           from->err_fd);
    if (from->out_fd < 0)
        return;
    st->channel = (struct client_channel){
        .in_fd = from->in_fd,
        .out_fd = from->out_fd,
        .awaited = {.word = PREAMBLE_READY},
        .is_terminal = from->is_terminal,
        .out_io = loop_io_create(st->all->step.loop, from->out_fd, LOOP_READ, readable, st),
    };
}

bool start_channel_awaits_ready(const struct starter *st)
{
    return st->client_runs && st->channel.in_fd >= 0 && !st->channel.is_ready;
}

void start_channel_close_input(struct starter *st)
{
    cleanup_close(&st->channel.in_fd);
}

void start_channel_end_input(struct starter *st)
{
    if (st->channel.is_ready && !st->channel.is_terminal)
        start_channel_close_input(st);
}

void start_channel_drain(struct starter *st)
{
    if (st->channel.out_io)
        fd_set_nonblock(st->channel.out_fd, 1);
    while (st->channel.out_io)
        readable(st, st->channel.out_fd, LOOP_READ);
}

void start_channel_close(struct starter *st)
{
    stop_reading(&st->channel);
    start_channel_close_input(st);
    cleanup_close(&st->channel.out_fd);
}
