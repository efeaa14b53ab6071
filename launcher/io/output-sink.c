/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/io/output-sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/files/fdio.h"

enum {
    SAFE_WRITE = 4096, /* PIPE_BUF: what a writable pipe takes whole */
    PIPE_WANTED = 256 * 1024,
};

static void forget(struct output_sink *s)
{
    s->dead = true;
    if (s->watch)
        loop_io_set(s->watch, 0);
    s->written = sink_end(s);
    buffer_free(&s->queue);
    s->events.advanced(s->arg);
}

static void sink_fail(struct output_sink *s, int code)
{
    forget(s);
    s->events.failed(s->arg, code);
}

/* ---- writing --------------------------------------------------------------------------------- */

static ssize_t write_carefully(int fd, const uint8_t *p, size_t n)
{
    struct pollfd w = {.fd = fd, .events = POLLOUT};
    int ready = poll(&w, 1, 0);
    if (ready == 0)
        return error_number(EAGAIN);
    return ready < 0 ? -1 : write(fd, p, n < SAFE_WRITE ? n : SAFE_WRITE);
}

static ssize_t write_once(struct output_sink *s, const uint8_t *p, size_t n)
{
    ssize_t done;
    do {
        if (s->way == WAY_SOCKET)
            done = send(s->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        else if (s->way == WAY_CAREFULLY)
            done = write_carefully(s->fd, p, n);
        else
            done = write(s->fd, p, n);
    } while (done < 0 && errno == EINTR);
    return done;
}

/* A pipe that was filled is made larger, once: fewer turns between us and its reader. */
static int grow_pipe(struct output_sink *s)
{
    if (s->grown)
        return 0;
    s->grown = true;
    int size = fcntl(s->fd, F_GETPIPE_SZ);
    return size > 0 && size < PIPE_WANTED && fcntl(s->fd, F_SETPIPE_SZ, PIPE_WANTED) >= 0;
}

/* Write what the descriptor takes now: how much that was. The sink may be dead after it. */
static size_t write_now(struct output_sink *s, const uint8_t *p, size_t n)
{
    size_t done = 0;
    while (done < n && !s->dead) {
        ssize_t w = write_once(s, p + done, n - done);
        if (w < 0 && errno == EAGAIN && s->watch)
            break;
        if (w < 0) {
            sink_fail(s, errno);
            break;
        }
        done += (size_t)w;
        if (s->way == WAY_OWN && done < n && !grow_pipe(s))
            break; /* a short write: it is full */
    }
    return done;
}

static void want_write(struct output_sink *s)
{
    if (s->watch && !s->dead)
        loop_io_set(s->watch, sink_is_empty(s) ? 0 : LOOP_WRITE);
}

void sink_put(struct output_sink *s, const uint8_t *p, size_t n)
{
    if (s->dead || n == 0)
        return;
    size_t done = sink_is_empty(s) ? write_now(s, p, n) : 0;
    if (s->dead)
        return;
    s->at_line_start = p[n - 1] == '\n';
    s->written += done;
    buffer_append(&s->queue, p + done, n - done);
    want_write(s);
}

struct buffer *sink_queue(struct output_sink *s)
{
    if (s->dead)
        return NULL;
    s->at_line_start = true;
    return &s->queue;
}

void sink_flush(struct output_sink *s)
{
    size_t done = write_now(s, buffer_ptr(&s->queue), buffer_len(&s->queue));
    if (s->dead)
        return;
    buffer_consume(&s->queue, done);
    s->written += done;
    s->events.advanced(s->arg);
    want_write(s);
}

static void sink_writable(void *arg, int fd, unsigned events)
{
    struct output_sink *s = arg;
    sink_flush(s);
    if (sink_is_empty(s))
        s->events.emptied(s->arg); /* may destroy s */
}

/* Nothing comes from fd: has nothing come yet (0), or is it the sink that is full (-1)? */
static ssize_t why_not_moved(struct output_sink *s, int fd, int code)
{
    struct pollfd from = {.fd = fd, .events = POLLIN};
    if (code == EINTR)
        return 0;
    if (code != EAGAIN)
        return -1;
    if (poll(&from, 1, 0) == 0)
        return 0;
    return grow_pipe(s) ? 0 : -1;
}

ssize_t sink_move(struct output_sink *s, int from, size_t n)
{
    if (!s->is_pipe || s->dead || !sink_is_empty(s))
        return -1;
    ssize_t moved = splice(from, NULL, s->fd, NULL, n, SPLICE_F_NONBLOCK);
    if (moved <= 0)
        return moved < 0 ? why_not_moved(s, from, errno) : -1;
    s->written += (uint64_t)moved;
    s->at_line_start = true; /* not known: taken as the end of a line */
    return moved;
}

uint64_t sink_drop(struct output_sink *s)
{
    uint64_t dropped = buffer_len(&s->queue);
    if (dropped)
        forget(s);
    return dropped;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void find_way(struct output_sink *s, int fd, mode_t mode)
{
    s->fd = fd;
    s->way = WAY_DIRECT;
    if (S_ISSOCK(mode)) {
        s->way = WAY_SOCKET;
    } else if (S_ISFIFO(mode) || (S_ISCHR(mode) && isatty(fd))) {
        s->own = fd_reopen(fd, O_WRONLY); /* so that O_NONBLOCK is ours too */
        s->way = s->own >= 0 ? WAY_OWN : WAY_CAREFULLY;
        s->fd = s->own >= 0 ? s->own : fd;
        s->is_pipe = s->own >= 0 && S_ISFIFO(mode);
    }
}

void sink_open(struct output_sink *s, struct loop *loop, int fd, mode_t mode,
               const struct sink_events *events, void *arg)
{
    *s = (struct output_sink){.events = *events, .arg = arg, .own = -1, .at_line_start = true};
    find_way(s, fd, mode);
    if (s->way != WAY_DIRECT)
        s->watch = loop_io_create(loop, s->fd, 0, sink_writable, s);
}

void sink_close(struct output_sink *s)
{
    loop_io_destroy(s->watch);
    if (s->own > 0)
        close(s->own);
    buffer_free(&s->queue);
}

bool sink_is_empty(const struct output_sink *s)
{
    return buffer_len(&s->queue) == 0;
}

uint64_t sink_end(const struct output_sink *s)
{
    return s->written + buffer_len(&s->queue);
}
