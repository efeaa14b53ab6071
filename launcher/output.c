/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c - see output.h
 *
 * A sink is where bytes go: stdout, stderr, or both where they are one. Bytes are written at once
 * when nothing waits, straight from the frame; the rest is queued until the descriptor is writable.
 * Credit for a frame is due when the sink has written up to the frame's end. Dues of one host and
 * stream that follow each other are put together, in steps small enough that the host goes on
 * sending while the rest of its window drains. */
#include "launcher/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/loop.h"
#include "wire/frame.h"

enum {
    STREAMS = 2,
    SAFE_WRITE = 4096, /* PIPE_BUF: what a writable pipe takes whole */
    PIPE_WANTED = 256 * 1024,
};

enum sink_way {
    WAY_DIRECT,   /* files and devices: written at once */
    WAY_OWN,      /* our own non-blocking description of a pipe or terminal */
    WAY_SOCKET,   /* MSG_DONTWAIT */
    WAY_CAREFULLY /* a shared, blocking description: only when poll() says so, a little each time */
};

struct due {
    uint64_t end; /* of the sink's bytes */
    uint32_t host;
    uint32_t stream;
    uint64_t credit;
};

struct sink {
    struct output *o;
    enum sink_way way;
    int fd;      /* the one to write to */
    int own;     /* the same when it is ours to close, else -1 */
    int streams; /* bit per stream (1, 2) that goes here */
    int dead;
    int grown;
    int is_pipe;           /* with WAY_OWN */
    uint8_t last;          /* byte put in, to know whether a line is open */
    struct loop_io *watch; /* NULL with WAY_DIRECT */
    struct buffer queue;
    uint64_t put, written; /* bytes, ever */
    struct buffer dues;    /* of struct due */
};

struct line { /* what a rank has begun to write, when lines are put together */
    struct rank_name name;
    unsigned stream;
    char tag[RANK_NAME_TEXT + 16];
    size_t tag_len;
    struct buffer part;
    int continued;
    uint64_t time_ns; /* of its first byte */
    struct line *next;
};

struct host_credit {
    uint64_t pending[STREAMS];
};

struct output {
    struct loop *loop;
    struct output_options options;
    struct output_events events;
    void *arg;
    struct sink sinks[STREAMS];
    struct sink *of[STREAMS]; /* the sink of each stream */
    struct host_credit *hosts;
    size_t nhosts;
    struct line **lines; /* hash table */
    size_t nbuckets, nlines;
    time_t stamp_second; /* the second that `stamp` says */
    char stamp[24];
};

/* ---- credit ---------------------------------------------------------------------------------- */

static uint32_t credit_step(const struct output *o)
{
    return o->options.window / 4;
}

static int know_host(struct output *o, uint32_t host)
{
    if (host < o->nhosts)
        return 0;
    size_t n = o->nhosts ? o->nhosts : 16;
    while (n <= host)
        n *= 2;
    struct host_credit *grown = realloc(o->hosts, n * sizeof(*grown));
    if (!grown)
        return -1;
    memset(grown + o->nhosts, 0, (n - o->nhosts) * sizeof(*grown));
    o->hosts = grown;
    o->nhosts = n;
    return 0;
}

/* Credit goes back in steps of a quarter of the window: what is kept back can never stop a host. */
static void give_credit(struct output *o, uint32_t host, unsigned stream, uint64_t n)
{
    uint64_t all = n;
    if (know_host(o, host) == 0) {
        uint64_t *pending = &o->hosts[host].pending[stream - 1];
        *pending += n;
        if (*pending < credit_step(o))
            return;
        all = *pending;
        *pending = 0;
    }
    if (all)
        o->events.consumed(o->arg, host, stream, all);
}

static struct due *last_due(struct sink *s)
{
    if (buffer_len(&s->dues) == 0)
        return NULL;
    return (struct due *)(void *)(s->dues.data + s->dues.end) - 1;
}

