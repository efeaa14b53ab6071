/* SPDX-License-Identifier: BSD-3-Clause */
/* start-channel.c - standard input and output of a start client
 *
 * mpstarter says that it is there, and is told then what it has to know: key and addresses go to
 * nobody else, and a qrsh that has input before its task runs starts the task a second later in
 * four of ten runs (8.1.9). Whatever else comes is somebody's text (login scripts, task prologs)
 * and is shown. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fault.h"
#include "common/fdio.h"
#include "common/log.h"
#include "launcher/run.h"
#include "wire/address.h"
#include "wire/preamble.h"

/* What came on a start channel beside the protocol: a login script, or why there is no starter. */
static void show_text(struct host *h, const char *text)
{
    if (*text)
        log_note("host %s said: %s", h->name, text);
}

/* A start channel as link: it is the host's by construction, and its peer proves the key too. */
static int stdio_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct host *h = arg;
    if (host_id != (uint32_t)h->launch_index)
        return error_set(why, EPROTO, "the starter claims to be host %u", host_id);
    show_text(h, link_noise(l));
    link_set_events(l, &host_link_events, h);
    return 0;
}

static void stdio_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
}

static void stdio_closed(void *arg, struct link *l, const struct error *why)
{
    show_text(arg, link_noise(l));
    host_link_events.closed(arg, l, why);
}

static const struct link_events stdio_events = {
    .opened = stdio_opened, .frame = stdio_frame, .closed = stdio_closed};

int start_channel_awaits_word(const struct host *h)
{
    return h->channel_open && h->in_fd >= 0 && !h->is_ready;
}

void start_channel_close_input(struct host *h)
{
    if (h->in_fd >= 0)
        close(take_fd(&h->in_fd));
}

void start_channel_close(struct host *h)
{
    loop_io_destroy(h->out_io);
    h->out_io = NULL;
    start_channel_close_input(h);
    if (h->out_fd >= 0)
        close(take_fd(&h->out_fd));
}

static int make_stdio_link(struct host *h, int in_fd, int out_fd)
{
    struct run *r = h->run;
    struct error e;
    char name[300];
    struct link_options o = {.role = LINK_ACCEPTOR, .key = r->key, .skip_noise = 1};
    snprintf(name, sizeof(name), "host %s", h->name);
    h->link = link_create(r->loop, out_fd, in_fd, &o, name, &stdio_events, h, &e);
    if (!h->link)
        run_fail(r, EXIT_CODE_MPRUN, "%s", e.text);
    return h->link ? 0 : -1;
}

/* No address of ours can be reached from there. */
static void use_channel(struct host *h)
{
    loop_io_destroy(h->out_io);
    h->out_io = NULL;
    int in = take_fd(&h->in_fd), out = take_fd(&h->out_fd);
    if (fd_write_all(in, PREAMBLE_YES, strlen(PREAMBLE_YES)) < 0)
        log_debug("host %s: its start channel takes nothing", h->name); /* its end is told */
    make_stdio_link(h, in, out);
}

int start_channel_may_be_link(const struct host *h)
{
    const struct run *r = h->run;
    return r->transport == TRANSPORT_TCP && r->cmd.transport == TRANSPORT_AUTO &&
           r->adapter->stdio_channel == STDIO_PER_HOST;
}

int start_channel_preamble(struct host *h, uint32_t more_flags, uint8_t ret[PREAMBLE_MAX],
                           struct error *err)
{
    struct run *r = h->run;
    char home[ADDRESS_TEXT] = "";
    struct preamble p = {
        .host_id = (uint32_t)h->launch_index, .launcher = (uint32_t)getpid(), .flags = more_flags};
    memcpy(p.key, r->key, sizeof(p.key));
    if (r->alloc.hosts[h->index].here && r->directory[0] &&
        address_of_path("home", r->directory, home) < 0)
        home[0] = 0;
    snprintf(p.addresses, sizeof(p.addresses), "%s%s%s", home, *home ? " " : "", r->addresses);
    if (r->transport == TRANSPORT_STDIO)
        p.flags |= PREAMBLE_STDIO;
    if (r->transport == TRANSPORT_TCP && r->cmd.security == LINK_ENCRYPT)
        p.flags |= PREAMBLE_ENCRYPT;
    if (r->transport == TRANSPORT_TCP && r->cmd.security == LINK_MAC)
        p.flags |= PREAMBLE_MAC;
    if (r->cmd.verbose)
        p.flags |= PREAMBLE_VERBOSE;
    if (r->cmd.explain)
        p.flags |= PREAMBLE_EXPLAIN;
    if (r->step.pmi && !r->cmd.explain)
        p.flags |= PREAMBLE_PMI;
    if (r->transport == TRANSPORT_TCP)
        p.link_grace = (uint32_t)(r->cmd.link_grace + 0.999);
    int n = preamble_pack(&p, ret, err);
    explicit_bzero(&p, sizeof(p));
    return n;
}

