/* SPDX-License-Identifier: BSD-3-Clause */
/* server.c - the socket
 *
 * Anybody on the host can connect, so a connection gets little: one place of max_connections and of
 * user_connections, one second to send its request, five to get an answer where mprund has to ask a
 * manager, and five to read it. When all places are taken, mprund closes the connection that has
 * been silent for longest; when none is silent, it turns users away.
 *
 * mprund accepts some connections at a time and answers requests one by one: root's first, then
 * that of the user who took the least of mprund's time of late. It looks at root's socket between
 * two requests, so that a shepherd does not wait while users keep mprund busy. */
#include "node-daemon/front/requests/server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "node-daemon/lib/unlinger.h"

static const double ASK_S = 1, WAIT_S = 5, HEAR_S = 5, SHORT_S = 0.1;
enum { ROOTS_PLACES = 64, BATCH = 16 };
enum { TELL_AGAIN_S = 3 }; /* that the sockets are gone, where they could not be made again */

struct connection {
    struct server *server;
    struct connection *next, *prev;
    int fd;
    struct client client;
    struct loop_io *io;
    struct loop_timer timer;
    enum {
        IS_SILENT,  /* it has not asked yet */
        IS_NEXT,    /* it has asked, and its turn comes */
        IS_WAITING, /* for something to be settled */
        IS_HELD,    /* until the reader is free for it */
        IS_HEARING, /* the answers */
    } state;
    bool waits; /* it was not answered at once */
    struct grant_request asked;
    size_t asked_len;
    struct grant_answer *answers;
    size_t n, sent;
};

/* ---- a connection ---------------------------------------------------------------------------- */

static void connection_close(struct connection *c)
{
    struct server *s = c->server;
    bool is_roots = c->client.uid == 0;
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
    unlinger_close(&c->fd);
    free(c->answers);
    free(c);
    s->n--;
    s->of_users -= !is_roots;
    if (is_roots && s->roots_io)
        loop_io_set(s->roots_io, LOOP_READ); /* there is a place again */
    if (s->n == 0 && s->drained)
        s->drained(s->arg);
}

