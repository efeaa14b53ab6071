/* SPDX-License-Identifier: BSD-3-Clause */
/* test-link-resume.c - a link over TCP outlives its connections: nothing is lost, nothing comes
 * twice, and its end is told as soon as it can be known
 *
 * Both ends and a proxy between them run on one loop. The proxy cuts what goes through it. */
#include "wire/link/link.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/buffer.h"
#include "common/files/fdio.h"
#include "tests/unit/listen-tcp.h"
#include "tests/unit/patience.h"
#include "wire/link/key-proof.h"
#include "wire/link/link-private.h"
#include "wire/link/listener.h"
#include "wire/little-endian.h"
#include "wire/transport/dial.h"

static const uint8_t key[LINK_KEY] = "the key of a step, 32 bytes long";

enum { HOST = 7, PIPES = 4, FORWARD_MAX = 256 * 1024 };

/* ---- the proxy ------------------------------------------------------------------------------- */

enum cut { CUT_NONE, CUT_RESET, CUT_END, CUT_HALF }; /* HALF: only the connector learns of it */

struct half { /* one direction, or one socket's side of it */
    int fd;
    struct loop_io *io;
    struct buffer out; /* for fd */
    int shut;          /* nothing from fd goes on */
};

struct tunnel {
    struct proxy *proxy;
    struct half side[2]; /* 0: connector's, 1: door's */
    size_t left;         /* bytes until it is cut; 0: never */
    struct tunnel *next;
};

struct proxy {
    struct loop *loop;
    int fd;
    struct loop_io *io;
    char address[ADDRESS_TEXT], door[ADDRESS_TEXT];
    struct tunnel *tunnels;
    struct tunnel *now;
    int deny;        /* accept, and close at once */
    size_t cut_span; /* new tunnels are cut after up to so many bytes */
    unsigned seed, ncuts, nmodes[4];
    int silent[2]; /* what comes from this side stays here */
};

static void half_close(struct half *h, int reset)
{
    struct linger hard = {.l_onoff = 1};
    if (h->fd < 0)
        return;
    if (reset)
        setsockopt(h->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    loop_io_destroy(h->io);
    h->io = NULL;
    close(h->fd);
    h->fd = -1;
    buffer_free(&h->out);
}

/* With CUT_HALF the door's side stays as it is, until the proxy ends. */
static void tunnel_cut(struct tunnel *t, enum cut how)
{
    half_close(&t->side[0], how != CUT_END);
    if (how == CUT_HALF) {
        if (t->side[1].io)
            loop_io_set(t->side[1].io, 0);
    } else {
        half_close(&t->side[1], how != CUT_END);
    }
    if (t->proxy->now == t)
        t->proxy->now = NULL;
    t->proxy->ncuts++;
    t->proxy->nmodes[how]++;
}

static void watch(struct tunnel *t)
{
    for (int i = 0; i < 2; i++) {
        struct half *h = &t->side[i], *other = &t->side[!i];
        int take = buffer_len(&other->out) < FORWARD_MAX && !t->proxy->silent[i];
        if (h->io)
            loop_io_set(h->io, (take ? LOOP_READ : 0) | (buffer_len(&h->out) ? LOOP_WRITE : 0));
    }
}

/* One side is closed or broken: so is the other. */
static void tunnel_over(struct tunnel *t)
{
    half_close(&t->side[0], 0);
    half_close(&t->side[1], 0);
    if (t->proxy->now == t)
        t->proxy->now = NULL;
}

static void tunnel_ready(void *arg, int fd, unsigned events)
{
    struct tunnel *t = arg;
    int i = t->side[1].fd == fd;
    struct half *h = &t->side[i], *other = &t->side[!i];
    if (events & LOOP_WRITE && buffer_len(&h->out) && buffer_write(&h->out, fd) < 0 &&
        errno != EAGAIN) {
        tunnel_over(t);
        return;
    }
    if (events & LOOP_READ) {
        ssize_t n = buffer_read(&other->out, fd, t->left && t->left < 65536 ? t->left : 65536);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            /* what it has sent goes on, as far as the socket takes it */
            if (other->fd >= 0 && buffer_len(&other->out))
                buffer_write(&other->out, other->fd);
            tunnel_over(t);
            return;
        }
        if (n > 0 && t->left && (t->left -= (size_t)n) == 0) {
            if (other->fd >= 0)
                buffer_write(&other->out, other->fd);
            tunnel_cut(t, CUT_RESET + (enum cut)(rand_r(&t->proxy->seed) % 3));
            return;
        }
    }
    watch(t);
}

