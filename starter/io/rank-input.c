/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-input.c - the ranks' standard input (rank-io.h)
 *
 * Input that does not fit into a rank's pipe waits in a buffer that the credit bounds. A pipe of
 * one page is writable exactly when the rank has read everything: that is the event on which input
 * from a slow source goes on. A pipe's write end polls "readable" only when no reader is left, so
 * LOOP_READ on it means: the rank closed its input. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "starter/io/rank-io-private.h"
#include "wire/link/link.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"
#include "wire/tunables.h"

enum { ONE_PAGE = 4096 };

static uint64_t feed_consumed(const struct feed *f)
{
    int unread = 0;
    if (f->fd < 0)
        return f->consumed;
    if (f->is_terminal)
        return f->written;
    if (ioctl(f->fd, FIONREAD, &unread) < 0 || unread < 0)
        unread = 0;
    return f->written - (uint64_t)unread;
}

void feed_send_credit(struct rank_streams *r)
{
    struct feed *f = &r->in;
    Mprun__RankName name;
    Mprun__InputCredit m = MPRUN__INPUT_CREDIT__INIT;
    f->is_credit_due = true;
    if (!r->io->link)
        return;
    rank_name_pack(r->name, &name);
    m.name = &name;
    m.consumed = feed_consumed(f);
    m.limit = f->limit;
    m.closed = f->was_told_closed;
    link_send(r->io->link, FRAME_INPUT_CREDIT, &m.base);
    f->is_credit_due = false;
}

void feed_close(struct rank_streams *r)
{
    struct feed *f = &r->in;
    if (f->fd < 0)
        return;
    f->consumed = feed_consumed(f);
    f->was_told_closed = true;
    feed_free(f);
    feed_send_credit(r);
}

/* All input is in the pipe: close it. What the rank leaves unread must still be known when it ends,
 * so a read end takes the place of the write end. It could not have been there before: with it, the
 * kernel would not tell that the rank closed its input. */
static void end_feed(struct feed *f)
{
    loop_io_destroy(take_ptr(f->watch));
    int counter = fd_reopen(f->fd, O_RDONLY);
    close(f->fd);
    f->fd = counter;
    f->consumed = f->written; /* as far as can be known without a counter */
}

/* Fast source: credit for what went into the pipe, in steps of a quarter of the window. Slow
 * source: credit when the rank has read everything that came. */
void feed_give_credit(struct rank_streams *r)
{
    struct feed *f = &r->in;
    uint64_t limit = f->written + (f->is_slow ? INPUT_WINDOW_SLOW : INPUT_WINDOW);
    uint64_t step = f->is_slow ? 1 : INPUT_WINDOW / 4;
    if (f->ends || limit < f->limit + step)
        return;
    f->limit = limit;
    feed_send_credit(r);
}

/* Writes the backlog; into an empty pipe of one page at most a page. -1: the pipe has no reader. */
static int write_backlog(struct feed *f)
{
    while (buffer_len(&f->backlog)) {
        ssize_t n = buffer_write(&f->backlog, f->fd);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        f->written += (uint64_t)n;
        if (f->is_slow && !f->is_terminal)
            return 0;
    }
    return 0;
}

static void terminal_go_on(struct rank_streams *r)
{
    struct feed *f = &r->in;
    if (write_backlog(f) < 0) {
        feed_close(r);
        return;
    }
    size_t waits = buffer_len(&f->backlog);
    loop_io_set(f->watch, waits ? LOOP_WRITE : 0);
    if (!waits)
        feed_give_credit(r);
}

/* The pipe takes data; with a slow source that means: the rank has read everything in it. */
static void feed_go_on(struct rank_streams *r)
{
    struct feed *f = &r->in;
    int drained = f->is_slow && buffer_len(&f->backlog) == 0;
    if (write_backlog(f) < 0) {
        feed_close(r);
        return;
    }
    size_t waits = buffer_len(&f->backlog);
    if (!f->is_slow || drained)
        feed_give_credit(r);
    if (f->ends && waits == 0) {
        end_feed(f);
        return;
    }
    int more = f->is_slow ? !drained : waits > 0;
    loop_io_set(f->watch, LOOP_READ | (more ? LOOP_WRITE : 0));
}

static void feed_ready(void *arg, int fd, unsigned events)
{
    struct rank_streams *r = arg;
    if (r->in.is_terminal)
        terminal_go_on(r);
    else if (events & LOOP_READ)
        feed_close(r);
    else
        feed_go_on(r);
}

/* The end of a terminal's input is a character; after an open line it takes two. */
static void end_terminal(struct rank_streams *r)
{
    struct feed *f = &r->in;
    static const uint8_t ends[2] = {CEOF, CEOF};
    f->ends = true;
    buffer_append(&f->backlog, ends, f->has_open_line ? 2 : 1);
    terminal_go_on(r);
}

int rank_io_input(struct rank_io *io, struct rank_name name, const uint8_t *data, size_t n,
                  struct error *err)
{
    char text[RANK_NAME_TEXT];
    struct rank_streams *r = streams_find(io, name);
    struct feed *f = r ? &r->in : NULL;
    if (!f || f->fd < 0 || f->ends)
        return 0;
    if (n == 0 && f->is_terminal) {
        end_terminal(r);
        return 0;
    }
    if (n == 0) {
        f->ends = true;
        if (buffer_len(&f->backlog) == 0)
            end_feed(f);
        return 0;
    }
    if (f->received + n > f->limit)
        return error_set(err, EPROTO, "protocol error: more input for rank %s than it has room for",
                         rank_name_format(name, text));
    buffer_append(&f->backlog, data, n);
    f->received += n;
    f->has_open_line = data[n - 1] != '\n';
    if (!(loop_io_events(f->watch) & LOOP_WRITE)) /* else what came before waits for room */
        feed_ready(r, f->fd, LOOP_WRITE);
    return 0;
}

int feed_open(struct rank_streams *r, bool is_slow, int *ret_child)
{
    struct feed *f = &r->in;
    if (streams_pipe(1, &f->fd, ret_child) < 0)
        return -1;
    f->is_slow = is_slow;
    if (is_slow && fcntl(f->fd, F_SETPIPE_SZ, ONE_PAGE) < 0)
        return -1;
    f->watch = loop_io_create(r->io->loop, f->fd, LOOP_READ, feed_ready, r);
    return 0;
}

void feed_open_terminal(struct rank_streams *r, bool is_slow, int fd)
{
    struct feed *f = &r->in;
    f->fd = fd;
    f->is_terminal = true;
    f->is_slow = is_slow;
    f->watch = loop_io_create(r->io->loop, fd, 0, feed_ready, r);
}