static void turn_away(int fd, const char *why)
{
    struct grant_answer a;
    struct grant_request q;
    grant_answer_init(&a, GRANT_BUSY, why);
    unlinger_begin();
    (void)recv(fd, &q, sizeof(q), MSG_DONTWAIT); /* unread, it would take the answer with it */
    unlinger_end();
    (void)send(fd, &a, sizeof(a), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool has_asked(const struct connection *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    return c->state == IS_SILENT && poll(&p, 1, 0) == 1;
}

static void time_over(void *arg)
{
    struct connection *c = arg;
    if (has_asked(c)) /* mprund itself was held up, and hears it now */
        return;
    log_debug("pid %d of user %u %s in time", (int)c->client.pid, (unsigned)c->client.uid,
              c->state == IS_HEARING  ? "did not hear its answer"
              : c->state == IS_SILENT ? "did not ask"
                                      : "was not answered");
    if (c->state == IS_HELD)
        turn_away(c->fd, "too many of all users ask what their managers wrote: ask again later");
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

static void wait_for_more(struct connection *c)
{
    if (!c->waits) /* from the first time on */
        loop_timer_start(&c->timer, WAIT_S, 0);
    c->waits = true;
    c->state = c->client.found.is_held ? IS_HELD : IS_WAITING;
}

/* The answers, or NULL: there is none yet. */
static struct grant_answer *answers_to(struct connection *c)
{
    const struct grant_request q = c->asked;
    const char *fault = grant_request_fault(&q, c->asked_len);
    c->n = 1;
    if (!fault)
        return requests_answer(c->server->requests, &c->client, &q, &c->n);
    struct grant_answer *a = must(calloc(1, sizeof(*a)));
    grant_answer_init(a, GRANT_BAD, fault);
    return a;
}

static bool is_refusal(const struct grant_answer *a)
{
    return a->result == GRANT_REFUSED || a->result == GRANT_BAD || a->result == GRANT_FAILED;
}

static void answer(struct connection *c)
{
    double start = loop_now();
    c->answers = answers_to(c);
    quota_charge(&c->server->quota, c->client.uid, loop_now() - start,
                 c->answers && is_refusal(c->answers));
    if (!c->answers) {
        wait_for_more(c);
        return;
    }
    c->state = IS_HEARING;
    loop_timer_start(&c->timer, HEAR_S, 0);
    send_answers(c);
}

/* It asks, or has gone; who asks twice is not heard. */
static void hear(struct connection *c)
{
    struct grant_request q;
    memset(&q, 0, sizeof(q));
    unlinger_begin();
    ssize_t n =
        recv(c->fd, &q, sizeof(q), MSG_TRUNC | MSG_DONTWAIT); /* the whole packet's length */
    int why = errno;
    unlinger_end();
    if (n < 0 && (why == EAGAIN || why == EINTR))
        return;
    if (n <= 0 || c->state != IS_SILENT) {
        connection_close(c);
        return;
    }
    c->asked = q;
    c->asked_len = (size_t)n;
    c->state = IS_NEXT;
    loop_timer_stop(&c->timer); /* when its turn comes is not up to it */
    if (!loop_timer_is_active(&c->server->turn))
        loop_timer_start(&c->server->turn, 0, 0);
}

static void connection_ready(void *arg, int fd, unsigned events)
{
    struct connection *c = arg;
    if (c->state == IS_HEARING)
        send_answers(c);
    else
        hear(c);
}

/* The reader has found out what this connection asked about. */
static void found(void *arg)
{
    struct connection *c = arg;
    if (c->state == IS_WAITING)
        answer(c);
}

void server_settled(struct server *s)
{
    for (struct connection *c = s->connections, *next; c; c = next) {
        next = c->next;
        if (c->state == IS_WAITING)
            answer(c);
    }
}

/* The connection whose user took least; of users alike, the one that came first. */
static struct connection *first_in(struct server *s, int state, int *ret_n)
{
    struct connection *next = NULL;
    double most = 0;
    *ret_n = 0;
    for (struct connection *c = s->connections; c; c = c->next) {
        if ((int)c->state != state)
            continue;
        double left = quota_left(&s->quota, c->client.uid);
        if ((*ret_n)++ == 0 || left >= most) {
            next = c;
            most = left;
        }
    }
    return next;
}

static void answer_next(void *arg)
{
    struct server *s = arg;
    int n;
    struct connection *next = first_in(s, IS_NEXT, &n);
    if (n > 1)
        loop_timer_start(&s->turn, 0, 0);
    if (next)
        answer(next);
}

void server_reader_took(struct server *s, uid_t uid, double seconds)
{
    int n;
    quota_charge(&s->quota, uid, seconds, false);
    struct connection *next = first_in(s, IS_HELD, &n);
    if (!next)
        return;
    next->state = IS_NEXT;
    if (!loop_timer_is_active(&s->turn))
        loop_timer_start(&s->turn, 0, 0);
}

/* ---- accepting ------------------------------------------------------------------------------- */

static const char all_are_too_many[] = "too many requests of all users: ask again later";

/* The held connection of the user who took most; NULL: none took more than this one. */
static struct connection *held_of_greedier(struct server *s, uid_t uid)
{
    struct connection *found = NULL;
    double least = quota_left(&s->quota, uid);
    for (struct connection *c = s->connections; c; c = c->next)
        if (c->state == IS_HELD && quota_left(&s->quota, c->client.uid) < least) {
            found = c;
            least = quota_left(&s->quota, c->client.uid);
        }
    return found;
}

/* A place for one more user: false, all have asked and wait for an answer. */
static bool make_room(struct server *s, uid_t uid)
{
    struct connection *oldest = NULL;
    if (s->of_users < s->requests->conf->max_connections)
        return true;
    for (struct connection *c = s->connections; c; c = c->next)
        if (c->state == IS_SILENT && c->client.uid != 0)
            oldest = c;
    if (!oldest && !(oldest = held_of_greedier(s, uid)))
        return false;
    turn_away(oldest->fd, all_are_too_many);
    connection_close(oldest);
    return true;
}

/* Takes fd. */
static void connection_open(struct server *s, int fd, const struct ucred *who)
{
    struct connection *c = must(calloc(1, sizeof(*c)));
    c->io = loop_io_create(s->loop, fd, LOOP_READ, connection_ready, c);
    loop_timer_init(&c->timer, s->loop, time_over, c);
    c->server = s;
    c->fd = fd;
    c->client = (struct client){.fd = fd, .pid = who->pid, .uid = who->uid};
    findings_init(&c->client.found, s->requests->reader, who->uid, found, c);
    c->next = s->connections;
    if (c->next)
        c->next->prev = c;
    s->connections = c;
    s->n++;
    s->of_users += who->uid != 0;
    loop_timer_start(&c->timer, ASK_S, 0);
    hear(c); /* most have asked by then */
}

static const char too_many[] = "too many requests of this user: ask again later";

/* NULL, or why not. */
static const char *check_may_come(struct server *s, uid_t uid)
{
    const struct conf *conf = s->requests->conf;
    if (uid == 0)
        return s->n - s->of_users < ROOTS_PLACES ? NULL
                                                 : "too many requests of root: ask again later";
    if (!quota_enter(&s->quota, uid, loop_now(), (unsigned)conf->user_connections,
                     (double)conf->user_rate))
        return too_many;
    if (make_room(s, uid))
        return NULL;
    quota_leave(&s->quota, uid);
    return all_are_too_many;
}

/* Takes fd. */
static void welcome(struct server *s, int fd)
{
    struct ucred who;
    socklen_t len = sizeof(who);
    int rc = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len);
    const char *why = rc < 0 ? NULL : check_may_come(s, who.uid);
    if (why && (why != too_many || quota_is_to_tell(&s->quota, who.uid, loop_now())))
        turn_away(fd, why);
    if (rc < 0 || why)
        unlinger_close(&fd);
    else
        connection_open(s, fd, &who);
}

/* The next front answers who comes now. */
static bool is_to_end(void)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGHUP) || sigismember(&pending, SIGTERM);
}

