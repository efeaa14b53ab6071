/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-output.c - the ranks' standard output and error (rank-io.h)
 *
 * A stream is watched while it may be read. When credit or the link's room is used up, a readable
 * stream is put on its kind's list of waiting streams and no longer watched; as soon as there is
 * credit and room again the list is served from its front, one read each, so that all ranks get
 * their turn. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "starter/io/rank-io-private.h"
#include "starter/tunables.h"
#include "wire/flow-control.h"
#include "wire/link/link.h"

static struct kind *kind_of(const struct stream *s)
{
    return &s->rank->io->kinds[s->kind];
}

static struct bulk_header header_of(const struct stream *s)
{
    return (struct bulk_header){s->rank->name, (uint8_t)(s->kind + 1), loop_wallclock_ns()};
}

static void send_end(struct stream *s)
{
    struct link *link = s->rank->io->link;
    if (!link)
        return;
    struct bulk_header h = header_of(s);
    link_bulk_reserve(link, 0);
    link_bulk_commit(link, FRAME_OUTPUT, &h, 0, 1);
}

static void unlink_waiting(struct stream *s)
{
    struct kind *k = kind_of(s);
    struct stream **at = &k->first, *before = NULL;
    while (*at && *at != s) {
        before = *at;
        at = &before->next;
    }
    if (!*at)
        return;
    *at = s->next;
    if (k->last == s)
        k->last = before;
    s->next = NULL;
    s->is_waiting = false;
}

/* May free the rank, and the stream with it. */
void stream_end(struct stream *s)
{
    struct rank_streams *r = s->rank;
    struct rank_io *io = r->io;
    if (s->is_waiting)
        unlink_waiting(s);
    stream_free(s);
    send_end(s);
    if (r->in.is_terminal && s->kind == STDOUT)
        feed_close(r); /* closes our end of the terminal: the rank's processes are hung up */
    io->open_streams--;
    if (io->open_streams == 0)
        loop_defer_schedule(&io->check);
    streams_release(r);
}

static void put_waiting(struct stream *s)
{
    struct kind *k = kind_of(s);
    loop_io_set(s->watch, 0);
    if (s->is_waiting)
        return;
    s->is_waiting = true;
    s->next = NULL;
    if (k->last)
        k->last->next = s;
    else
        k->first = s;
    k->last = s;
}

/* How much may be read now: 0 without credit or room. */
static size_t allowance(const struct stream *s)
{
    struct rank_io *io = s->rank->io;
    uint64_t credit = kind_of(s)->credit;
    if (!io->link || credit <= output_cost(1))
        return 0;
    size_t room = link_bulk_room(io->link);
    credit -= output_cost(1) - 1;
    size_t n = room < credit ? room : (size_t)credit;
    if (n > BULK_DATA_MAX)
        n = BULK_DATA_MAX;
    return s->is_bounded && n > s->left ? s->left : n;
}

/* Moves the pages of a full pipe into the link. Returns the bytes; 0: read() them instead. */
static ssize_t move_stream(struct stream *s, size_t max)
{
    int there = 0;
    if (!s->is_bulk || ioctl(s->fd, FIONREAD, &there) < 0 || there < MOVE_BYTES)
        return 0;
    size_t n = (size_t)there < max ? (size_t)there : max;
    struct bulk_header h = header_of(s);
    return link_bulk_move(s->rank->io->link, FRAME_OUTPUT, &h, s->fd, n) ? (ssize_t)n : 0;
}

static ssize_t copy_stream(struct stream *s, size_t max)
{
    struct link *link = s->rank->io->link;
    uint8_t *to = link_bulk_reserve(link, max);
    ssize_t n = read(s->fd, to, max);
    if (n > 0) {
        struct bulk_header h = header_of(s);
        link_bulk_commit(link, FRAME_OUTPUT, &h, (size_t)n, 0);
    }
    s->is_bulk = n >= MOVE_BYTES;
    return n;
}

/* Returns whether there is anything to read now. poll() makes the kernel flush what processes have
 * written to a terminal. */
static bool is_readable(const struct stream *s)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/* Returns whether a bounded stream has given everything that it may still give. */
static bool is_taken(const struct stream *s)
{
    return s->left == 0 || (s->rank->in.is_terminal && !is_readable(s));
}

/* Reads at most max bytes into the link. May free the stream. */
static void read_stream(struct stream *s, size_t max)
{
    ssize_t n = move_stream(s, max);
    if (n == 0)
        n = copy_stream(s, max);
    if (n > 0) {
        kind_of(s)->credit -= output_cost((size_t)n);
        s->left -= s->is_bounded ? (size_t)n : 0;
    } else if (n < 0 && (errno == EAGAIN || errno == EINTR) && !s->is_bounded) {
        return;
    } else {
        s->is_bounded = true;
        s->left = 0;
    }
    if (s->is_bounded && is_taken(s))
        stream_end(s);
}

static void stream_readable(void *arg, int fd, unsigned events)
{
    struct stream *s = arg;
    size_t max = allowance(s);
    if (max)
        read_stream(s, max);
    else
        put_waiting(s);
}

static void serve_waiting(struct kind *k)
{
    while (k->first) {
        struct stream *s = k->first;
        size_t max = allowance(s);
        if (max == 0)
            return;
        unlink_waiting(s);
        loop_io_set(s->watch, LOOP_READ);
        read_stream(s, max);
    }
}

void output_serve(struct rank_io *io)
{
    for (int k = 0; k < KINDS; k++)
        serve_waiting(&io->kinds[k]);
}

void rank_io_output_credit(struct rank_io *io, unsigned stream, uint64_t bytes)
{
    if (stream < 1 || stream > KINDS)
        return;
    struct kind *k = &io->kinds[stream - 1];
    uint64_t back = bytes < k->overdrawn ? bytes : k->overdrawn;
    k->overdrawn -= back;
    bytes -= back;
    k->credit = k->credit + bytes < bytes ? UINT64_MAX : k->credit + bytes;
    serve_waiting(k);
}

void rank_io_output_closed(struct rank_io *io, unsigned stream)
{
    if (stream < 1 || stream > KINDS)
        return;
    io->kinds[stream - 1].is_closed = true;
    for (size_t i = io->nranks; i-- > 0;) { /* from the end: a rank may be released */
        struct stream *s = &io->ranks[i]->out[stream - 1];
        if (s->fd >= 0)
            stream_end(s);
    }
}

bool rank_io_spend(struct rank_io *io, unsigned stream, size_t n)
{
    if (stream < 1 || stream > KINDS || !io->link || io->kinds[stream - 1].is_closed)
        return false;
    struct kind *k = &io->kinds[stream - 1];
    uint64_t cost = output_cost(n), there = cost < k->credit ? cost : k->credit;
    k->credit -= there;
    k->overdrawn += cost - there;
    return true;
}

/* A terminal does not tell how much it holds: read at most TERMINAL_BYTES from it. */
void stream_bound(struct stream *s)
{
    int n = 0;
    if (s->fd < 0 || s->is_bounded)
        return;
    if (s->rank->in.is_terminal)
        n = is_readable(s) ? TERMINAL_BYTES : 0;
    else if (ioctl(s->fd, FIONREAD, &n) < 0)
        n = 0;
    if (n <= 0) {
        stream_end(s);
        return;
    }
    s->is_bounded = true;
    s->left = (size_t)n;
}

void stream_watch(struct rank_streams *r, int kind)
{
    struct stream *s = &r->out[kind];
    s->watch = loop_io_create(r->io->loop, s->fd, LOOP_READ, stream_readable, s);
}