static int send_preamble(struct host *h, struct error *err)
{
    uint8_t packed[PREAMBLE_MAX];
    uint32_t flags = 0;
    if (h->is_starter)
        flags |= PREAMBLE_SUBREAPER;
    if (h->awaited.word)
        flags |= PREAMBLE_FALLBACK;
    int n = start_channel_preamble(h, flags, packed, err);
    int rc = n < 0 ? -1 : fd_write_all(h->in_fd, packed, (size_t)n);
    if (n >= 0 && rc < 0)
        error_errno(err, errno, "write the start parameters");
    explicit_bzero(packed, sizeof(packed));
    return rc;
}

/* The starter reads what it is to know; also when the host has one already (another mprun may have
 * started it after all): it is refused then and ends, as one that is told nothing may not. */
static void talk(struct host *h)
{
    struct run *r = h->run;
    struct error e;
    h->awaited.word = start_channel_may_be_link(h) && !h->link ? PREAMBLE_ASK : NULL;
    if (send_preamble(h, &e) < 0) {
        log_debug("host %s: %s", h->name, e.text); /* its end is told by its status */
        start_channel_close(h);
        return;
    }
    if (r->transport == TRANSPORT_STDIO && !h->link) {
        int in = take_fd(&h->in_fd), out = take_fd(&h->out_fd);
        loop_io_destroy(h->out_io);
        h->out_io = NULL;
        make_stdio_link(h, in, out);
    } else if (!h->awaited.word && !h->terminal) {
        start_channel_close_input(h);
    }
    fault_point("starting");
}

/* The starter says nothing more on its stdout before it has an answer. */
static void answer(struct host *h)
{
    if (h->in_fd < 0 || !h->channel_open)
        return;
    if (!h->is_ready) {
        h->is_ready = 1;
        talk(h);
    } else if (h->link) {
        start_channel_close_input(h);
    } else {
        use_channel(h);
    }
}

static void channel_text(void *arg, int fd, unsigned events)
{
    struct host *h = arg;
    char buf[2048], text[sizeof(buf) + AWAIT_MAX + 1];
    int found = 0;
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n < 0 && errno == EINTR)
        return;
    size_t length = n > 0 ? await_take(&h->awaited, buf, (size_t)n, text, &found)
                          : await_rest(&h->awaited, text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        length--;
    text[length] = 0;
    show_text(h, text);
    if (found)
        answer(h);
    if (n > 0)
        return;
    loop_io_destroy(h->out_io);
    h->out_io = NULL;
    close(take_fd(&h->out_fd));
}

void start_channel_drain(struct host *h)
{
    if (h->out_io)
        fd_set_nonblock(h->out_fd, 1);
    while (h->out_io)
        channel_text(h, h->out_fd, LOOP_READ);
}

void start_channel_open(struct host *h, const struct start_channel *c)
{
    h->channel_open = 1;
    h->client_pid = c->pid;
    h->is_starter = c->is_starter;
    agent_enter(h, AGENT_STARTED);
    if (c->err_fd >= 0)
        start_words_open(h, c->err_fd);
    h->terminal = c->terminal;
    h->in_fd = c->in_fd;
    h->out_fd = c->out_fd;
    h->is_ready = 0;
    h->awaited = (struct await){.word = PREAMBLE_READY};
    h->out_io = loop_io_create(h->run->loop, h->out_fd, LOOP_READ, channel_text, h);
}
