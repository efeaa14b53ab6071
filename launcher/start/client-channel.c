/* SPDX-License-Identifier: BSD-3-Clause */
/* client-channel.c - mprun's ends of a start channel
 *
 * Key and addresses are told only when mpstarter has said that it is there: so they go to nobody
 * else, and no start client gets input before its task runs: some start the task later then. */
#include "launcher/start/client-channel.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "common/log.h"
#include "launcher/hosts/host-table.h"
#include "wire/start-channel/await-word.h"
#include "wire/start-channel/preamble.h"

struct client_channel {
    const struct host *host;
    const struct client_channel_events *events;
    void *arg;
    int in_fd, out_fd; /* write end of stdin, read end of stdout; -1: closed, or a link's */
    struct loop_io *out_io;
    struct await awaited; /* what mpstarter may say next */
    bool is_terminal, is_ready, client_ended;
};

void client_channel_show_text(const struct host *h, const char *text)
{
    if (*text)
        log_note("host %s said: %s", h->name, text);
}

/* mpstarter says nothing more on its stdout before it has an answer. */
static void word_came(struct client_channel *c)
{
    if (c->in_fd < 0 || c->client_ended)
        return;
    if (c->is_ready) {
        c->events->asks(c->arg);
    } else {
        c->is_ready = true;
        c->events->ready(c->arg);
    }
}

static void stop_reading(struct client_channel *c)
{
    loop_io_destroy(c->out_io);
    c->out_io = NULL;
}

static void readable(void *arg, int fd, unsigned events)
{
    struct client_channel *c = arg;
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
    client_channel_show_text(c->host, text);
    if (found)
        word_came(c);
    if (n > 0)
        return;
    stop_reading(c);
    close(take_fd(&c->out_fd));
}

struct client_channel *client_channel_create(struct loop *loop, const struct host *h,
                                             const struct start_channel *from,
                                             const struct client_channel_events *events, void *arg)
{
    struct client_channel *c = calloc(1, sizeof(*c));
    if (!c) {
        close(from->in_fd);
        close(from->out_fd);
        return NULL;
    }
    *c = (struct client_channel){
        .host = h,
        .events = events,
        .arg = arg,
        .in_fd = from->in_fd,
        .out_fd = from->out_fd,
        .awaited = {.word = PREAMBLE_READY},
        .is_terminal = from->is_terminal,
    };
    c->out_io = loop_io_create(loop, c->out_fd, LOOP_READ, readable, c);
    return c;
}

void client_channel_close_input(struct client_channel *c)
{
    if (c && c->in_fd >= 0)
        close(take_fd(&c->in_fd));
}

void client_channel_end_input(struct client_channel *c)
{
    if (c && c->is_ready && !c->is_terminal)
        client_channel_close_input(c);
}

void client_channel_close(struct client_channel *c)
{
    if (!c)
        return;
    stop_reading(c);
    client_channel_close_input(c);
    if (c->out_fd >= 0)
        close(take_fd(&c->out_fd));
}

void client_channel_destroy(struct client_channel *c)
{
    client_channel_close(c);
    free(c);
}

bool client_channel_awaits_ready(const struct client_channel *c)
{
    return c && !c->client_ended && c->in_fd >= 0 && !c->is_ready;
}

int client_channel_tell(struct client_channel *c, const void *p, size_t n, bool may_ask)
{
    if (may_ask)
        c->awaited.word = PREAMBLE_ASK;
    return fd_write_all(c->in_fd, p, n);
}

void client_channel_take(struct client_channel *c, int *ret_in_fd, int *ret_out_fd)
{
    stop_reading(c);
    *ret_in_fd = take_fd(&c->in_fd);
    *ret_out_fd = take_fd(&c->out_fd);
}

void client_channel_client_ended(struct client_channel *c)
{
    if (c)
        c->client_ended = true;
}

void client_channel_drain(struct client_channel *c)
{
    if (c && c->out_io)
        fd_set_nonblock(c->out_fd, 1);
    while (c && c->out_io)
        readable(c, c->out_fd, LOOP_READ);
}