/* Credit is due when all that was put in so far is written. */
static void add_due(struct sink *s, uint32_t host, unsigned stream, uint64_t credit)
{
    struct due *last = last_due(s);
    struct due d = {s->put, host, stream, credit};
    if (s->written == s->put || s->dead) {
        give_credit(s->o, host, stream, credit);
        return;
    }
    if (last && last->host == host && last->stream == stream &&
        last->credit + credit <= credit_step(s->o)) {
        last->end = s->put;
        last->credit += credit;
        return;
    }
    if (buffer_append(&s->dues, &d, sizeof(d)) < 0)
        give_credit(s->o, host, stream, credit); /* rather than stop the host for good */
}

static void pay_dues(struct sink *s)
{
    while (buffer_len(&s->dues)) {
        struct due d;
        memcpy(&d, buffer_ptr(&s->dues), sizeof(d));
        if (d.end > s->written)
            return;
        buffer_consume(&s->dues, sizeof(d));
        give_credit(s->o, d.host, d.stream, d.credit);
    }
}

/* ---- sinks ----------------------------------------------------------------------------------- */

static void sink_fail(struct sink *s, int code)
{
    struct error why;
    s->dead = 1;
    if (s->watch)
        loop_io_set(s->watch, 0);
    buffer_free(&s->queue);
    s->written = s->put;
    pay_dues(s);
    for (unsigned stream = 1; stream <= STREAMS; stream++) {
        if (!(s->streams & 1 << stream))
            continue;
        error_errno(&why, code, "write to standard %s", stream == 1 ? "output" : "error");
        s->o->events.closed(s->o->arg, stream, &why);
    }
}

static ssize_t write_carefully(int fd, const uint8_t *p, size_t n)
{
    struct pollfd w = {.fd = fd, .events = POLLOUT};
    int ready = poll(&w, 1, 0);
    if (ready == 0) {
        errno = EAGAIN;
        return -1;
    }
    return ready < 0 ? -1 : write(fd, p, n < SAFE_WRITE ? n : SAFE_WRITE);
}

static ssize_t write_once(struct sink *s, const uint8_t *p, size_t n)
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
static int grow_pipe(struct sink *s)
{
    if (s->grown)
        return 0;
    s->grown = 1;
    int size = fcntl(s->fd, F_GETPIPE_SZ);
    return size > 0 && size < PIPE_WANTED && fcntl(s->fd, F_SETPIPE_SZ, PIPE_WANTED) >= 0;
}

/* Write what the descriptor takes now: how much that was. The sink may be dead after it. */
static size_t write_now(struct sink *s, const uint8_t *p, size_t n)
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

static void want_write(struct sink *s)
{
    if (s->watch && !s->dead)
        loop_io_set(s->watch, buffer_len(&s->queue) ? LOOP_WRITE : 0);
}

/* Bytes as they come. */
static void sink_put(struct sink *s, const uint8_t *p, size_t n)
{
    if (s->dead || n == 0)
        return;
    size_t done = buffer_len(&s->queue) ? 0 : write_now(s, p, n);
    if (s->dead)
        return;
    s->last = p[n - 1];
    s->put += n;
    s->written += done;
    if (done < n && buffer_append(&s->queue, p + done, n - done) < 0)
        sink_fail(s, ENOMEM);
    want_write(s);
}

static void sink_flush(struct sink *s)
{
    size_t done = write_now(s, buffer_ptr(&s->queue), buffer_len(&s->queue));
    if (s->dead)
        return;
    buffer_consume(&s->queue, done);
    s->written += done;
    pay_dues(s);
    want_write(s);
}

static void sink_writable(void *arg, int fd, unsigned events)
{
    struct sink *s = arg;
    struct output *o = s->o;
    sink_flush(s);
    if (output_idle(o))
        o->events.drained(o->arg); /* may destroy o */
}

/* Another description of what fd refers to, ours alone, so that O_NONBLOCK is ours too. -1: not to
 * be had (another user's terminal, no /proc). */
