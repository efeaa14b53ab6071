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
enum { BACKLOG = 128, ROOTS_PLACES = 16 };

struct connection {
    struct server *server;
    struct connection *next, *prev;
    int fd;
    struct peer peer;
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
    const char *path;
    int lock, fd;
    ino_t inode; /* of fd's file */
    struct loop_io *io;
    struct loop_timer again; /* after running out of descriptors */
    struct loop_timer sign;  /* of life */
    int told;                /* the socket is gone and cannot be made again, and that was said */
    struct connection *connections;
    long n;
    struct quota quota;
};

/* ---- a connection -----------------------------------------------------------------------------
 */

static void connection_close(struct connection *c)
{
    struct server *s = c->server;
    quota_leave(&s->quota, c->peer.uid);
    if (c->next)
        c->next->prev = c->prev;
    if (c->prev)
        c->prev->next = c->next;
    else
        s->connections = c->next;
    loop_io_destroy(c->io);
    loop_timer_stop(&c->timer);
    peer_free(&c->peer);
    cleanup_close(&c->fd);
    free(c->answers);
    free(c);
    s->n--;
    loop_io_set(s->io, LOOP_READ); /* there is a place again */
}

static void time_over(void *arg)
{
    struct connection *c = arg;
    log_debug("pid %d of user %u %s in time", (int)c->peer.pid, (unsigned)c->peer.uid,
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
        c->answers = requests_answer(c->server->requests, &c->peer, q, &c->n);
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
        quota_charge(&c->server->quota, c->peer.uid);
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

/* Takes fd and what is in peer. */
static void connection_open(struct server *s, int fd, struct peer *peer)
{
    struct connection *c = calloc(1, sizeof(*c));
    if (c) {
        c->io = loop_io_create(s->loop, fd, LOOP_READ, connection_ready, c);
        loop_timer_init(&c->timer, s->loop, time_over, c);
    }
    if (!c || !c->io) {
        quota_leave(&s->quota, peer->uid);
        peer_free(peer);
        free(c);
        close(fd);
        return;
    }
    c->server = s;
    c->fd = fd;
    c->peer = *peer;
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
    struct peer peer;
    struct error e;
    if (peer_read(fd, &peer, &e) < 0) {
        log_debug("%s", e.text);
        close(fd);
    } else if (peer.uid != 0 && s->n >= conf->max_connections) {
        peer_free(&peer);
        turn_away(fd, "too many requests of all users: ask again later");
    } else if (!quota_enter(&s->quota, peer.uid, loop_now(), (unsigned)conf->user_connections,
                            (double)conf->user_rate)) {
        peer_free(&peer);
        turn_away(fd, "too many requests of this user: ask again later");
    } else {
        connection_open(s, fd, &peer);
    }
}

static void accept_again(void *arg)
{
    struct server *s = arg;
    loop_io_set(s->io, LOOP_READ);
}

static void server_ready(void *arg, int fd, unsigned events)
{
    struct server *s = arg;
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

/* ---- the socket -------------------------------------------------------------------------------
 */

int server_directory(const char *path, int make, struct error *err)
{
    struct stat st;
    AUTO_FREE char *dir = strdup(path);
    char *slash = dir ? strrchr(dir, '/') : NULL;
    if (!slash || slash == dir)
        return error_set(err, EINVAL, "listen at '%s': not a path with a directory", path);
    *slash = 0;
    if (make && mkdir(dir, 0755) == 0)
        (void)chmod(dir, 0755);
    if (lstat(dir, &st) < 0)
        return !make && errno == ENOENT ? 0 : error_errno(err, errno, "listen at '%s'", path);
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return error_set(err, EPERM,
                         "listen at '%s': its directory must belong to user %u and be writable to "
                         "nobody else",
                         path, (unsigned)geteuid());
    return 0;
}

/* Only root can open the file: a user who could would keep every daemon from starting. fcntl()'s
 * lock ends with the daemon, as its children do not have it, and the kernel says whose it is. */
static int take_lock(struct server *s, struct error *err)
{
    struct flock f = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    AUTO_FREE char *name = NULL;
    if (server_directory(s->path, 1, err) < 0)
        return -1;
    if (asprintf(&name, "%s" GRANT_LOCK, s->path) < 0)
        return error_errno(err, ENOMEM, "listen at '%s'", s->path);
    cleanup_close(&s->lock); /* perhaps of a directory that is gone */
    s->lock = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (s->lock >= 0 && fcntl(s->lock, F_SETLK, &f) == 0)
        return 0;
    if (s->lock < 0 || (errno != EAGAIN && errno != EACCES))
        return error_errno(err, errno, "lock '%s'", name);
    (void)fcntl(s->lock, F_GETLK, &f);
    return error_set(err, EADDRINUSE, "listen at '%s': another mprund, pid %d, does so already",
                     s->path, (int)f.l_pid);
}

/* A descriptor that listens at the path, and *ret, the file that is there then. */
static int listen_at(const char *path, struct stat *ret, struct error *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(at.sun_path))
        return error_errno(err, ENAMETOOLONG, "listen at '%s'", path);
    strcpy(at.sun_path, path);
    (void)unlink(path);
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || chmod(path, 0666) < 0 ||
        listen(fd, BACKLOG) < 0 || lstat(path, ret) < 0)
        return error_errno(err, errno, "listen at '%s'", path);
    return take_fd(&fd);
}

static int make_socket(struct server *s, struct error *err)
{
    struct stat at;
    AUTO_CLOSE int fd = listen_at(s->path, &at, err);
    if (fd < 0)
        return -1;
    struct loop_io *io = loop_io_create(s->loop, fd, LOOP_READ, server_ready, s);
    if (!io)
        return error_errno(err, ENOMEM, "listen at '%s'", s->path);
    loop_io_destroy(s->io);
    cleanup_close(&s->fd);
    s->io = io;
    s->fd = take_fd(&fd);
    s->inode = at.st_ino;
    (void)futimens(s->lock, NULL);
    return 0;
}

/* Somebody may have removed the whole directory, or be doing so. */
static int is_there(const struct server *s)
{
    struct stat at, lock, sentinels = {.st_nlink = 1};
    (void)fstat(s->requests->sentinels, &sentinels);
    return lstat(s->path, &at) == 0 && at.st_ino == s->inode && fstat(s->lock, &lock) == 0 &&
           lock.st_nlink > 0 && sentinels.st_nlink > 0;
}

static void make_again(struct server *s)
{
    struct requests *r = s->requests;
    struct error e;
    if (take_lock(s, &e) < 0 || make_socket(s, &e) < 0) {
        if (!s->told++)
            log_error("%s; trying again every %g s", e.text, GRANT_SIGN_S);
        return;
    }
    s->told = 0;
    sentinel_begin(&r->sentinels, r->conf->sentinel_dir, r->jobs);
    log_warn("somebody has removed '%s', or what belongs to it: it is there again", s->path);
}

/* Clients do not wait for a daemon of which there is no sign: see grant_patience(). */
static void give_sign(void *arg)
{
    struct server *s = arg;
    if (!is_there(s))
        make_again(s);
    else
        (void)futimens(s->lock, NULL);
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

struct server *server_create(struct loop *l, const char *path, struct requests *requests,
                             struct error *err)
{
    struct server *s = calloc(1, sizeof(*s));
    if (!s) {
        error_errno(err, ENOMEM, "listen at '%s'", path);
        return NULL;
    }
    s->loop = l;
    s->path = path;
    s->requests = requests;
    s->fd = s->lock = -1;
    loop_timer_init(&s->again, l, accept_again, s);
    loop_timer_init(&s->sign, l, give_sign, s);
    if (take_lock(s, err) == 0)
        return s;
    server_destroy(s);
    return NULL;
}

int server_listen(struct server *s, struct error *err)
{
    if (make_socket(s, err) < 0)
        return -1;
    loop_timer_start(&s->sign, 0, GRANT_SIGN_S);
    return 0;
}

void server_destroy(struct server *s)
{
    if (!s)
        return;
    int saved = errno;
    while (s->connections)
        connection_close(s->connections);
    loop_io_destroy(s->io);
    loop_timer_stop(&s->again);
    loop_timer_stop(&s->sign);
    cleanup_close(&s->fd);
    cleanup_close(&s->lock);
    free(s);
    errno = saved;
}
