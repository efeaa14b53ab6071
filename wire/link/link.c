/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/link/link-private.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/files/fdio.h"
#include "common/must.h"

static void io_ready(void *arg, int fd, unsigned events);

static void link_free(struct link *l)
{
    loop_timer_stop(&l->limit);
    loop_defer_stop(&l->die);
    buffer_free(&l->in);
    buffer_free(&l->shake_out);
    buffer_free(&l->urgent);
    buffer_free(&l->bulk);
    for (size_t i = 0; i < sizeof(l->messages) / sizeof(l->messages[0]); i++)
        buffer_free(&l->messages[i].data);
    buffer_free(&l->wire);
    buffer_free(&l->noise);
    link_cipher_free(l->cipher);
    link_retransmit_destroy(l);
    handshake_wipe(&l->shake);
    free(l);
}

void link_close_descriptors(struct link *l)
{
    loop_io_destroy(l->in_io);
    if (l->out_io != l->in_io)
        loop_io_destroy(l->out_io);
    l->in_io = l->out_io = NULL;
    if (l->in_fd >= 0)
        close(l->in_fd);
    if (l->out_fd >= 0 && l->out_fd != l->in_fd)
        close(l->out_fd);
    l->in_fd = l->out_fd = -1;
}

void link_destroy(struct link *l)
{
    if (!l || l->destroyed)
        return;
    if (l->state == OPEN && l->session)
        link_retransmit_bye(l);
    l->destroyed = 1;
    l->state = DEAD;
    link_retransmit_stop(l);
    link_close_descriptors(l);
    if (l->depth == 0)
        link_free(l);
}

void link_enter(struct link *l)
{
    l->depth++;
}

int link_leave(struct link *l)
{
    if (--l->depth == 0 && l->destroyed) {
        link_free(l);
        return 1;
    }
    return l->destroyed;
}

void link_dies(struct link *l, const struct error *why)
{
    if (l->state == DEAD)
        return;
    if (l->state == SKIP_NOISE) { /* nothing but noise has come */
        buffer_append(&l->noise, buffer_ptr(&l->in), buffer_len(&l->in));
        link_handshake_end_noise(l);
    }
    l->state = DEAD;
    l->death = *why;
    link_retransmit_stop(l);
    link_close_descriptors(l);
    loop_timer_stop(&l->limit);
    loop_defer_schedule(&l->die);
}

int link_fails(struct link *l, int code, const char *fmt, ...)
{
    struct error why = {.code = code};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why.text, sizeof(why.text), fmt, ap);
    va_end(ap);
    link_dies(l, &why);
    return 1;
}

static void report_end(void *arg)
{
    struct link *l = arg;
    link_enter(l);
    if (l->state == DEAD)
        l->events->closed(l->arg, l, &l->death);
    else if (l->state == LOST)
        link_lost(l);
    link_leave(l);
}

static void limit_reached(void *arg)
{
    struct link *l = arg;
    struct error e;
    if (l->deaf)
        error_set(&e, EPIPE, "the other end takes nothing any more");
    else
        error_set(&e, ETIMEDOUT, "no proof of the step's key within %.0f s",
                  link_handshake_seconds(l));
    link_interrupted(l, &e);
}

void link_make_watches(struct link *l)
{
    unsigned events = l->in_fd == l->out_fd ? LOOP_READ | LOOP_WRITE : LOOP_READ;
    l->out_io = l->in_io = loop_io_create(l->loop, l->in_fd, events, io_ready, l);
    if (l->in_fd != l->out_fd)
        l->out_io = loop_io_create(l->loop, l->out_fd, LOOP_WRITE, io_ready, l);
}

struct link *link_create(struct loop *loop, int in_fd, int out_fd, const struct link_options *o,
                         const char *name, const struct link_events *events, void *arg,
                         struct error *err)
{
    struct link *l = must(calloc(1, sizeof(*l)));
    l->loop = loop;
    l->in_fd = in_fd;
    l->out_fd = out_fd;
    l->events = events;
    l->arg = arg;
    l->options = *o;
    l->read_size = LINK_READ_MIN;
    l->host = o->host_id;
    snprintf(l->name, sizeof(l->name), "%s", name);
    loop_defer_init(&l->die, loop, report_end, l);
    loop_timer_init(&l->limit, loop, limit_reached, l);
    if (fd_set_nonblock(in_fd, 1) < 0 || fd_set_nonblock(out_fd, 1) < 0) {
        error_errno(err, errno, "open a link to %s", name);
        link_destroy(l);
        return NULL;
    }
    link_make_watches(l);
    link_retransmit_create(l, o);
    l->options.key = NULL; /* the caller's */
    if (o->role == LINK_TRUSTED)
        l->state = OPEN;
    else
        link_handshake_begin(l, o->key);
    return l;
}

void link_set_events(struct link *l, const struct link_events *events, void *arg)
{
    l->events = events;
    l->arg = arg;
}

uint32_t link_frame_host(const struct link *l)
{
    return l->frame_host;
}

const char *link_name(const struct link *l)
{
    return l->name;
}

bool link_is_open(const struct link *l)
{
    return l->state == OPEN || (l->session && l->session->begun && l->state != DEAD);
}

int link_heard(const struct link *l, uint32_t *ret_times)
{
    if (l->state != OPEN)
        return 0;
    *ret_times = l->heard;
    return 1;
}

void link_want_write(struct link *l)
{
    if (l->out_io)
        loop_io_set(l->out_io, loop_io_events(l->out_io) | LOOP_WRITE);
}

/* A link whose data comes in small pieces needs little memory; if links are many, nearly all do. */
static void adapt_read_size(struct link *l, size_t n)
{
    if (n >= l->read_size && l->read_size < LINK_READ_MAX)
        l->read_size *= 2;
    if (n > l->read_size / 4 || l->read_size == LINK_READ_MIN || buffer_len(&l->in))
        return;
    l->read_size /= 2;
    buffer_free(&l->in);
}

static void on_readable(struct link *l)
{
    /* an unproved peer gets a small buffer */
    size_t max = l->state == OPEN ? l->read_size : LINK_READ_MIN;
    struct error e;
    if (l->move_left > 0) {
        l->heard++;
        link_splice_go_on(l);
        return;
    }
    ssize_t n = buffer_read(&l->in, l->in_fd, l->move_next ? link_splice_boundary(l) : max);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0 && errno != ECONNRESET) {
        error_errno(&e, errno, "read from %s", l->name);
        link_interrupted(l, &e);
        return;
    }
    l->heard++;
    if (n > 0 && link_splice_begin(l)) {
        link_splice_go_on(l);
        return;
    }
    if (n > 0) {
        link_read_input(l);
        adapt_read_size(l, (size_t)n);
        return;
    }
    if (l->state == OPEN && (buffer_len(&l->in) || link_read_has_part(l)))
        error_set(&e, ECONNRESET, "closed in the middle of a message");
    else
        error_set(&e, 0, n < 0 && l->session ? "reset" : "closed");
    link_interrupted(l, &e);
}

void link_read_rest(struct link *l)
{
    link_enter(l);
    while (l->state == OPEN) {
        struct pollfd p = {.fd = l->in_fd, .events = POLLIN};
        if (poll(&p, 1, 0) <= 0)
            break;
        on_readable(l);
    }
    link_leave(l);
}

static void io_ready(void *arg, int fd, unsigned events)
{
    struct link *l = arg;
    link_enter(l);
    if (events & LOOP_WRITE && l->out_io)
        link_write_ready(l);
    if (events & LOOP_READ && l->in_io)
        on_readable(l);
    link_leave(l);
}
