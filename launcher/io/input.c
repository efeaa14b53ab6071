/* SPDX-License-Identifier: BSD-3-Clause */
/* input.c - see input.h
 *
 * All targets get the same bytes, so one count says what was sent. A chunk is sent when every open
 * target can take it: for a fast source, when its credit is large enough; for a slow source, when
 * it has read everything that was sent before. A slow source is therefore looked into only while
 * nothing of it is under way: what is seen then is exactly what is new. */
#include "launcher/io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/loop.h"
#include "common/must.h"
#include "common/files/tty.h"
#include "common/files/fdio.h"
#include "wire/tunables.h"

enum {
    CHUNK = INPUT_WINDOW / 4, /* to one target; not more than INPUT_WINDOW_SLOW either */
    CHUNK_MIN = 4096,
    CHUNKS_TOTAL = 1024 * 1024, /* to all targets together */
};
#define FOREGROUND_CHECK 0.5 /* seconds; SIGCONT tells it sooner where the shell sends one */

enum source { SOURCE_END, SOURCE_FILE, SOURCE_DEVICE, SOURCE_PIPE, SOURCE_SOCKET, SOURCE_TERMINAL };

struct target {
    struct rank_name name;
    uint64_t consumed, limit;
    int known; /* a credit came */
    int closed;
    int ready; /* counted in the input's nready */
};

struct input {
    struct loop *loop;
    struct input_events events;
    void *arg;
    enum source source;
    int fd;
    int own;        /* a terminal's description of our own, or -1 */
    int scratch[2]; /* a pipe's data is looked at here */
    off_t start;    /* of a file */
    struct loop_io *watch;
    struct loop_defer pump;
    struct loop_timer foreground;
    struct target *targets;
    size_t ntargets, nopen, nready;
    uint64_t sent;  /* to each target that was open */
    uint64_t taken; /* removed from a pipe or socket */
    uint64_t most;  /* that any target has read */
    int ended;      /* nothing more is sent */
    int finished;
    size_t chunk;
    uint8_t *data;
};

static bool is_slow(enum source s)
{
    return s == SOURCE_PIPE || s == SOURCE_SOCKET || s == SOURCE_TERMINAL;
}