static int half_open(struct tunnel *t, int i, int fd)
{
    t->side[i].fd = fd;
    fd_set_nonblock(fd, 1);
    t->side[i].io = loop_io_create(t->proxy->loop, fd, LOOP_READ, tunnel_ready, t);
    return t->side[i].io ? 0 : -1;
}

static void proxy_accept(void *arg, int fd, unsigned events)
{
    struct proxy *p = arg;
    int peer = accept(fd, NULL, NULL);
    assert_true(peer >= 0);
    if (p->deny) {
        close(peer);
        return;
    }
    struct tunnel *t = calloc(1, sizeof(*t));
    int door = dial_wait(p->door, 5, NULL);
    assert_true(door >= 0);
    t->proxy = p;
    t->next = p->tunnels;
    p->tunnels = p->now = t;
    if (p->cut_span) {
        size_t span = rand_r(&p->seed) % 8 == 0 ? 600 : p->cut_span; /* in the handshake, too */
        t->left = 1 + (size_t)rand_r(&p->seed) % span;
    }
    half_open(t, 0, peer);
    half_open(t, 1, door);
    watch(t);
}

static void proxy_listen(struct proxy *p)
{
    struct error e;
    p->fd = listen_tcp("127.0.0.1", p->address, &e);
    assert_true(p->fd >= 0);
    p->io = loop_io_create(p->loop, p->fd, LOOP_READ, proxy_accept, p);
}

static void proxy_shut(struct proxy *p)
{
    loop_io_destroy(p->io);
    p->io = NULL;
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

static void proxy_end(struct proxy *p)
{
    proxy_shut(p);
    while (p->tunnels) {
        struct tunnel *t = p->tunnels;
        p->tunnels = t->next;
        tunnel_over(t);
        free(t);
    }
}

static void proxy_silence(struct proxy *p, int side, int on)
{
    p->silent[side] = on;
    if (p->now)
        watch(p->now);
}

/* ---- the two ends ---------------------------------------------------------------------------- */

struct end {
    struct world *world;
    struct link *link;
    int opened, lost, resumed, closed;
    struct error why, lost_why;
    double closed_at;
    enum frame_type bulk, control; /* that this end sends */
    uint64_t sent, got;            /* bulk bytes; every 8 bytes of the stream are their position */
    uint32_t sent_control, got_control;
    uint64_t goal; /* bulk bytes to send */
    uint32_t goal_control;
    unsigned seed;
    int destroy_when_lost, destroy_when_resumed;
    size_t most_kept;
};

struct world {
    struct loop *loop;
    struct proxy proxy;
    struct listener *listener;
    struct end up, down; /* connector; acceptor */
    int refused;
    struct error refused_why;
    int (*done)(struct world *w);
};

static void look(struct world *w)
{
    if (w->done && w->done(w))
        loop_stop(w->loop);
}

/* Bytes of frames that the peer has not acknowledged; 0 for links that cannot be resumed. */
static size_t unacknowledged(const struct link *l)
{
    return l->session ? buffer_len(&l->session->kept) : 0;
}

static void note_kept(struct end *e)
{
    size_t kept = e->link ? unacknowledged(e->link) : 0;
    if (kept > e->most_kept)
        e->most_kept = kept;
}

static void send_control(struct end *e)
{
    /* now and then one that needs several frames */
    static uint8_t text[300 * 1024];
    size_t n = e->sent_control % 64 == 63 ? sizeof(text) : 4 + e->sent_control % 200;
    memset(text, (int)(e->sent_control & 0xff), n);
    put32(text, e->sent_control++);
    link_send_bytes(e->link, e->control, text, n);
}

static void send_bulk(struct end *e)
{
    struct bulk_header h = {{0, 1, 0}, e->bulk == FRAME_OUTPUT, 0};
    size_t room = link_bulk_room(e->link) & ~(size_t)7;
    size_t n = 8 * (1 + (size_t)rand_r(&e->seed) % 8192);
    if (n > room)
        n = room;
    if (n > e->goal - e->sent)
        n = (size_t)(e->goal - e->sent);
    uint8_t *to = link_bulk_reserve(e->link, n);
    assert_non_null(to);
    for (size_t i = 0; i < n; i += 8)
        put64(to + i, e->sent + i);
    link_bulk_commit(e->link, e->bulk, &h, n, 0);
    e->sent += n;
}

/* How many control messages there are by now, in step with the bulk data. */
static uint32_t control_due(const struct end *e)
{
    return e->goal ? (uint32_t)(e->sent * e->goal_control / e->goal) : e->goal_control;
}

static void pump(struct end *e)
{
    while (e->link && e->sent < e->goal && link_bulk_room(e->link) >= 8) {
        send_bulk(e);
        while (e->sent_control < control_due(e))
            send_control(e);
    }
    if (e->link)
        note_kept(e);
}

static int opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct end *e = arg;
    e->opened++;
    look(e->world);
    return 0;
}

