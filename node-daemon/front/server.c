/* SPDX-License-Identifier: BSD-3-Clause */
/* server.c - the socket
 *
 * Anybody on the host can connect, so a connection costs little: a place of max_connections and of
 * its user's few, a second to say what it wants, five to have an answer where a manager has to be
 * asked for it, five to hear it. When all places are taken
 * users are turned away, and a few more are root's: a shepherd is not to start its task without a
 * cgroup because users keep the daemon busy. When these are taken, too, nobody is accepted, and who
 * comes waits in the kernel's queue. */
#include "node-daemon/front/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "node-daemon/front/quota.h"
#include "node-daemon/front/sentinel.h"

static const double ASK_S = 1, WAIT_S = 5, HEAR_S = 5, SHORT_S = 0.1;
enum { ROOTS_PLACES = 16 };

struct connection {
    struct server *server;
    struct connection *next, *prev;
    int fd;
    struct client client;
    struct loop_io *io;
    struct loop_timer timer;
    struct grant_answer *answers; /* NULL: nothing was asked yet, or it waits */
    int waits;                    /* for something to be settled: */
    struct grant_request asked;
    size_t n, sent;
};

struct server {
    struct loop *loop;
    struct requests *requests;
    struct start *start;
    ino_t inode; /* of the socket's file */
    struct loop_io *io, *roots_io;
    struct loop_timer again; /* after running out of descriptors */
    struct loop_timer sign;  /* of life */
    int told;                /* that the sockets are gone */
    struct connection *connections;
    long n;
    struct quota quota;
    void (*drained)(void *arg); /* NULL: it goes on */
    void *arg;
};

/* ---- a connection -----------------------------------------------------------------------------
 */

static void connection_close(struct connection *c)
{
    struct server *s = c->server;
    quota_leave(&s->quota, c->client.uid);
    if (c->next)
        c->next->prev = c->prev;
    if (c->prev)
        c->prev->next = c->next;
    else
        s->connections = c->next;
    loop_io_destroy(c->io);
    loop_timer_stop(&c->timer);
    findings_free(&c->client.found);
    cleanup_close(&c->fd);
    free(c->answers);
    free(c);
    s->n--;
    if (s->io)
        loop_io_set(s->io, LOOP_READ); /* there is a place again */
    else if (s->n == 0 && s->drained)
        s->drained(s->arg);
}

static void time_over(void *arg)
{
    struct connection *c = arg;
    log_debug("pid %d of user %u %s in time", (int)c->client.pid, (unsigned)c->client.uid,
              c->answers ? "did not hear its answer"
              : c->waits ? "was not answered"
                         : "did not ask");
    connection_close(c);
}

/* As many answers as the socket takes; the rest when it takes more. */
static void send_answers(struct connection *c)
{
    while (c->sent < c->n) {
        const struct grant_answer *a = &c->answers[c->sent];
        ssize_t n = send(c->fd, a, sizeof(*a), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) {
            loop_io_set(c->io, LOOP_WRITE);
            return;
        }
        if (n != (ssize_t)sizeof(*a))
            break; /* it went away */
        c->sent++;
    }
    connection_close(c);
}

static void wait_for_more(struct connection *c, const struct grant_request *q)
{
    if (!c->waits) /* from the first time on */
        loop_timer_start(&c->timer, WAIT_S, 0);
    c->waits = 1;
    c->asked = *q;
}

static void answer(struct connection *c, const struct grant_request *q, size_t len)
{
    const char *fault = grant_request_fault(q, len);
    c->n = 1;
    if (fault) {
        c->answers = calloc(1, sizeof(*c->answers));
        if (c->answers)
            answer_init(c->answers, GRANT_BAD, fault);
    } else {
        c->answers = requests_answer(c->server->requests, &c->client, q, &c->n);
    }
    if (!c->answers && c->n == 0) {
        wait_for_more(c, q);
        return;
    }
    if (!c->answers) {
        connection_close(c);
        return;
    }
    c->waits = 0;
    unsigned result = c->answers[0].result;
    if (result == GRANT_REFUSED || result == GRANT_BAD || result == GRANT_FAILED)
        quota_charge(&c->server->quota, c->client.uid);
    loop_timer_start(&c->timer, HEAR_S, 0);
    send_answers(c);
}

static void connection_ready(void *arg, int fd, unsigned events)
{
    struct connection *c = arg;
    struct grant_request q;
    if (c->answers) {
        send_answers(c);
        return;
    }
    memset(&q, 0, sizeof(q));
    ssize_t n = recv(fd, &q, sizeof(q), MSG_TRUNC | MSG_DONTWAIT); /* the whole packet's length */
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || c->waits)
        connection_close(c);
    else
        answer(c, &q, (size_t)n);
}

/* What this one asked about has been found out. */
static void found(void *arg)
{
    struct connection *c = arg;
    struct grant_request q = c->asked;
    if (c->waits)
        answer(c, &q, sizeof(q));
}

void server_settled(struct server *s)
{
    for (struct connection *c = s->connections, *next; c; c = next) {
        next = c->next;
        if (!c->waits)
            continue;
        struct grant_request q = c->asked;
        answer(c, &q, sizeof(q));
    }
}

/* ---- accepting --------------------------------------------------------------------------------
 */