static enum source find_source(int fd)
{
    struct stat st;
    int type;
    socklen_t len = sizeof(type);
    if (fstat(fd, &st) < 0 || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
        return SOURCE_END; /* closed, or as nohup leaves it */
    if (S_ISFIFO(st.st_mode))
        return SOURCE_PIPE;
    if (S_ISCHR(st.st_mode) && isatty(fd))
        return SOURCE_TERMINAL;
    if (S_ISSOCK(st.st_mode)) /* one datagram is not a part of a stream of bytes */
        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM
                   ? SOURCE_SOCKET
                   : SOURCE_END;
    return lseek(fd, 0, SEEK_CUR) >= 0 && !S_ISCHR(st.st_mode) ? SOURCE_FILE : SOURCE_DEVICE;
}

bool input_is_slow(int fd)
{
    return is_slow(find_source(fd));
}

/* ---- targets --------------------------------------------------------------------------------- */

/* May the next chunk be sent to it? */
static int target_ready(const struct input *in, const struct target *t)
{
    if (t->closed || !t->known)
        return 0;
    if (is_slow(in->source))
        return t->consumed >= in->sent && t->limit >= in->sent + in->chunk;
    return t->limit >= in->sent + in->chunk;
}

static void count_ready(struct input *in, struct target *t)
{
    int ready = target_ready(in, t);
    in->nready += (size_t)ready - (size_t)t->ready;
    t->ready = ready;
}

static void send_chunk(struct input *in, size_t n)
{
    in->sent += n;
    for (size_t i = 0; i < in->ntargets; i++) {
        struct target *t = &in->targets[i];
        if (!t->closed)
            in->events.send(in->arg, t->name, in->data, n);
        count_ready(in, t);
    }
}

static void stop_reading(struct input *in)
{
    in->ended = 1;
    loop_io_destroy(take_ptr(in->watch));
    loop_timer_stop(&in->foreground);
}

static void send_end(struct input *in)
{
    stop_reading(in);
    for (size_t i = 0; i < in->ntargets; i++)
        if (!in->targets[i].closed)
            in->events.send(in->arg, in->targets[i].name, NULL, 0);
}

/* ---- sources --------------------------------------------------------------------------------- */

/* Remove n bytes that the ranks have read. Never waits, should somebody else have taken them. */
static void take_from_source(struct input *in, uint64_t n)
{
    while (n > 0) {
        size_t part = n < in->chunk ? (size_t)n : in->chunk;
        ssize_t done;
        if (in->source == SOURCE_PIPE) {
            done = splice(in->fd, NULL, in->scratch[1], NULL, part, SPLICE_F_NONBLOCK);
            if (done > 0)
                done = read(in->scratch[0], in->data, (size_t)done);
        } else {
            done = recv(in->fd, in->data, part, MSG_DONTWAIT);
        }
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            done = (ssize_t)n; /* somebody else has them */
        in->taken += (uint64_t)done;
        n -= (uint64_t)done;
    }
}

/* Looks at new data in a pipe or socket and leaves it there. Its bytes, 0 at the end, -1. */
static ssize_t look(struct input *in)
{
    if (in->source == SOURCE_SOCKET)
        return recv(in->fd, in->data, in->chunk, MSG_PEEK | MSG_DONTWAIT);
    ssize_t n = tee(in->fd, in->scratch[1], in->chunk, SPLICE_F_NONBLOCK);
    return n > 0 ? read(in->scratch[0], in->data, (size_t)n) : n;
}

/* With no description of our own a read could wait: only when poll() says that there is a line. */
static ssize_t read_terminal(struct input *in)
{
    struct pollfd w = {.fd = in->fd, .events = POLLIN};
    if (in->own < 0 && poll(&w, 1, 0) <= 0)
        return error_number(EAGAIN);
    ssize_t n = read(in->own >= 0 ? in->own : in->fd, in->data, in->chunk);
    if (n < 0 && errno == EIO && !tty_is_foreground(in->fd))
        errno = EAGAIN; /* put into the background meanwhile */
    return n;
}

static ssize_t read_source(struct input *in)
{
    switch (in->source) {
    case SOURCE_FILE:
        return pread(in->fd, in->data, in->chunk, in->start + (off_t)in->sent);
    case SOURCE_DEVICE:
        return read(in->fd, in->data, in->chunk);
    case SOURCE_PIPE:
    case SOURCE_SOCKET:
        return look(in);
    case SOURCE_TERMINAL:
        return read_terminal(in);
    case SOURCE_END:
        break;
    }
    return 0;
}

static void source_failed(struct input *in)
{
    struct error why;
    error_errno(&why, errno, "read standard input");
    send_end(in);
    if (in->events.failed)
        in->events.failed(in->arg, &why);
}

/* Read a chunk and send it. 0: nothing there now, wait for it. */
static int send_some(struct input *in)
{
    ssize_t n;
    do
        n = read_source(in);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n < 0)
        source_failed(in);
    else if (n == 0)
        send_end(in);
    else
        send_chunk(in, (size_t)n);
    return 1;
}

/* ---- going on -------------------------------------------------------------------------------- */

/* A terminal is not ours while another job is in the foreground. */
static bool may_read(struct input *in)
{
    if (in->source != SOURCE_TERMINAL || tty_is_foreground(in->fd))
        return true;
    loop_timer_start(&in->foreground, FOREGROUND_CHECK, 0);
    return false;
}

static void pump(void *arg)
{
    struct input *in = arg;
    unsigned wait = 0;
    while (!in->ended && in->nopen > 0 && in->nready == in->nopen) {
        if (is_slow(in->source) && in->sent > in->taken && in->source != SOURCE_TERMINAL)
            take_from_source(in, in->sent - in->taken);
        if (!may_read(in))
            break;
        if (!send_some(in)) {
            wait = LOOP_READ;
            break;
        }
    }
    if (in->watch)
        loop_io_set(in->watch, wait);
}

static void source_readable(void *arg, int fd, unsigned events)
{
    pump(arg);
}