static void accept_again(void *arg)
{
    struct server *s = arg;
    if (s->io)
        loop_io_set(s->io, LOOP_READ);
    if (s->roots_io)
        loop_io_set(s->roots_io, LOOP_READ);
}

/* False: nobody is there any more, or there is no descriptor for who is. */
static bool accept_one(struct server *s, int fd)
{
    int one = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (one >= 0)
        welcome(s, one);
    if (one >= 0 || errno == ECONNABORTED || errno == EINTR)
        return true;
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        if (s->io)
            loop_io_set(s->io, 0);
        if (s->roots_io)
            loop_io_set(s->roots_io, 0);
        loop_timer_start(&s->again, SHORT_S, 0);
    }
    return false;
}

static void users_come(void *arg, int fd, unsigned events)
{
    struct server *s = arg;
    for (int i = 0; i < BATCH && !is_to_end() && accept_one(s, fd); i++)
        ;
}

/* A connection that finds no place waits in the kernel's queue. */
static void root_comes(void *arg, int fd, unsigned events)
{
    struct server *s = arg;
    while (!is_to_end() && s->n - s->of_users < ROOTS_PLACES && accept_one(s, fd))
        ;
    if (s->n - s->of_users >= ROOTS_PLACES)
        loop_io_set(s->roots_io, 0);
}

/* ---- the sockets ----------------------------------------------------------------------------- */

/* 0: nothing is there. */
static ino_t inode_of(const char *path)
{
    struct stat at;
    return lstat(path, &at) == 0 ? at.st_ino : 0;
}

/* Somebody may have removed them, or the whole directory, also before this daemon began. */
static int is_there(const struct server *s)
{
    struct stat lock, sentinels = {.st_nlink = 1};
    if (s->requests->sentinels >= 0)
        (void)fstat(s->requests->sentinels, &sentinels);
    return s->inode != 0 && inode_of(GRANT_SOCKET) == s->inode && s->roots_inode != 0 &&
           inode_of(GRANT_ROOT_SOCKET) == s->roots_inode &&
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
    if (is_there(s)) {
        s->tell_again = 0;
        return;
    }
    if (loop_now() < s->tell_again)
        return;
    if (s->tell_again == 0)
        log_warn("somebody has removed '%s', or what belongs to it: it is made again",
                 GRANT_SOCKET);
    s->tell_again = loop_now() + TELL_AGAIN_S;
    (void)start_tell(TOLD_SOCKETS_GONE);
}

void server_listen(struct server *s)
{
    int fd = s->start->of[GIFT_SOCKET], roots = s->start->of[GIFT_ROOT_SOCKET];
    loop_io_destroy(s->io);
    loop_io_destroy(s->roots_io);
    s->io = loop_io_create(s->loop, fd, LOOP_READ, users_come, s);
    s->roots_io = roots < 0 ? NULL : loop_io_create(s->loop, roots, LOOP_READ, root_comes, s);
    s->inode = inode_of(GRANT_SOCKET);
    s->roots_inode = inode_of(GRANT_ROOT_SOCKET);
    s->tell_again = 0;
    loop_timer_start(&s->sign, 0, GRANT_SIGN_S);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void server_open(struct server *s, struct loop *l, struct start *start, struct requests *requests)
{
    *s = (struct server){.loop = l, .start = start, .requests = requests};
    loop_timer_init(&s->again, l, accept_again, s);
    loop_timer_init(&s->sign, l, give_sign, s);
    loop_timer_init(&s->turn, l, answer_next, s);
    server_listen(s);
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

void server_close(struct server *s)
{
    s->drained = NULL;
    while (s->connections)
        connection_close(s->connections);
    loop_io_destroy(s->io);
    loop_io_destroy(s->roots_io);
    loop_timer_stop(&s->again);
    loop_timer_stop(&s->sign);
    loop_timer_stop(&s->turn);
}