static void frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct end *e = arg;
    if (type == FRAME_OUTPUT || type == FRAME_INPUT) {
        for (size_t i = BULK_HEADER; i < n; i += 8)
            if (get64(p + i) != e->got + i - BULK_HEADER)
                fail_msg("bulk data of %llu at %llu", (unsigned long long)get64(p + i),
                         (unsigned long long)(e->got + i - BULK_HEADER));
        e->got += n - BULK_HEADER;
    } else {
        assert_int_equal(get32(p), e->got_control);
        if (n > 4)
            assert_int_equal(p[n - 1], e->got_control & 0xff);
        e->got_control++;
    }
    look(e->world);
}

static void writable(void *arg, struct link *l)
{
    pump(arg);
}

static void lost(void *arg, struct link *l, const struct error *why)
{
    struct end *e = arg;
    e->lost++;
    e->lost_why = *why;
    assert_int_equal(link_bulk_room(l), 0);
    assert_true(link_is_open(l));
    if (e->destroy_when_lost) {
        link_destroy(l);
        e->link = NULL;
    }
    look(e->world);
}

static void resumed(void *arg, struct link *l, double seconds)
{
    struct end *e = arg;
    e->resumed++;
    assert_true(seconds >= 0 && seconds < patience(60));
    if (e->destroy_when_resumed) {
        link_destroy(l);
        e->link = NULL;
    }
    look(e->world);
}

static void closed(void *arg, struct link *l, const struct error *why)
{
    struct end *e = arg;
    e->closed++;
    e->why = *why;
    e->closed_at = loop_now();
    look(e->world);
}

static const struct link_events events = {.opened = opened,
                                          .frame = frame,
                                          .writable = writable,
                                          .lost = lost,
                                          .resumed = resumed,
                                          .closed = closed};

static int arrived(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct world *w = arg;
    if (w->down.opened)
        return error_set(why, EBUSY, "host %u is taken already", host_id);
    w->down.link = l;
    w->down.opened = 1;
    link_set_events(l, &events, &w->down);
    look(w);
    return 0;
}

static struct link *returns(void *arg, uint32_t host_id)
{
    struct world *w = arg;
    return host_id == HOST ? w->down.link : NULL;
}

