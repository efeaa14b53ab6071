/* SPDX-License-Identifier: BSD-3-Clause */
#include "rm-adapters/pbs/tm-link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "rm-adapters/tunables.h"

enum { READ_MAX = 65536, QUEUE_MAX = 8 << 20 };

struct tm_link {
    const struct tm_job *job;
    const struct tm_link_events *events;
    void *arg;
    int fd;
    struct loop_io *io;
    struct buffer raw, messages;
    struct buffer waiting; /* requests, each with its length before it */
    bool is_in_event, is_closed, has_answered;
};

/* pbs_mom answers nobody who does not come from the address that it has for "localhost", which is
 * one of IPv4. A full queue of connections would hold us for minutes. */
static int connect_mom(const struct tm_job *job, struct error *err)
{
    static const int yes = 1;
    static const struct timeval most = {.tv_sec = (time_t)TM_ANSWER_SECONDS};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)job->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        return error_errno(err, errno == EINPROGRESS ? ETIMEDOUT : errno,
                           "connect to pbs_mom at 127.0.0.1, port %u (PBS_MOMPORT)", job->port);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    fd_set_nonblock(fd, 1);
    return take_fd(&fd);
}

/* ---- with a loop ----------------------------------------------------------------------------- */

static void link_free(struct tm_link *l)
{
    loop_io_destroy(l->io);
    cleanup_close(&l->fd);
    buffer_free(&l->raw);
    buffer_free(&l->messages);
    buffer_free(&l->waiting);
    free(l);
}

static void fail(struct tm_link *l, const struct error *why)
{
    loop_io_destroy(take_ptr(l->io));
    l->events->closed(l->arg, why);
}

/* A request is written whole or not at all: pbs_mom loses pieces. */
static int write_one(struct tm_link *l, const void *p, size_t n, struct error *err)
{
    ssize_t written = send(l->fd, p, n, MSG_NOSIGNAL);
    if (written == (ssize_t)n)
        return 1;
    if (written < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return written < 0 ? error_errno(err, errno, "write to pbs_mom")
                       : error_set(err, EIO, "pbs_mom does not read what it is asked");
}

static void write_waiting(struct tm_link *l)
{
    struct error e;
    size_t n;
    while (buffer_len(&l->waiting) > 0) {
        __builtin_memcpy(&n, buffer_ptr(&l->waiting), sizeof(n));
        int rc = write_one(l, buffer_ptr(&l->waiting) + sizeof(n), n, &e);
        if (rc < 0) {
            fail(l, &e);
            return;
        }
        if (rc == 0)
            return;
        buffer_consume(&l->waiting, sizeof(n) + n);
    }
    loop_io_set(l->io, LOOP_READ);
}

/* Returns false when the link is closed. */
static bool take_answers(struct tm_link *l)
{
    struct tm_answer a;
    struct error e;
    ssize_t n;
    if (tm_unpack(&l->raw, &l->messages, l->job, &e) < 0) {
        fail(l, &e);
        return false;
    }
    while ((n = tm_answer_read(&l->messages, &a, &e)) > 0) {
        l->has_answered = true;
        l->events->answered(l->arg, &a);
        if (l->is_closed)
            return false;
        buffer_consume(&l->messages, (size_t)n);
    }
    if (n < 0)
        fail(l, &e);
    return n == 0;
}

static void take_input(struct tm_link *l)
{
    struct error e;
    ssize_t n = buffer_read(&l->raw, l->fd, READ_MAX);
    if (n > 0) {
        take_answers(l);
    } else if (n == 0) {
        error_set(&e, ECONNRESET, "pbs_mom has closed the connection: %s",
                  l->has_answered ? "it has ended, or the job is over"
                                  : "it does so where the job is over, or PBS_JOBID and "
                                    "PBS_JOBCOOKIE are not of one job");
        fail(l, &e);
    } else if (errno != EAGAIN && errno != EINTR) {
        error_errno(&e, errno, "read an answer of pbs_mom");
        fail(l, &e);
    }
}

static void ready(void *arg, int fd, unsigned events)
{
    struct tm_link *l = arg;
    l->is_in_event = true;
    if (events & LOOP_READ)
        take_input(l);
    if (events & LOOP_WRITE && !l->is_closed && l->io)
        write_waiting(l);
    l->is_in_event = false;
    if (l->is_closed)
        link_free(l);
}

struct tm_link *tm_link_open(struct loop *loop, const struct tm_job *job,
                             const struct tm_link_events *events, void *arg, struct error *err)
{
    int fd = connect_mom(job, err);
    if (fd < 0)
        return NULL;
    struct tm_link *l = must(malloc(sizeof(*l)));
    *l = (struct tm_link){.job = job, .events = events, .arg = arg, .fd = fd};
    l->io = loop_io_create(loop, fd, LOOP_READ, ready, l);
    return l;
}

void tm_link_close(struct tm_link *l)
{
    if (!l || l->is_closed)
        return;
    l->is_closed = true;
    if (!l->is_in_event)
        link_free(l);
}

int tm_link_send(struct tm_link *l, const struct buffer *request, struct error *err)
{
    size_t n = buffer_len(request);
    if (!l->io)
        return error_set(err, ENOTCONN, "the connection to pbs_mom is closed");
    if (buffer_len(&l->waiting) == 0) {
        int rc = write_one(l, buffer_ptr(request), n, err);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
    }
    if (buffer_len(&l->waiting) > QUEUE_MAX)
        return error_set(err, EIO, "pbs_mom does not read what it is asked");
    buffer_append(&l->waiting, &n, sizeof(n));
    buffer_append(&l->waiting, buffer_ptr(request), n);
    loop_io_set(l->io, LOOP_READ | LOOP_WRITE);
    return 0;
}

/* ---- without one ----------------------------------------------------------------------------- */

/* Waits until something can be read. */
static int await(int fd, double until, struct error *err)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    double left = until - loop_now();
    int rc = left > 0 ? poll(&p, 1, (int)(left * 1000) + 1) : 0;
    if (rc > 0 || (rc < 0 && errno == EINTR))
        return 0;
    return error_set(err, ETIMEDOUT, "pbs_mom gives no answer");
}

int tm_ask(const struct tm_job *job, const struct buffer *request, double seconds,
           struct buffer *messages, struct tm_answer *ret, struct error *err)
{
    double until = loop_now() + seconds;
    AUTO(buffer_free) struct buffer raw = {.data = NULL};
    AUTO_CLOSE int fd = connect_mom(job, err);
    ssize_t n = 0;
    if (fd < 0)
        return -1;
    if (send(fd, buffer_ptr(request), buffer_len(request), MSG_NOSIGNAL) !=
        (ssize_t)buffer_len(request))
        return error_errno(err, errno, "ask pbs_mom");
    while (n == 0) {
        if (await(fd, until, err) < 0)
            break;
        ssize_t got = buffer_read(&raw, fd, READ_MAX);
        if (got == 0) {
            error_set(err, ECONNRESET, "pbs_mom has closed the connection");
            break;
        }
        if (tm_unpack(&raw, messages, job, err) < 0)
            break;
        n = tm_answer_read(messages, ret, err);
    }
    return n > 0 ? 0 : -1;
}