static int reopen(int fd)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static int find_way(struct sink *s, int fd, const struct stat *st)
{
    s->fd = fd;
    s->way = WAY_DIRECT;
    if (S_ISSOCK(st->st_mode)) {
        s->way = WAY_SOCKET;
    } else if (S_ISFIFO(st->st_mode) || (S_ISCHR(st->st_mode) && isatty(fd))) {
        s->own = reopen(fd);
        s->way = s->own >= 0 ? WAY_OWN : WAY_CAREFULLY;
        s->fd = s->own >= 0 ? s->own : fd;
        s->is_pipe = s->own >= 0 && S_ISFIFO(st->st_mode);
    }
    if (s->way == WAY_DIRECT)
        return 0;
    s->watch = loop_io_create(s->o->loop, s->fd, 0, sink_writable, s);
    return s->watch ? 0 : -1;
}

static int open_sinks(struct output *o, struct error *err)
{
    struct stat st[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        struct sink *s = &o->sinks[i];
        s->o = o;
        s->own = -1;
        s->last = '\n';
        o->of[i] = s;
        if (fstat(o->options.fds[i], &st[i]) < 0)
            return error_errno(err, errno, "use standard %s", i == 0 ? "output" : "error");
        int same = i > 0 && st[0].st_dev == st[i].st_dev && st[0].st_ino == st[i].st_ino;
        if (same && o->sinks[0].way != WAY_DIRECT)
            o->of[i] = &o->sinks[0];
        else if (find_way(s, o->options.fds[i], &st[i]) < 0)
            return error_errno(err, ENOMEM, "watch standard %s", i == 0 ? "output" : "error");
        o->of[i]->streams |= 1 << (i + 1);
    }
    return 0;
}

static void close_sink(struct sink *s)
{
    loop_io_destroy(s->watch);
    if (s->own >= 0)
        close(s->own);
    buffer_free(&s->queue);
    buffer_free(&s->dues);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static size_t line_hash(struct rank_name n, unsigned stream)
{
    uint64_t h = ((uint64_t)n.world << 40) ^ ((uint64_t)n.incarnation << 33) ^
                 ((uint64_t)n.rank << 1) ^ stream;
    h *= 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 20);
}

static struct line **find_line(struct output *o, struct rank_name name, unsigned stream)
{
    struct line **at = &o->lines[line_hash(name, stream) & (o->nbuckets - 1)];
    while (*at && !(rank_name_equal((*at)->name, name) && (*at)->stream == stream))
        at = &(*at)->next;
    return at;
}

static int grow_lines(struct output *o)
{
    size_t n = o->nbuckets ? o->nbuckets * 2 : 64;
    struct line **old = o->lines, **table = calloc(n, sizeof(*table));
    if (!table)
        return -1;
    for (size_t i = 0; i < o->nbuckets; i++)
        for (struct line *l = old[i], *next; l; l = next) {
            size_t to = line_hash(l->name, l->stream) & (n - 1);
            next = l->next;
            l->next = table[to];
            table[to] = l;
        }
    free(old);
    o->lines = table;
    o->nbuckets = n;
    return 0;
}

static struct line *get_line(struct output *o, struct rank_name name, unsigned stream)
{
    char text[RANK_NAME_TEXT];
    if (o->nlines >= o->nbuckets && grow_lines(o) < 0 && o->nbuckets == 0)
        return NULL;
    struct line **at = find_line(o, name, stream);
    if (*at)
        return *at;
    struct line *l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    l->name = name;
    l->stream = stream;
    if (o->options.tag)
        l->tag_len =
            (size_t)snprintf(l->tag, sizeof(l->tag), "%s[%s]<%s>", o->options.timestamp ? " " : "",
                             rank_name_format(name, text), stream == 1 ? "stdout" : "stderr");
    *at = l;
    o->nlines++;
    return l;
}