static void refused(void *arg, const char *peer, const struct error *why)
{
    struct world *w = arg;
    w->refused++;
    w->refused_why = *why;
    look(w);
}

static const struct listen_events door_events = {
    .arrived = arrived, .returns = returns, .refused = refused};

struct how {
    enum link_security security;
    int not_up, not_down; /* who does not want to resume */
    double up_grace, down_grace, patience;
    size_t bytes;
};

static struct link *connect_as(struct world *w, struct end *e, const struct how *how,
                               const char *address)
{
    struct error err;
    struct link_options o = {.role = LINK_CONNECTOR,
                             .key = key,
                             .host_id = HOST,
                             .security = how->security,
                             .resume_seconds = how->not_up     ? 0
                                               : how->up_grace ? how->up_grace
                                                               : 50,
                             .resume_bytes = how->bytes,
                             .addresses = address};
    int fd = dial_wait(address, 5, &err);
    assert_true(fd >= 0);
    return link_create(w->loop, fd, fd, &o, "mprun", &events, e, &err);
}

static int both_open(struct world *w)
{
    return w->up.opened && w->down.opened;
}

static void too_long(void *arg)
{
    fprintf(stderr, "test-link-resume: not done after %g s\n", patience(60));
    abort();
}

static void run(struct world *w, int (*done)(struct world *w))
{
    struct loop_timer t;
    loop_timer_init(&t, w->loop, too_long, NULL);
    w->done = done;
    loop_timer_start(&t, patience(60), 0);
    if (!done(w))
        loop_run(w->loop);
    loop_timer_stop(&t);
}

static struct world *begin(const struct how *how)
{
    struct world *w = calloc(1, sizeof(*w));
    struct error e;
    struct link_options o = {.resume_seconds = how->not_down     ? 0
                                               : how->down_grace ? how->down_grace
                                                                 : 50,
                             .resume_patience = how->patience ? how->patience : 40,
                             .resume_bytes = how->bytes};
    w->loop = w->proxy.loop = loop_create(&e);
    int fd = listen_tcp("127.0.0.1", w->proxy.door, &e);
    assert_true(fd >= 0);
    w->listener = listener_create(w->loop, fd, key, how->security, &door_events, w);
    listener_resumable(w->listener, &o);
    proxy_listen(&w->proxy);
    w->up = (struct end){.world = w, .bulk = FRAME_OUTPUT, .control = FRAME_LOG, .seed = 1};
    w->down = (struct end){.world = w, .bulk = FRAME_INPUT, .control = FRAME_SIGNAL, .seed = 2};
    w->up.link = connect_as(w, &w->up, how, w->proxy.address);
    assert_non_null(w->up.link);
    run(w, both_open);
    return w;
}

static void finish(struct world *w)
{
    link_destroy(w->up.link);
    link_destroy(w->down.link);
    listener_destroy(w->listener);
    proxy_end(&w->proxy);
    loop_destroy(w->loop);
    free(w);
}

static void cut_now(struct world *w, enum cut how)
{
    assert_non_null(w->proxy.now);
    tunnel_cut(w->proxy.now, how);
}

/* ---- tests: nothing is lost ------------------------------------------------------------------ */

static int all_there(struct world *w)
{
    return w->up.closed || w->down.closed ||
           (w->down.got == w->up.goal && w->up.got == w->down.goal &&
            w->down.got_control == w->up.goal_control && w->up.got_control == w->down.goal_control);
}

static void rest_of_control(struct end *e)
{
    while (e->sent_control < e->goal_control)
        send_control(e);
}

static void set_goal(struct world *w, uint64_t bulk, uint32_t control)
{
    w->up.goal += bulk;
    w->down.goal += bulk;
    w->up.goal_control += control;
    w->down.goal_control += control;
}

