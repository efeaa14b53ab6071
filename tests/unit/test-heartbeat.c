/* SPDX-License-Identifier: BSD-3-Clause */
/* test-heartbeat.c - a peer that answers is never silent; one that does not is told of once, and
 * when it is back; who was stopped itself blames nobody; nothing is sent where something flows */
#include "wire/link/heartbeat.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

#include "wire/link/link.h"
#include "tests/unit/patience.h"

enum { PEERS = 3, TRIES = 10 };
#define SECONDS patience(0.15) /* looks are a third of it apart */
#define LOOK    (SECONDS / 3)

struct peer {
    struct test *test;
    struct link *link, *other; /* watched; of the peer */
    int deaf;                  /* does not answer */
    unsigned pings;
};

struct test {
    struct loop *loop;
    struct heartbeat *heartbeat;
    struct peer peers[PEERS];
    unsigned silent, back, calls;
    double seconds, began;
    struct loop_timer timer;
    int chatty;           /* all send by themselves */
    double turned, stood; /* when the timer came last, and the longest that it did not come */
};

/* ---- both ends ------------------------------------------------------------------------------- */

static void answer(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct peer *peer = arg;
    assert_int_equal(type, FRAME_PING);
    peer->pings++;
    if (!peer->deaf)
        link_send_bytes(l, FRAME_PONG, p, n);
}

static void heard(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct peer *peer = arg;
    uint32_t number = (uint32_t)(peer - peer->test->peers);
    heartbeat_heard(peer->test->heartbeat, number);
    if (type == FRAME_PONG)
        assert_int_equal(heartbeat_answered(peer->test->heartbeat, number), 0);
}

static void closed(void *arg, struct link *l, const struct error *why)
{
    abort();
}

static struct link *watched(void *arg, uint32_t i, uint32_t *ret_host)
{
    return ((struct test *)arg)->peers[i].link;
}

static void silent(void *arg, const uint32_t *peers, size_t n, double seconds)
{
    struct test *t = arg;
    t->calls++;
    for (size_t i = 0; i < n; i++)
        t->silent |= 1u << peers[i];
    t->seconds = seconds;
    loop_stop(t->loop);
}

static void back(void *arg, uint32_t i, double seconds)
{
    struct test *t = arg;
    t->back |= 1u << i;
    t->seconds = seconds;
    loop_stop(t->loop);
}

static void note_turn(struct test *t)
{
    double now = loop_now(), since = now - t->turned;
    t->stood = since > t->stood ? since : t->stood;
    t->turned = now;
}

static void chat(void *arg)
{
    struct test *t = arg;
    note_turn(t);
    for (int i = 0; t->chatty && i < PEERS; i++)
        link_send_bytes(t->peers[i].other, FRAME_LOG, "x", 1);
}

static void too_long(void *arg)
{
    fprintf(stderr, "test-heartbeat: nothing happened for %g s\n", patience(20));
    abort();
}

static void stop(void *arg)
{
    loop_stop(((struct test *)arg)->loop);
}

/* Until something is told, or for so long. */
static void run(struct test *t, double seconds)
{
    struct loop_timer limit;
    loop_timer_init(&limit, t->loop, seconds > 0 ? stop : too_long, t);
    loop_timer_start(&limit, seconds > 0 ? seconds : patience(20), 0);
    t->began = loop_now();
    loop_run(t->loop);
    loop_timer_stop(&limit);
}

static int setup(void **state)
{
    static const struct link_events theirs = {.frame = answer, .closed = closed};
    static const struct link_events ours = {.frame = heard, .closed = closed};
    static const struct heartbeat_events events = {.link = watched, .silent = silent, .back = back};
    struct link_options o = {.role = LINK_TRUSTED};
    struct test *t = calloc(1, sizeof(*t));
    struct error e;
    t->loop = loop_create(&e);
    for (int i = 0; i < PEERS; i++) {
        int fd[2];
        struct peer *p = &t->peers[i];
        p->test = t;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
        p->link = link_create(t->loop, fd[0], fd[0], &o, "peer", &ours, p, &e);
        p->other = link_create(t->loop, fd[1], fd[1], &o, "watcher", &theirs, p, &e);
    }
    t->heartbeat = heartbeat_create(t->loop, PEERS, SECONDS, &events, t);
    loop_timer_init(&t->timer, t->loop, chat, t);
    loop_timer_start(&t->timer, 0, LOOK / 5);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    struct test *t = *state;
    heartbeat_destroy(t->heartbeat);
    loop_timer_stop(&t->timer);
    for (int i = 0; i < PEERS; i++) {
        link_destroy(t->peers[i].link);
        link_destroy(t->peers[i].other);
    }
    loop_destroy(t->loop);
    free(t);
    return 0;
}

