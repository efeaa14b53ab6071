/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-io.c - see rank-io.h
 *
 * Output: a stream is watched while it may be read. When credit or the link's room is used up, a
 * readable stream is put on its kind's list of waiting streams and no longer watched; as soon as
 * there is credit and room again the list is served from its front, one read each, so that all
 * ranks get their turn.
 *
 * Input: what does not fit into a rank's pipe waits in a buffer that the credit bounds. A pipe of
 * one page is writable exactly when the rank has read everything: that is the event on which input
 * from a slow source goes on. A pipe's write end polls "readable" only when no reader is left, so
 * LOOP_READ on it means: the rank closed its input. */
#include "starter/rank-io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fdio.h"
#include "common/loop.h"
#include "wire/link.h"
#include "wire/mprun.pb-c.h"

enum { STDOUT, STDERR, KINDS, ONE_PAGE = 4096, BULK = 32 * 1024 };

struct rank;

struct stream { /* stdout or stderr of a rank */
    struct rank *rank;
    int kind;
    int fd; /* read end; -1: ended */
    struct loop_io *watch;
    struct stream *next; /* in the list of waiting streams */
    int waiting;
    int bounded; /* after rank_io_abandon(): `left` bytes are still taken */
    size_t left;
    int bulk; /* the last read gave much: the next is worth moving instead of copying */
};

struct kind {
    uint64_t credit;
    int closed;                  /* nobody reads it any more */
    struct stream *first, *last; /* readable, but without credit or room */
};

struct feed { /* stdin of a rank */
    int fd;   /* write end; once `ended`, a read end that only counts what is left; -1: none */
    int slow;
    int ending; /* INPUT_END came: the pipe is to be closed when the backlog is written */
    int ended;  /* it was closed */
    struct loop_io *watch;
    struct buffer backlog;
    uint64_t received, written; /* bytes from the launcher, bytes into the pipe */
    uint64_t limit;             /* last one told */
    int credit_due;             /* to be told as soon as there is a link */
    int closed;                 /* told as such */
    uint64_t consumed;          /* final, once closed */
};

struct rank {
    struct rank_io *io;
    struct rank_name name;
    int ended;
    struct stream out[KINDS];
    struct feed in;
};

struct rank_io {
    struct loop *loop;
    struct link *link;
    struct rank **ranks;
    size_t nranks, cap;
    size_t open_streams;
    struct kind kinds[KINDS];
    struct loop_defer *check; /* is it idle now? */
    int told_idle;
    void (*drained)(void *arg);
    void *arg;
};

static void check_idle(void *arg);

struct rank_io *rank_io_create(struct loop *loop, uint32_t window, void (*drained)(void *arg),
                               void *arg, struct error *err)
{
    struct rank_io *io = calloc(1, sizeof(*io));
    if (io)
        io->check = loop_defer_create(loop, check_idle, io);
    if (!io || !io->check) {
        free(io);
        error_errno(err, ENOMEM, "prepare the ranks' input and output");
        return NULL;
    }
    io->loop = loop;
    io->drained = drained;
    io->arg = arg;
    io->told_idle = 1;
    for (int k = 0; k < KINDS; k++)
        io->kinds[k].credit = window;
    return io;
}

/* ---- idleness and the end of a rank ---------------------------------------------------------- */

int rank_io_idle(const struct rank_io *io)
{
    return io->open_streams == 0 && (!io->link || link_bulk_pending(io->link) == 0);
}

static void check_idle(void *arg)
{
    struct rank_io *io = arg;
    if (!rank_io_idle(io) || io->told_idle)
        return;
    io->told_idle = 1;
    io->drained(io->arg); /* may destroy io */
}

static void feed_free(struct feed *f)
{
    loop_io_destroy(f->watch);
    f->watch = NULL;
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    buffer_free(&f->backlog);
}