static void transfer(struct world *w, uint64_t bulk, uint32_t control)
{
    set_goal(w, bulk, control);
    pump(&w->up);
    pump(&w->down);
    if (bulk == 0) {
        rest_of_control(&w->up);
        rest_of_control(&w->down);
    }
    run(w, all_there);
    if (w->up.closed || w->down.closed)
        fail_msg("closed: '%s' '%s'", w->up.why.text, w->down.why.text);
}

static void hundreds_of_cuts(int encrypt, unsigned seed)
{
    enum { BULK = 64 * 1024 * 1024, CONTROL = 4000, KEPT = 256 * 1024 };
    struct world *w = begin(&(struct how){.security = encrypt, .bytes = KEPT});
    w->proxy.seed = seed;
    w->proxy.cut_span = 1024 * 1024;
    cut_now(w, CUT_RESET); /* from here on every connection has its end */
    transfer(w, BULK, CONTROL);
    assert_in_range(w->proxy.ncuts, 100, 100000);
    for (enum cut how = CUT_RESET; how <= CUT_HALF; how++)
        assert_in_range(w->proxy.nmodes[how], 10, 100000);
    assert_in_range(w->up.lost, 50, 100000);
    assert_in_range(w->down.resumed, 50, 100000);
    assert_in_range(w->up.most_kept, 1, KEPT + FRAME_HEADER + FRAME_PAYLOAD_MAX);
    assert_in_range(w->down.most_kept, 1, KEPT + FRAME_HEADER + FRAME_PAYLOAD_MAX);
    finish(w);
}

static void every_byte_comes_once_across_hundreds_of_cuts(void **state)
{
    hundreds_of_cuts(0, 1);
}

static void and_encrypted(void **state)
{
    hundreds_of_cuts(1, 2);
}

static void and_with_tags(void **state)
{
    hundreds_of_cuts(LINK_MAC, 3);
}

static int both_resumed(struct world *w)
{
    return w->up.resumed && w->down.resumed;
}

static void each_end_is_told(void **state)
{
    struct world *w = begin(&(struct how){.security = 1});
    transfer(w, 0, 10);
    cut_now(w, CUT_END);
    run(w, both_resumed);
    assert_int_equal(w->up.lost, 1);
    assert_int_equal(w->down.lost, 1);
    assert_string_equal(w->up.lost_why.text, "closed");
    assert_int_equal(w->up.opened, 1); /* and not again */
    transfer(w, 1024 * 1024, 10);
    finish(w);
}

static void what_is_sent_meanwhile_waits(void **state)
{
    struct world *w = begin(&(struct how){.security = 0});
    w->proxy.deny = 1;
    cut_now(w, CUT_RESET);
    set_goal(w, 0, 100);
    rest_of_control(&w->up);
    rest_of_control(&w->down);
    assert_true(link_pending(w->up.link) > 0);
    w->proxy.deny = 0;
    run(w, all_there);
    assert_int_equal(w->up.got_control, 100);
    finish(w);
}

static void a_half_open_connection_is_replaced(void **state)
{
    struct world *w = begin(&(struct how){.security = 1});
    cut_now(w, CUT_HALF);
    run(w, both_resumed);
    assert_non_null(strstr(w->down.lost_why.text, "another connection"));
    transfer(w, 1024 * 1024, 10);
    finish(w);
}

/* ---- tests: bounds --------------------------------------------------------------------------- */

static int stands_still(struct world *w)
{
    return link_bulk_room(w->up.link) == 0 && unacknowledged(w->up.link) >= 512 * 1024;
}

static void tick(void *arg)
{
    struct world *w = arg;
    pump(&w->up);
    look(w);
}

static void run_ticking(struct world *w, int (*done)(struct world *w))
{
    struct loop_timer t;
    loop_timer_init(&t, w->loop, tick, w);
    loop_timer_start(&t, 0.01, 0.01);
    run(w, done);
    loop_timer_stop(&t);
}