static void drop_line(struct output *o, struct line **at)
{
    struct line *l = *at;
    *at = l->next;
    o->nlines--;
    buffer_free(&l->part);
    free(l);
}

/* "2026-08-02T10:11:12.123456"; the second's text is kept, because lines come in thousands. */
static size_t put_stamp(struct output *o, uint64_t ns, char *to)
{
    time_t second = (time_t)(ns / 1000000000u);
    unsigned micro = (unsigned)(ns % 1000000000u / 1000);
    if (second != o->stamp_second || !o->stamp[0]) {
        struct tm tm;
        localtime_r(&second, &tm);
        strftime(o->stamp, sizeof(o->stamp), "%Y-%m-%dT%H:%M:%S.", &tm);
        o->stamp_second = second;
    }
    size_t n = strlen(o->stamp);
    memcpy(to, o->stamp, n);
    for (int i = 5; i >= 0; i--, micro /= 10)
        to[n + (size_t)i] = (char)('0' + micro % 10);
    return n + 6;
}

/* Queue the line's part and the text after it as one whole line. */
static int emit_line(struct output *o, struct sink *s, struct line *l, const uint8_t *text,
                     size_t n)
{
    size_t part = buffer_len(&l->part);
    uint8_t *start =
        buffer_reserve(&s->queue, sizeof(o->stamp) + 8 + l->tag_len + 2 + part + n + 1);
    uint8_t *to = start;
    if (!start)
        return -1;
    if (o->options.timestamp)
        to += put_stamp(o, l->time_ns, (char *)to);
    memcpy(to, l->tag, l->tag_len);
    to += l->tag_len;
    *to++ = l->continued ? '+' : ':';
    *to++ = ' ';
    if (part)
        memcpy(to, buffer_ptr(&l->part), part);
    if (n)
        memcpy(to + part, text, n);
    to += part + n;
    *to++ = '\n';
    buffer_commit(&s->queue, (size_t)(to - start));
    s->put += (uint64_t)(to - start);
    s->last = '\n';
    buffer_free(&l->part);
    return 0;
}

/* Take one line, or a part of one, from the text: how many bytes, or -1. */
static ssize_t take_line(struct output *o, struct sink *s, struct line *l, const uint8_t *p,
                         size_t n)
{
    size_t room = OUTPUT_LINE_MAX - buffer_len(&l->part);
    const uint8_t *nl = memchr(p, '\n', n < room + 1 ? n : room + 1);
    if (nl) { /* a whole line */
        if (emit_line(o, s, l, p, (size_t)(nl - p)) < 0)
            return -1;
        l->continued = 0;
        return nl - p + 1;
    }
    if (n > room) { /* too long: a piece of it */
        if (emit_line(o, s, l, p, room) < 0)
            return -1;
        l->continued = 1;
        return (ssize_t)room;
    }
    return buffer_append(&l->part, p, n) < 0 ? -1 : (ssize_t)n;
}

static int put_lines(struct output *o, struct sink *s, const struct bulk_header *h,
                     const uint8_t *p, size_t n)
{
    struct line *l = get_line(o, h->name, h->stream);
    if (!l)
        return -1;
    while (n > 0) {
        if (buffer_len(&l->part) == 0)
            l->time_ns = h->time_ns;
        ssize_t took = take_line(o, s, l, p, n);
        if (took < 0)
            return -1;
        p += took;
        n -= (size_t)took;
    }
    return 0;
}

/* The stream has ended: its last line may lack its newline. */
static void end_lines(struct output *o, struct sink *s, const struct bulk_header *h)
{
    if (o->nbuckets == 0)
        return;
    struct line **at = find_line(o, h->name, h->stream);
    if (!*at)
        return;
    if (buffer_len(&(*at)->part) && !s->dead)
        emit_line(o, s, *at, NULL, 0);
    drop_line(o, at);
}

/* ---- the outside ----------------------------------------------------------------------------- */