/* Takes fd. */
static void connection_open(struct server *s, int fd, const struct ucred *who)
{
    struct connection *c = calloc(1, sizeof(*c));
    if (c) {
        c->io = loop_io_create(s->loop, fd, LOOP_READ, connection_ready, c);
        loop_timer_init(&c->timer, s->loop, time_over, c);
    }
    if (!c || !c->io) {
        quota_leave(&s->quota, who->uid);
        free(c);
        close(fd);
        return;
    }
    c->server = s;
    c->fd = fd;
    c->client = (struct client){.fd = fd, .pid = who->pid, .uid = who->uid};
    findings_init(&c->client.found, s->requests->reader, found, c);
    c->next = s->connections;
    if (c->next)
        c->next->prev = c;
    s->connections = c;
    s->n++;
    loop_timer_start(&c->timer, ASK_S, 0);
}

static void turn_away(int fd, const char *why)
{
    struct grant_answer a;
    struct grant_request q;
    answer_init(&a, GRANT_BUSY, why);
    (void)recv(fd, &q, sizeof(q), MSG_DONTWAIT); /* unread, it would take the answer with it */
    (void)send(fd, &a, sizeof(a), MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

static void welcome(struct server *s, int fd)
{
    const struct conf *conf = s->requests->conf;
    struct ucred who;
    socklen_t len = sizeof(who);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
        close(fd);
    else if (who.uid != 0 && s->n >= conf->max_connections)
        turn_away(fd, "too many requests of all users: ask again later");
    else if (!quota_enter(&s->quota, who.uid, loop_now(), (unsigned)conf->user_connections,
                          (double)conf->user_rate))
        turn_away(fd, "too many requests of this user: ask again later");
    else
        connection_open(s, fd, &who);
}

static void accept_again(void *arg)
{
    struct server *s = arg;
    loop_io_set(s->io, LOOP_READ);
}

/* The next front answers who comes now. */
static int is_to_end(void)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGHUP) || sigismember(&pending, SIGTERM);
}

static void server_ready(void *arg, int fd, unsigned events)
{
    struct server *s = arg;
    if (is_to_end())
        return;
    if (s->n >= s->requests->conf->max_connections + ROOTS_PLACES) {
        loop_io_set(s->io, 0); /* until one is closed */
        return;
    }
    int one = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (one >= 0) {
        welcome(s, one);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        loop_io_set(s->io, 0);
        loop_timer_start(&s->again, SHORT_S, 0);
    }
}

/* ---- the sockets ------------------------------------------------------------------------------
 */

/* Somebody may have removed them, or the whole directory. */
static int is_there(const struct server *s)
{
    struct stat at, lock, sentinels = {.st_nlink = 1};
    if (s->requests->sentinels >= 0)
        (void)fstat(s->requests->sentinels, &sentinels);
    return lstat(GRANT_SOCKET, &at) == 0 && at.st_ino == s->inode &&
           fstat(s->start->of[GIFT_LOCK], &lock) == 0 && lock.st_nlink > 0 &&
           sentinels.st_nlink > 0;
}

/* Clients do not wait for a daemon of which there is no sign: see grant_patience(). What changes
 * the file's time is that something is written. */
static void give_sign(void *arg)
{
    struct server *s = arg;
    if (pwrite(s->start->of[GIFT_LOCK], "", 1, 0) < 0)
        log_debug("show a sign of life: %s", strerror(errno));
    if (is_there(s) || s->told)
        return;
    log_warn("somebody has removed '%s', or what belongs to it: it is made again", GRANT_SOCKET);
    s->told = 1;
    (void)start_tell(TOLD_SOCKETS_GONE);
}

int server_listen(struct server *s, struct error *err)
{
    struct stat at;
    int fd = s->start->of[GIFT_SOCKET], roots = s->start->of[GIFT_ROOT_SOCKET];
    struct loop_io *io = loop_io_create(s->loop, fd, LOOP_READ, server_ready, s);
    if (!io || lstat(GRANT_SOCKET, &at) < 0) {
        loop_io_destroy(io);
        return error_errno(err, errno, "listen at '%s'", GRANT_SOCKET);
    }
    loop_io_destroy(s->io);
    loop_io_destroy(s->roots_io);
    s->io = io;
    s->roots_io = roots < 0 ? NULL : loop_io_create(s->loop, roots, LOOP_READ, server_ready, s);
    s->inode = at.st_ino;
    s->told = 0;
    loop_timer_start(&s->sign, 0, GRANT_SIGN_S);
    return 0;
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

struct server *server_create(struct loop *l, struct start *start, struct requests *requests,
                             struct error *err)
{
    struct server *s = calloc(1, sizeof(*s));
    if (!s) {
        error_errno(err, ENOMEM, "listen at '%s'", GRANT_SOCKET);
        return NULL;
    }
    s->loop = l;
    s->start = start;
    s->requests = requests;
    loop_timer_init(&s->again, l, accept_again, s);
    loop_timer_init(&s->sign, l, give_sign, s);
    if (server_listen(s, err) == 0)
        return s;
    server_destroy(s);
    return NULL;
}

void server_drain(struct server *s, void (*drained)(void *arg), void *arg)
{
    loop_io_destroy(take_ptr(s->io));
    loop_io_destroy(take_ptr(s->roots_io));
    loop_timer_stop(&s->again);
    s->drained = drained;
    s->arg = arg;
    if (s->n == 0)
        drained(arg);
}

void server_destroy(struct server *s)
{
    if (!s)
        return;
    int saved = errno;
    s->drained = NULL;
    while (s->connections)
        connection_close(s->connections);
    loop_io_destroy(s->io);
    loop_io_destroy(s->roots_io);
    loop_timer_stop(&s->again);
    loop_timer_stop(&s->sign);
    free(s);
    errno = saved;
}