/* For twelve looks. Where the machine has held us up for so long that a look came late, they say
 * nothing, and all begins anew. */
static struct test *run_freely(void **state, int chatty)
{
    for (int tries = 1;; tries++) {
        struct test *t = *state;
        t->chatty = chatty;
        t->turned = loop_now();
        run(t, 12 * LOOK);
        note_turn(t);
        if (t->stood < LOOK / 2 || tries == TRIES)
            return t;
        teardown(state);
        setup(state);
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_peer_that_answers_is_not_silent(void **state)
{
    struct test *t = run_freely(state, 0);
    assert_int_equal(t->calls, 0);
    for (int i = 0; i < PEERS; i++) {
        assert_true(t->peers[i].pings > 0);
        assert_true(t->peers[i].pings <= 7); /* not with every look */
    }
}

static void nothing_is_sent_where_something_flows(void **state)
{
    struct test *t = run_freely(state, 1);
    assert_int_equal(t->calls, 0);
    for (int i = 0; i < PEERS; i++)
        assert_true(t->peers[i].pings <= 1); /* before the first words */
}

static void one_that_does_not_answer_is_told_of_once(void **state)
{
    struct test *t = *state;
    t->peers[1].deaf = 1;
    run(t, 0);
    assert_int_equal(t->silent, 1u << 1);
    assert_true(t->seconds > SECONDS * 0.99 && t->seconds < SECONDS * 1.01);
    assert_true(loop_now() - t->began >= SECONDS * 0.99);
    run(t, 12 * LOOK);
    assert_int_equal(t->calls, 1);
    assert_int_equal(t->peers[1].pings, 1); /* and asked once */
}

static void it_is_back_with_its_first_word(void **state)
{
    struct test *t = *state;
    t->peers[0].deaf = t->peers[2].deaf = 1;
    run(t, 0);
    assert_int_equal(t->silent, 1u << 0 | 1u << 2);
    assert_int_equal(t->calls, 1);
    double began = loop_now();
    run(t, 2 * LOOK);
    link_send_bytes(t->peers[2].other, FRAME_LOG, "here", 4);
    run(t, 0);
    double silence = SECONDS + loop_now() - began;
    assert_int_equal(t->back, 1u << 2);
    assert_true(t->seconds > SECONDS * 0.99 && t->seconds < silence + LOOK);
    t->silent = 0;
    link_send_bytes(t->peers[0].other, FRAME_LOG, "here", 4);
    run(t, 0);
    run(t, 0); /* it says nothing more: silent once more */
    assert_int_equal(t->back, 1u << 0 | 1u << 2);
    assert_true(t->silent & (1u << 0 | 1u << 2));
}

static void who_was_stopped_blames_nobody(void **state)
{
    struct test *t = *state;
    long ns = (long)(6 * LOOK * 1e9);
    struct timespec pause = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    for (int i = 0; i < PEERS; i++)
        t->peers[i].deaf = 1;
    for (int stops = 0; stops < 5; stops++) {
        run(t, 1.5 * LOOK);
        nanosleep(&pause, NULL); /* as one that is stopped */
    }
    assert_int_equal(t->calls, 0);
    run(t, 0); /* it begins anew */
    assert_true(loop_now() - t->began >= SECONDS * 0.99);
    assert_int_equal(t->silent, (1u << PEERS) - 1);
}

static void an_answer_that_was_not_asked_for_is_none(void **state)
{
    struct test *t = *state;
    assert_int_equal(heartbeat_answered(t->heartbeat, 0), -1);
    assert_int_equal(heartbeat_answered(t->heartbeat, PEERS), -1);
    assert_int_equal(heartbeat_answered(NULL, 0), -1);
    heartbeat_heard(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_peer_that_answers_is_not_silent, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_sent_where_something_flows, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_does_not_answer_is_told_of_once, setup, teardown),
        cmocka_unit_test_setup_teardown(it_is_back_with_its_first_word, setup, teardown),
        cmocka_unit_test_setup_teardown(who_was_stopped_blames_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(an_answer_that_was_not_asked_for_is_none, setup, teardown),
    };
    return cmocka_run_group_tests_name("heartbeat", tests, NULL, NULL);
}