struct output *output_create(struct loop *loop, const struct output_options *options,
                             const struct output_events *events, void *arg, struct error *err)
{
    struct output *o = calloc(1, sizeof(*o));
    if (!o) {
        error_errno(err, ENOMEM, "prepare the output");
        return NULL;
    }
    o->loop = loop;
    o->options = *options;
    o->events = *events;
    o->arg = arg;
    if (open_sinks(o, err) < 0) {
        output_destroy(o);
        return NULL;
    }
    return o;
}

void output_destroy(struct output *o)
{
    if (!o)
        return;
    int saved = errno;
    for (int i = 0; i < STREAMS; i++)
        if (o->sinks[i].o)
            close_sink(&o->sinks[i]);
    for (size_t i = 0; i < o->nbuckets; i++)
        while (o->lines[i])
            drop_line(o, &o->lines[i]);
    free(o->lines);
    free(o->hosts);
    free(o);
    errno = saved;
}

static int by_line(const struct output *o)
{
    return o->options.tag || o->options.timestamp;
}

void output_put(struct output *o, uint32_t host, const struct bulk_header *h, const void *data,
                size_t n)
{
    if (h->stream < 1 || h->stream > STREAMS)
        return;
    struct sink *s = o->of[h->stream - 1];
    if (!by_line(o)) {
        sink_put(s, data, n);
    } else {
        int waited = buffer_len(&s->queue) > 0;
        if (n == 0)
            end_lines(o, s, h);
        else if (!s->dead && put_lines(o, s, h, data, n) < 0)
            sink_fail(s, ENOMEM);
        if (!waited && buffer_len(&s->queue))
            sink_flush(s);
    }
    if (n)
        add_due(s, host, h->stream, output_cost(n));
}

/* Nothing comes from fd: has nothing come yet (0), or is it the sink that is full (-1)? */
static ssize_t why_not_moved(struct sink *s, int fd, int code)
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

ssize_t output_move(struct output *o, uint32_t host, const struct bulk_header *h, int fd, size_t n)
{
    struct sink *s = h->stream >= 1 && h->stream <= STREAMS ? o->of[h->stream - 1] : NULL;
    if (!s || !s->is_pipe || s->dead || by_line(o) || buffer_len(&s->queue))
        return -1;
    ssize_t moved = splice(fd, NULL, s->fd, NULL, n, SPLICE_F_NONBLOCK);
    if (moved <= 0)
        return moved < 0 ? why_not_moved(s, fd, errno) : -1;
    s->put += (uint64_t)moved;
    s->written += (uint64_t)moved;
    s->last = '\n'; /* not known: taken as the end of a line */
    /* the frame's headers are paid for with its last byte, here or in output_put() */
    give_credit(o, host, h->stream, (size_t)moved == n ? output_cost(n) : (uint64_t)moved);
    return moved;
}

void output_message(struct output *o, const char *text, size_t n)
{
    struct sink *s = o->of[1];
    if (s->last != '\n')
        sink_put(s, (const uint8_t *)"\n", 1);
    sink_put(s, (const uint8_t *)text, n);
}

int output_is_closed(const struct output *o, unsigned stream)
{
    return stream >= 1 && stream <= STREAMS && o->of[stream - 1]->dead;
}

int output_idle(const struct output *o)
{
    return buffer_len(&o->sinks[0].queue) == 0 && buffer_len(&o->sinks[1].queue) == 0;
}

uint64_t output_taken(const struct output *o)
{
    return o->sinks[0].written + o->sinks[1].written;
}

uint64_t output_drop(struct output *o)
{
    uint64_t dropped = 0;
    for (int i = 0; i < STREAMS; i++) {
        struct sink *s = &o->sinks[i];
        if (buffer_len(&s->queue) == 0)
            continue;
        dropped += buffer_len(&s->queue);
        s->dead = 1;
        loop_io_set(s->watch, 0);
        buffer_free(&s->queue);
        s->written = s->put;
        pay_dues(s);
    }
    return dropped;
}