static void a_peer_that_never_acknowledges_stops_the_sender(void **state)
{
    enum { KEPT = 512 * 1024, GOAL = 8 * 1024 * 1024 };
    struct world *w = begin(&(struct how){.security = 1, .bytes = KEPT});
    proxy_silence(&w->proxy, 1, 1); /* what the acceptor sends does not arrive */
    w->up.goal = GOAL;
    w->up.goal_control = 1;
    run_ticking(w, stands_still);
    assert_in_range(unacknowledged(w->up.link), KEPT, KEPT + FRAME_HEADER + FRAME_PAYLOAD_MAX);
    assert_in_range(w->up.sent, KEPT / 2, 2 * KEPT);
    assert_int_equal(w->up.lost, 0);
    proxy_silence(&w->proxy, 1, 0);
    run_ticking(w, all_there);
    assert_int_equal(w->down.got, GOAL);
    finish(w);
}

static int nothing_kept(struct world *w)
{
    return unacknowledged(w->up.link) == 0 && unacknowledged(w->down.link) == 0;
}

static void an_idle_link_keeps_nothing(void **state)
{
    struct world *w = begin(&(struct how){.security = 0});
    transfer(w, 3 * 1024 * 1024, 3);
    run_ticking(w, nothing_kept);
    finish(w);
}

/* ---- tests: ends ----------------------------------------------------------------------------- */

static int up_closed(struct world *w)
{
    return w->up.closed;
}

static int down_closed(struct world *w)
{
    return w->down.closed;
}

static void goodbye_comes_at_once_and_behind_the_last_words(void **state)
{
    enum { LAST_WORDS = 60 }; /* as many as fit into the socket: a goodbye does not wait */
    for (int encrypt = 0; encrypt < 2; encrypt++) {
        struct world *w = begin(&(struct how){.security = encrypt});
        w->up.goal_control = LAST_WORDS;
        rest_of_control(&w->up);
        link_destroy(w->up.link);
        w->up.link = NULL;
        run(w, down_closed);
        assert_int_equal(w->down.why.code, 0);
        assert_string_equal(w->down.why.text, "closed");
        assert_int_equal(w->down.got_control, LAST_WORDS);
        assert_int_equal(w->down.lost, 0);
        finish(w);
        w = begin(&(struct how){.security = encrypt});
        link_destroy(w->down.link);
        w->down.link = NULL;
        run(w, up_closed);
        assert_int_equal(w->up.why.code, 0);
        assert_int_equal(w->up.lost, 0);
        finish(w);
    }
}

static void a_peer_that_is_gone_refuses_and_that_is_the_end(void **state)
{
    struct world *w = begin(&(struct how){.security = 1});
    double before = loop_now();
    proxy_shut(&w->proxy);
    cut_now(w, CUT_RESET);
    run(w, up_closed);
    assert_int_equal(w->up.why.code, ECONNREFUSED);
    assert_non_null(strstr(w->up.why.text, "nobody listens there any more"));
    assert_true(w->up.closed_at - before < patience(5));
    assert_int_equal(w->up.lost, 1);
    finish(w);
}

static void an_acceptor_has_patience_and_then_none(void **state)
{
    struct world *w = begin(&(struct how){.security = 1, .patience = 0.5});
    double before = loop_now();
    w->proxy.deny = 1;
    cut_now(w, CUT_END);
    run(w, down_closed);
    assert_int_equal(w->down.why.code, ECONNRESET);
    assert_non_null(strstr(w->down.why.text, "not connected again within 0.5 s"));
    assert_true(w->down.closed_at - before >= 0.4);
    assert_int_equal(w->up.closed, 0); /* it still tries, */
    w->proxy.deny = 0;
    run(w, up_closed); /* and learns that it is too late */
    assert_int_equal(w->up.why.code, ECONNREFUSED);
    assert_non_null(strstr(w->up.why.text, "given this link up"));
    assert_int_equal(w->refused, 1);
    finish(w);
}