static void stream_free(struct stream *s)
{
    loop_io_destroy(s->watch);
    s->watch = NULL;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static void rank_free(struct rank *r)
{
    for (int k = 0; k < KINDS; k++)
        stream_free(&r->out[k]);
    feed_free(&r->in);
    free(r);
}

void rank_io_destroy(struct rank_io *io)
{
    if (!io)
        return;
    int saved = errno;
    for (size_t i = 0; i < io->nranks; i++)
        rank_free(io->ranks[i]);
    free(io->ranks);
    loop_defer_destroy(io->check);
    free(io);
    errno = saved;
}

static struct rank *find_rank(const struct rank_io *io, struct rank_name name)
{
    for (size_t i = 0; i < io->nranks; i++)
        if (rank_name_equal(io->ranks[i]->name, name))
            return io->ranks[i];
    return NULL;
}

/* Forget a rank of which nothing can come any more. It must not be used after this. */
static void release_rank(struct rank *r)
{
    struct rank_io *io = r->io;
    if (!r->ended || r->out[STDOUT].fd >= 0 || r->out[STDERR].fd >= 0 || r->in.credit_due)
        return;
    for (size_t i = 0; i < io->nranks; i++)
        if (io->ranks[i] == r) {
            io->ranks[i] = io->ranks[--io->nranks];
            break;
        }
    rank_free(r);
}

/* ---- output ---------------------------------------------------------------------------------- */

static struct kind *kind_of(const struct stream *s)
{
    return &s->rank->io->kinds[s->kind];
}

static void send_end(struct stream *s)
{
    struct link *link = s->rank->io->link;
    if (!link)
        return;
    struct bulk_header h = {s->rank->name, (uint8_t)(s->kind + 1), loop_wallclock_ns()};
    if (link_bulk_reserve(link, 0))
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
    s->waiting = 0;
}

/* The stream, and perhaps its rank, is gone after this. */
static void end_stream(struct stream *s)
{
    struct rank *r = s->rank;
    struct rank_io *io = r->io;
    if (s->waiting)
        unlink_waiting(s);
    stream_free(s);
    send_end(s);
    io->open_streams--;
    if (io->open_streams == 0)
        loop_defer_schedule(io->check);
    release_rank(r);
}

static void put_waiting(struct stream *s)
{
    struct kind *k = kind_of(s);
    loop_io_set(s->watch, 0);
    if (s->waiting)
        return;
    s->waiting = 1;
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
    return s->bounded && n > s->left ? s->left : n;
}

static struct bulk_header header_of(const struct stream *s)
{
    return (struct bulk_header){s->rank->name, (uint8_t)(s->kind + 1), loop_wallclock_ns()};
}

/* Of a stream that gives much, hand the pipe's pages to the link. Bytes, or 0: read them instead.
 */
static ssize_t move_stream(struct stream *s, size_t max)
{
    int there = 0;
    if (!s->bulk || ioctl(s->fd, FIONREAD, &there) < 0 || there < BULK)
        return 0;
    size_t n = (size_t)there < max ? (size_t)there : max;
    struct bulk_header h = header_of(s);
    return link_bulk_move(s->rank->io->link, FRAME_OUTPUT, &h, s->fd, n) ? (ssize_t)n : 0;
}

static ssize_t copy_stream(struct stream *s, size_t max)
{
    struct link *link = s->rank->io->link;
    uint8_t *to = link_bulk_reserve(link, max);
    if (!to) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t n = read(s->fd, to, max);
    if (n > 0) {
        struct bulk_header h = header_of(s);
        link_bulk_commit(link, FRAME_OUTPUT, &h, (size_t)n, 0);
    }
    s->bulk = n >= BULK;
    return n;
}

/* Up to max bytes into the link; the stream may be gone after it. */
static void read_stream(struct stream *s, size_t max)
{
    ssize_t n = move_stream(s, max);
    if (n == 0)
        n = copy_stream(s, max);
    if (n > 0) {
        kind_of(s)->credit -= output_cost((size_t)n);
        s->left -= s->bounded ? (size_t)n : 0;
    } else if (n < 0 && (errno == EAGAIN || errno == EINTR) && !s->bounded) {
        return;
    } else {
        s->bounded = 1;
        s->left = 0;
    }
    if (s->bounded && s->left == 0)
        end_stream(s);
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

static void serve_waiting(struct rank_io *io, struct kind *k)
{
    while (k->first) {
        struct stream *s = k->first;
        size_t max = allowance(s);
        if (max == 0)
            return;
        k->first = s->next;
        if (!k->first)
            k->last = NULL;
        s->next = NULL;
        s->waiting = 0;
        loop_io_set(s->watch, LOOP_READ);
        read_stream(s, max);
    }
}

void rank_io_writable(struct rank_io *io)
{
    if (!io->link)
        return;
    for (int k = 0; k < KINDS; k++)
        serve_waiting(io, &io->kinds[k]);
    loop_defer_schedule(io->check);
}

void rank_io_output_credit(struct rank_io *io, unsigned stream, uint64_t bytes)
{
    if (stream < 1 || stream > KINDS)
        return;
    struct kind *k = &io->kinds[stream - 1];
    k->credit = k->credit + bytes < bytes ? UINT64_MAX : k->credit + bytes;
    serve_waiting(io, k);
}

void rank_io_output_closed(struct rank_io *io, unsigned stream)
{
    if (stream < 1 || stream > KINDS)
        return;
    io->kinds[stream - 1].closed = 1;
    for (size_t i = io->nranks; i-- > 0;) { /* from the end: a rank may be released */
        struct stream *s = &io->ranks[i]->out[stream - 1];
        if (s->fd >= 0)
            end_stream(s);
    }
}

static void bound_stream(struct stream *s)
{
    int n = 0;
    if (s->fd < 0 || s->bounded)
        return;
    if (ioctl(s->fd, FIONREAD, &n) < 0 || n <= 0) {
        end_stream(s);
        return;
    }
    s->bounded = 1;
    s->left = (size_t)n;
}

void rank_io_abandon(struct rank_io *io)
{
    for (size_t i = io->nranks; i-- > 0;) {
        struct rank *r = io->ranks[i];
        int both = r->out[STDERR].fd >= 0; /* the rank stays while stderr is open */
        bound_stream(&r->out[STDOUT]);
        if (both)
            bound_stream(&r->out[STDERR]);
    }
}

/* ---- input ----------------------------------------------------------------------------------- */

static uint64_t feed_consumed(const struct feed *f)
{
    int unread = 0;
    if (f->fd < 0)
        return f->consumed;
    if (ioctl(f->fd, FIONREAD, &unread) < 0 || unread < 0)
        unread = 0;
    return f->written - (uint64_t)unread;
}

static void send_credit(struct rank *r)
{
    struct feed *f = &r->in;
    Mprun__RankName name = MPRUN__RANK_NAME__INIT;
    Mprun__InputCredit m = MPRUN__INPUT_CREDIT__INIT;
    f->credit_due = 1;
    if (!r->io->link)
        return;
    name.world = r->name.world;
    name.rank = r->name.rank;
    name.incarnation = r->name.incarnation;
    m.name = &name;
    m.consumed = feed_consumed(f);
    m.limit = f->limit;
    m.closed = f->closed;
    link_send(r->io->link, FRAME_INPUT_CREDIT, &m.base);
    f->credit_due = 0;
}

/* The rank takes no more input: account for it, once. */
static void close_feed(struct rank *r)
{
    struct feed *f = &r->in;
    if (f->fd < 0)
        return;
    f->consumed = feed_consumed(f);
    f->closed = 1;
    feed_free(f);
    send_credit(r);
}

/* All input is in the pipe: close it. What the rank leaves unread must still be known when it ends,
 * so a read end takes the place of the write end. It could not have been there before: with it, the
 * kernel would not tell that the rank closed its input. */
static void end_feed(struct feed *f)
{
    char path[40];
    loop_io_destroy(f->watch);
    f->watch = NULL;
    f->ended = 1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
    int counter = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    close(f->fd);
    f->fd = counter;
    f->consumed = f->written; /* as far as can be known without a counter */
}

/* Fast source: for what went into the pipe, in steps of a quarter of the window. Slow source: when
 * the rank has read everything that came. */
static void give_credit(struct rank *r)
{
    struct feed *f = &r->in;
    uint64_t limit = f->written + (f->slow ? INPUT_WINDOW_SLOW : INPUT_WINDOW);
    uint64_t step = f->slow ? 1 : INPUT_WINDOW / 4;
    if (f->ending || limit < f->limit + step)
        return;
    f->limit = limit;
    send_credit(r);
}

/* Write what waits, into an empty pipe of one page at most a page. -1: nobody reads it. */
static int write_backlog(struct feed *f)
{
    while (buffer_len(&f->backlog)) {
        ssize_t n = buffer_write(&f->backlog, f->fd);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        f->written += (uint64_t)n;
        if (f->slow)
            return 0;
    }
    return 0;
}

/* The pipe takes data; with a slow source that means: the rank has read everything in it. */
static void feed_go_on(struct rank *r)
{
    struct feed *f = &r->in;
    int drained = f->slow && buffer_len(&f->backlog) == 0;
    if (write_backlog(f) < 0) {
        close_feed(r);
        return;
    }
    size_t waits = buffer_len(&f->backlog);
    if (!f->slow || drained)
        give_credit(r);
    if (f->ending && waits == 0) {
        end_feed(f);
        return;
    }
    int more = f->slow ? !drained : waits > 0;
    loop_io_set(f->watch, LOOP_READ | (more ? LOOP_WRITE : 0));
}

static void feed_ready(void *arg, int fd, unsigned events)
{
    struct rank *r = arg;
    if (events & LOOP_READ)
        close_feed(r);
    else
        feed_go_on(r);
}

int rank_io_input(struct rank_io *io, struct rank_name name, const uint8_t *data, size_t n,
                  struct error *err)
{
    char text[RANK_NAME_TEXT];
    struct rank *r = find_rank(io, name);
    struct feed *f = r ? &r->in : NULL;
    if (!f || f->fd < 0 || f->ending)
        return 0;
    if (n == 0) {
        f->ending = 1;
        if (buffer_len(&f->backlog) == 0)
            end_feed(f);
        return 0;
    }
    if (f->received + n > f->limit)
        return error_set(err, EPROTO, "protocol error: more input for rank %s than it has room for",
                         rank_name_format(name, text));
    if (buffer_append(&f->backlog, data, n) < 0)
        return error_errno(err, ENOMEM, "keep input for rank %s", rank_name_format(name, text));
    f->received += n;
    if (!(loop_io_events(f->watch) & LOOP_WRITE)) /* else what came before waits for room */
        feed_go_on(r);
    return 0;
}

void rank_io_rank_ended(struct rank_io *io, struct rank_name name)
{
    struct rank *r = find_rank(io, name);
    if (!r)
        return;
    r->ended = 1;
    close_feed(r);
    release_rank(r);
}

void rank_io_set_link(struct rank_io *io, struct link *link)
{
    io->link = link;
    if (!link)
        return;
    for (size_t i = io->nranks; i-- > 0;) {
        struct rank *r = io->ranks[i];
        if (r->in.credit_due)
            send_credit(r);
        release_rank(r);
    }
    rank_io_writable(io);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int add_rank(struct rank_io *io, struct rank *r)
{
    if (io->nranks == io->cap) {
        size_t cap = io->cap ? io->cap * 2 : 16;
        struct rank **grown = realloc(io->ranks, cap * sizeof(*grown));
        if (!grown)
            return -1;
        io->ranks = grown;
        io->cap = cap;
    }
    io->ranks[io->nranks++] = r;
    return 0;
}

/* ours: 0 to keep the read end, 1 to keep the write end. The other one goes to *ret_child. */
static int make_pipe(int ours, int *ret_ours, int *ret_child)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    *ret_ours = ends[ours];
    *ret_child = ends[!ours];
    return fd_set_nonblock(ends[ours], 1);
}

static int open_stream(struct rank *r, int kind, int *ret_child)
{
    struct stream *s = &r->out[kind];
    s->rank = r;
    s->kind = kind;
    if (make_pipe(0, &s->fd, ret_child) < 0)
        return -1;
    s->watch = loop_io_create(r->io->loop, s->fd, LOOP_READ, stream_readable, s);
    return s->watch ? 0 : -1;
}

static int open_feed(struct rank *r, int slow, int *ret_child)
{
    struct feed *f = &r->in;
    if (make_pipe(1, &f->fd, ret_child) < 0)
        return -1;
    f->slow = slow;
    if (slow && fcntl(f->fd, F_SETPIPE_SZ, ONE_PAGE) < 0)
        return -1;
    f->watch = loop_io_create(r->io->loop, f->fd, LOOP_READ, feed_ready, r);
    return f->watch ? 0 : -1;
}

static int open_pipes(struct rank *r, int wants_stdin, int stdin_slow, int child_fds[3])
{
    if (wants_stdin && open_feed(r, stdin_slow, &child_fds[0]) < 0)
        return -1;
    if (open_stream(r, STDOUT, &child_fds[1]) < 0 || open_stream(r, STDERR, &child_fds[2]) < 0)
        return -1;
    return add_rank(r->io, r);
}

static void start_streams(struct rank *r)
{
    struct rank_io *io = r->io;
    io->told_idle = 0;
    io->open_streams += KINDS;
    for (int k = 0; k < KINDS; k++)
        if (io->kinds[k].closed)
            end_stream(&r->out[k]);
    if (r->in.fd >= 0)
        give_credit(r);
}

int rank_io_open(struct rank_io *io, struct rank_name name, int wants_stdin, int stdin_slow,
                 int ret_child_fds[3], struct error *err)
{
    char text[RANK_NAME_TEXT];
    int fds[3] = {-1, -1, -1};
    struct rank *r = calloc(1, sizeof(*r));
    if (r) {
        r->io = io;
        r->name = name;
        r->in.fd = r->out[STDOUT].fd = r->out[STDERR].fd = -1;
    }
    if (!r || open_pipes(r, wants_stdin, stdin_slow, fds) < 0) {
        int code = r ? errno : ENOMEM;
        if (r)
            rank_free(r);
        rank_io_close_child_ends(fds);
        return error_errno(err, code, "make pipes for rank %s", rank_name_format(name, text));
    }
    memcpy(ret_child_fds, fds, sizeof(fds));
    start_streams(r);
    return 0;
}

void rank_io_close_child_ends(int child_fds[3])
{
    for (int i = 0; i < 3; i++) {
        if (child_fds[i] >= 0)
            close(child_fds[i]);
        child_fds[i] = -1;
    }
}