static struct target *find_target(struct input *in, struct rank_name name)
{
    if (name.rank < in->ntargets && rank_name_equal(in->targets[name.rank].name, name))
        return &in->targets[name.rank]; /* all ranks of a world */
    for (size_t i = 0; i < in->ntargets; i++)
        if (rank_name_equal(in->targets[i].name, name))
            return &in->targets[i];
    return NULL;
}

void input_credit(struct input *in, struct rank_name name, uint64_t consumed, uint64_t limit,
                  int closed)
{
    struct target *t = find_target(in, name);
    if (!t || t->closed || in->finished)
        return;
    t->known = 1;
    t->consumed = consumed < in->sent ? consumed : in->sent;
    t->limit = limit;
    if (t->consumed > in->most)
        in->most = t->consumed;
    if (closed) {
        t->closed = 1;
        in->nopen--;
    }
    count_ready(in, t);
    if (in->nopen == 0) {
        stop_reading(in);
        if (in->events.over)
            in->events.over(in->arg);
    } else if (in->nready == in->nopen)
        loop_defer_schedule(&in->pump);
}

void input_continued(struct input *in)
{
    if (in->source == SOURCE_TERMINAL)
        loop_defer_schedule(&in->pump);
}

void input_finish(struct input *in)
{
    if (in->finished)
        return;
    in->finished = 1;
    stop_reading(in);
    if (in->source == SOURCE_FILE)
        lseek(in->fd, in->start + (off_t)in->most, SEEK_SET);
    else if ((in->source == SOURCE_PIPE || in->source == SOURCE_SOCKET) && in->most > in->taken)
        take_from_source(in, in->most - in->taken);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void open_terminal(struct input *in)
{
    /* reading in the background fails then, instead of stopping mprun and with it the ranks */
    signal(SIGTTIN, SIG_IGN);
    in->own = fd_reopen(in->fd, O_RDONLY);
}

static int open_source(struct input *in)
{
    in->source = find_source(in->fd);
    if (in->source == SOURCE_FILE)
        in->start = lseek(in->fd, 0, SEEK_CUR);
    if (in->source == SOURCE_TERMINAL)
        open_terminal(in);
    if (in->source == SOURCE_PIPE && pipe2(in->scratch, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    if (!is_slow(in->source))
        return 0;
    in->watch = loop_io_create(in->loop, in->own >= 0 ? in->own : in->fd, 0, source_readable, in);
    return 0;
}

static void set_targets(struct input *in, const struct rank_name *names, size_t n)
{
    in->chunk = n ? CHUNKS_TOTAL / n : 0;
    in->chunk = in->chunk > CHUNK ? CHUNK : in->chunk < CHUNK_MIN ? CHUNK_MIN : in->chunk;
    in->targets = must(calloc(n ? n : 1, sizeof(*in->targets)));
    in->data = must(malloc(in->chunk));
    in->ntargets = in->nopen = n;
    for (size_t i = 0; i < n; i++)
        in->targets[i].name = names[i];
}

struct input *input_create(struct loop *loop, int fd, const struct rank_name *targets, size_t n,
                           const struct input_events *events, void *arg, struct error *err)
{
    struct input *in = must(calloc(1, sizeof(*in)));
    *in = (struct input){.loop = loop, .events = *events, .arg = arg, .fd = fd, .own = -1};
    in->scratch[0] = in->scratch[1] = -1;
    loop_defer_init(&in->pump, loop, pump, in);
    loop_timer_init(&in->foreground, loop, pump, in);
    set_targets(in, targets, n);
    if (open_source(in) == 0)
        return in;
    error_errno(err, errno, "prepare standard input");
    input_destroy(in);
    return NULL;
}

void input_destroy(struct input *in)
{
    if (!in)
        return;
    int saved = errno;
    input_finish(in);
    loop_defer_stop(&in->pump);
    loop_timer_stop(&in->foreground);
    int fds[3] = {in->own, in->scratch[0], in->scratch[1]};
    for (int i = 0; i < 3; i++)
        cleanup_close(&fds[i]);
    free(in->targets);
    free(in->data);
    free(in);
    errno = saved;
}