static void a_connector_tries_until_its_grace_is_over(void **state)
{
    struct world *w = begin(&(struct how){.security = 0, .up_grace = 1});
    double before = loop_now();
    w->proxy.deny = 1;
    cut_now(w, CUT_END);
    run(w, up_closed);
    assert_int_equal(w->up.why.code, ETIMEDOUT);
    assert_non_null(strstr(w->up.why.text, "no connection for 1 s"));
    assert_true(w->up.closed_at - before >= 0.9);
    finish(w);
}

static void a_process_that_was_stopped_has_not_waited(void **state)
{
    struct world *w = begin(&(struct how){.security = 1, .up_grace = 1.5, .patience = 1.5});
    struct timespec stopped = {.tv_sec = 4};
    w->proxy.deny = 1;
    cut_now(w, CUT_END);
    w->done = NULL;
    nanosleep(&stopped, NULL); /* as far as the loop can tell, this is SIGSTOP */
    w->proxy.deny = 0;
    run(w, both_resumed);
    assert_int_equal(w->up.closed + w->down.closed, 0);
    finish(w);
}

static int both_gone(struct world *w)
{
    return !w->up.link && !w->down.link;
}

static void destroyed_in_its_own_callbacks(void **state)
{
    struct world *w = begin(&(struct how){.security = 1});
    w->up.destroy_when_lost = 1;
    w->down.destroy_when_lost = 1;
    cut_now(w, CUT_END);
    run(w, both_gone);
    finish(w);
    w = begin(&(struct how){.security = 1});
    w->up.destroy_when_resumed = 1;
    cut_now(w, CUT_END);
    run(w, down_closed);
    assert_int_equal(w->down.why.code, 0);
    finish(w);
    w = begin(&(struct how){.security = 1});
    w->down.destroy_when_resumed = 1;
    cut_now(w, CUT_HALF);
    run(w, up_closed);
    assert_int_equal(w->up.why.code, 0);
    finish(w);
}

static void it_takes_both_to_resume(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct world *w = begin(&(struct how){.security = 1, .not_up = i, .not_down = !i});
        transfer(w, 1024 * 1024, 10);
        assert_int_equal(unacknowledged(w->up.link), 0);
        cut_now(w, CUT_END);
        run(w, up_closed);
        run(w, down_closed);
        assert_int_equal(w->up.lost + w->down.lost, 0);
        assert_string_equal(w->down.why.text, "closed");
        finish(w);
    }
}

/* ---- tests: who may -------------------------------------------------------------------------- */

static void stop_soon(void *arg)
{
    loop_stop(arg);
}

/* The loop goes round once. */
static void turn(struct world *w)
{
    struct loop_timer t;
    loop_timer_init(&t, w->loop, stop_soon, w->loop);
    loop_timer_start(&t, 0.001, 0);
    loop_run(w->loop);
    loop_timer_stop(&t);
}

static int one_refused(struct world *w)
{
    return w->refused == 1;
}

static void a_second_one_of_the_same_host_is_refused(void **state)
{
    struct world *w = begin(&(struct how){.security = 1});
    struct end second = {.world = w};
    second.link = connect_as(w, &second, &(struct how){.security = 1}, w->proxy.door);
    run(w, one_refused);
    assert_non_null(strstr(w->refused_why.text, "taken already"));
    transfer(w, 1024 * 1024, 10);
    while (!second.closed)
        turn(w);
    assert_int_equal(second.why.code, ECONNREFUSED);
    assert_int_equal(second.opened, 0);
    assert_int_equal(w->down.lost, 0);
    link_destroy(second.link);
    finish(w);
}

/* A peer that knows the key, and claims a session. */
struct claimer {
    struct world *world;
    struct handshake shake;
    struct handshake_session session;
    int fd, step, answer;
    struct loop_io *io;
    struct buffer in;
};

