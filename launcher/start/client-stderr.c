/* SPDX-License-Identifier: BSD-3-Clause */
/* client-stderr.c - lines of a start client are held, and shown */
#include "launcher/start/client-stderr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "common/log.h"
#include "launcher/policy.h"
#include "launcher/hosts/host-table.h"
#include "launcher/start/start-client-words.h"

struct client_stderr {
    const struct step_plan *plan;
    const struct host *host;
    int fd;
    struct loop_io *io;
    char line[CLIENT_LINE_MAX + 1]; /* what has no end yet */
    size_t n;
    char *held; /* lines, each ended by a newline; NULL: none */
    size_t nheld;
    unsigned lines, shown;
    bool at_once; /* nothing is held any more */
};

/* Nobody needs what a client says of its connection while it ends well. */
static void show(struct client_stderr *c, const char *line)
{
    if (c->host->state >= AGENT_CLEANED && !c->host->failed)
        log_debug("host %s: %s", c->host->name, line);
    else if (c->shown++ < CLIENT_SHOWN_MAX)
        log_note("host %s: %s", c->host->name, line);
    else if (c->shown == CLIENT_SHOWN_MAX + 1)
        log_note("host %s: what its start client says further is not shown", c->host->name);
}

static void drop_oldest(struct client_stderr *c)
{
    const char *end = memchr(c->held, '\n', c->nheld);
    size_t n = (size_t)(end - c->held) + 1;
    memmove(c->held, c->held + n, c->nheld - n);
    c->nheld -= n;
    c->lines--;
}

/* Behind much noise of a login comes the reason: the last words are kept. */
static void hold(struct client_stderr *c, const char *line)
{
    size_t n = strlen(line);
    if (!c->held)
        c->held = malloc(CLIENT_HELD_MAX);
    if (!c->held)
        return;
    while (c->nheld + n + 2 > CLIENT_HELD_MAX)
        drop_oldest(c);
    memcpy(c->held + c->nheld, line, n);
    c->held[c->nheld + n] = '\n';
    c->nheld += n + 1;
    c->lines++;
}

static void end_line(struct client_stderr *c)
{
    while (c->n && strchr(" \t\r", c->line[c->n - 1]))
        c->n--;
    c->line[c->n] = 0;
    if (c->n && start_client_is_noise(c->plan, c->line))
        log_debug("host %s: %s", c->host->name, c->line);
    else if (c->n && c->at_once)
        show(c, c->line);
    else if (c->n)
        hold(c, c->line);
    c->n = 0;
}

static void take(struct client_stderr *c, const char *p, size_t n)
{
    for (; n; p++, n--) {
        if (*p == '\n' || c->n == CLIENT_LINE_MAX)
            end_line(c);
        if (*p != '\n') /* nothing that a terminal would act on */
            c->line[c->n++] =
                (char)(((unsigned char)*p < ' ' && *p != '\t' && *p != '\r') || *p == 0x7f ? '?'
                                                                                           : *p);
    }
}

static void readable(void *arg, int fd, unsigned events)
{
    struct client_stderr *c = arg;
    char buf[2048];
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n > 0) {
        take(c, buf, (size_t)n);
        return;
    }
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    loop_io_destroy(c->io);
    c->io = NULL;
    end_line(c);
}

/* Reads what is still in the pipe, without waiting for others that may hold it open. */
static void drain(struct client_stderr *c)
{
    char buf[2048];
    ssize_t n;
    for (int i = 0; c->io && i < CLIENT_DRAIN_READS && (n = read(c->fd, buf, sizeof(buf))) > 0; i++)
        take(c, buf, (size_t)n);
    end_line(c);
}

struct client_stderr *client_stderr_create(struct loop *loop, const struct step_plan *plan,
                                           const struct host *h, int fd)
{
    struct client_stderr *c = calloc(1, sizeof(*c));
    if (c) {
        c->plan = plan;
        c->host = h;
        c->fd = fd;
    }
    if (c && fd >= 0) {
        fd_set_nonblock(fd, 1);
        c->io = loop_io_create(loop, fd, LOOP_READ, readable, c);
    }
    if (c && (fd < 0 || c->io))
        return c;
    free(c);
    cleanup_close(&fd);
    return NULL;
}

void client_stderr_destroy(struct client_stderr *c)
{
    if (!c)
        return;
    loop_io_destroy(c->io);
    cleanup_close(&c->fd);
    free(c->held);
    free(c);
}

void client_stderr_add(struct client_stderr *c, const void *p, size_t n)
{
    if (c)
        take(c, p, n);
}

/* Show all that is held, but the last `keep` lines. */
static void show_held(struct client_stderr *c, unsigned keep)
{
    size_t at = 0;
    for (; c->lines > keep; c->lines--) {
        char *end = memchr(c->held + at, '\n', c->nheld - at);
        *end = 0;
        show(c, c->held + at);
        at = (size_t)(end - c->held) + 1;
    }
    if (at)
        memmove(c->held, c->held + at, c->nheld - at);
    c->nheld -= at;
}

void client_stderr_show(struct client_stderr *c)
{
    if (c)
        show_held(c, 0);
}

void client_stderr_show_at_once(struct client_stderr *c)
{
    if (!c)
        return;
    show_held(c, 0);
    free(take_ptr(c->held));
    c->at_once = true;
}

void client_stderr_finish(struct client_stderr *c)
{
    if (!c)
        return;
    drain(c);
    show_held(c, 0);
}

void client_stderr_take_reason(struct client_stderr *c, char *buf, size_t n)
{
    buf[0] = 0;
    if (!c)
        return;
    c->at_once = false;
    drain(c);
    if (c->lines > CLIENT_JOINED_LINES)
        show_held(c, 1);
    for (size_t at = 0, to = 0; at < c->nheld && to < n; at++) {
        bool last = at + 1 == c->nheld;
        if (c->held[at] != '\n')
            to += (size_t)snprintf(buf + to, n - to, "%c", c->held[at]);
        else if (!last)
            to += (size_t)snprintf(buf + to, n - to, "; ");
    }
    c->nheld = c->lines = 0;
}

const char *client_stderr_held(struct client_stderr *c)
{
    if (!c)
        return "";
    drain(c);
    if (!c->held)
        return "";
    c->held[c->nheld] = 0;
    return c->held;
}