static void claimer_ready(void *arg, int fd, unsigned events)
{
    struct claimer *c = arg;
    struct handshake_session theirs;
    enum handshake_answer answer;
    uint8_t c2[HANDSHAKE_C2];
    assert_true(buffer_read(&c->in, fd, 4096) > 0);
    if (c->step == 0 && buffer_len(&c->in) >= HANDSHAKE_A1) {
        assert_int_equal(handshake_take_a1(&c->shake, buffer_ptr(&c->in), NULL), 0);
        buffer_consume(&c->in, HANDSHAKE_A1);
        handshake_c2(&c->shake, &c->session, c2);
        assert_int_equal(fd_write_all(fd, c2, sizeof(c2)), 0);
        c->step = 1;
    }
    if (c->step == 1 && buffer_len(&c->in) >= HANDSHAKE_A2) {
        assert_int_equal(handshake_take_a2(&c->shake, buffer_ptr(&c->in), &answer, &theirs, NULL),
                         0);
        c->answer = (int)answer;
        c->step = 2;
        loop_io_set(c->io, 0);
        look(c->world);
    }
}

static enum handshake_answer claim(struct world *w, const struct handshake_session *s,
                                   uint32_t host_id, int (*done)(struct world *w))
{
    struct claimer c = {.world = w, .session = *s, .answer = -1};
    uint8_t c1[HANDSHAKE_C1];
    c.fd = dial_wait(w->proxy.door, 5, NULL);
    c.io = loop_io_create(w->loop, c.fd, LOOP_READ, claimer_ready, &c);
    handshake_init(&c.shake, key, host_id, HANDSHAKE_RESUME);
    handshake_c1(&c.shake, c1);
    assert_int_equal(fd_write_all(c.fd, c1, sizeof(c1)), 0);
    run(w, done);
    while (c.step < 2)
        turn(w);
    loop_io_destroy(c.io);
    close(c.fd);
    buffer_free(&c.in);
    handshake_wipe(&c.shake);
    return (enum handshake_answer)c.answer;
}

static void another_session_is_refused(void **state)
{
    struct world *w = begin(&(struct how){.security = 0});
    struct handshake_session s = {.received = 0};
    memset(s.id, 'x', sizeof(s.id));
    assert_int_equal(claim(w, &s, HOST, one_refused), HANDSHAKE_REFUSED);
    assert_non_null(strstr(w->refused_why.text, "not known here"));
    w->refused = 0;
    assert_int_equal(claim(w, &s, HOST + 1, one_refused), HANDSHAKE_REFUSED);
    assert_non_null(strstr(w->refused_why.text, "has no link here"));
    assert_int_equal(w->down.lost, 0);
    transfer(w, 1024 * 1024, 10);
    finish(w);
}

static void prepare(void)
{
    struct error e;
    signal(SIGPIPE, SIG_IGN);
    if (handshake_library_init(&e) < 0)
        abort();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_comes_once_across_hundreds_of_cuts),
        cmocka_unit_test(and_encrypted),
        cmocka_unit_test(and_with_tags),
        cmocka_unit_test(each_end_is_told),
        cmocka_unit_test(what_is_sent_meanwhile_waits),
        cmocka_unit_test(a_half_open_connection_is_replaced),
        cmocka_unit_test(a_peer_that_never_acknowledges_stops_the_sender),
        cmocka_unit_test(an_idle_link_keeps_nothing),
        cmocka_unit_test(goodbye_comes_at_once_and_behind_the_last_words),
        cmocka_unit_test(a_peer_that_is_gone_refuses_and_that_is_the_end),
        cmocka_unit_test(an_acceptor_has_patience_and_then_none),
        cmocka_unit_test(a_connector_tries_until_its_grace_is_over),
        cmocka_unit_test(a_process_that_was_stopped_has_not_waited),
        cmocka_unit_test(destroyed_in_its_own_callbacks),
        cmocka_unit_test(it_takes_both_to_resume),
        cmocka_unit_test(a_second_one_of_the_same_host_is_refused),
        cmocka_unit_test(another_session_is_refused),
    };
    prepare();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
