/* SPDX-License-Identifier: BSD-3-Clause */
/* test-link-splice.c - bulk data that is moved through two links without being copied
 *
 * A sender moves pages from a pipe into a link, the receiver from the link into a pipe, by
 * splice(2). Whatever either end can or cannot move, and however it is cut, the same bytes must
 * come out, and control messages between them. */
#include "wire/link/link.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/buffer.h"
#include "common/files/fdio.h"
#include "wire/flow-control.h"
#include "tests/unit/patience.h"

enum { TOTAL = 12 * 1024 * 1024, MESSAGES = 500 };

struct world {
    struct loop *loop;
    struct loop_timer watchdog;
    struct link *sender, *receiver;
    int source[2], sink[2];
    struct loop_io *source_io;
    struct buffer got;
    size_t put, sent, cost; /* into the source, into the link, headers included */
    size_t paid;            /* by the receiver, as its credit is counted */
    int moved, copied;      /* frames at the sender */
    size_t received_moved;  /* bytes at the receiver */
    unsigned messages_sent, messages_got;
    int how; /* the receiver's move: see on_move() */
    int died;
    struct error death;
};

static uint8_t byte_at(size_t i)
{
    return (uint8_t)((i * 2654435761u) >> 13);
}

static void too_long(void *arg)
{
    fail_msg("the loop did not come to an end");
}

static void empty_sink(struct world *w)
{
    while (buffer_read(&w->got, w->sink[0], 65536) > 0)
        ;
    if (buffer_len(&w->got) >= TOTAL)
        loop_stop(w->loop);
}

static void on_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct world *w = arg;
    struct bulk_header h;
    if (type == FRAME_PING) {
        unsigned number;
        memcpy(&number, p, sizeof(number));
        assert_int_equal(number, w->messages_got++);
        return;
    }
    assert_int_equal(type, FRAME_OUTPUT);
    assert_int_equal(bulk_header_unpack(p, n, &h, NULL), 0);
    assert_int_equal(h.name.rank, 7);
    assert_int_equal(h.stream, 1);
    empty_sink(w);
    buffer_append(&w->got, p + BULK_HEADER, n - BULK_HEADER);
    w->paid += output_cost(n - BULK_HEADER);
    empty_sink(w);
}

enum { MOVES_ALL, MOVES_ODD_PARTS, MOVES_NOTHING, MOVES_SOMETIMES };

static ssize_t on_move(void *arg, struct link *l, const struct bulk_header *h, int fd, size_t n)
{
    struct world *w = arg;
    assert_int_equal(h->name.rank, 7);
    if (w->how == MOVES_NOTHING || (w->how == MOVES_SOMETIMES && rand() % 3 == 0))
        return -1;
    size_t part = w->how == MOVES_ALL ? n : 1 + (size_t)rand() % n;
    ssize_t moved = splice(fd, NULL, w->sink[1], NULL, part, SPLICE_F_NONBLOCK);
    if (moved <= 0) {
        empty_sink(w);
        return moved == 0 ? -1 : 0;
    }
    w->received_moved += (size_t)moved;
    w->paid += (size_t)moved == n ? output_cost(n) : (size_t)moved;
    empty_sink(w);
    return moved;
}

static void on_closed(void *arg, struct link *l, const struct error *why)
{
    struct world *w = arg;
    w->died = 1;
    w->death = *why;
    loop_stop(w->loop);
}

static void fill_source(struct world *w)
{
    uint8_t block[4096];
    while (w->put < TOTAL) {
        size_t n = 1 + (size_t)rand() % sizeof(block);
        n = n < TOTAL - w->put ? n : TOTAL - w->put;
        for (size_t i = 0; i < n; i++)
            block[i] = byte_at(w->put + i);
        ssize_t k = write(w->source[1], block, n);
        if (k <= 0)
            return;
        w->put += (size_t)k;
    }
}

/* As a starter: what is in the pipe goes into the link, moved if that can be. */
static void send_some(struct world *w)
{
    struct bulk_header h = {{0, 7, 0}, 1, 1};
    int there = 0;
    ioctl(w->source[0], FIONREAD, &there);
    size_t n = link_bulk_room(w->sender);
    n = n < (size_t)there ? n : (size_t)there;
    if (n == 0)
        return;
    if (link_bulk_move(w->sender, FRAME_OUTPUT, &h, w->source[0], n)) {
        w->moved++;
    } else {
        assert_int_equal(fd_read_all(w->source[0], link_bulk_reserve(w->sender, n), n), 0);
        link_bulk_commit(w->sender, FRAME_OUTPUT, &h, n, 0);
        w->copied++;
    }
    w->sent += n;
    w->cost += output_cost(n);
    fill_source(w);
    if (w->messages_sent < MESSAGES && rand() % 2) {
        link_send_bytes(w->sender, FRAME_PING, &w->messages_sent, sizeof(w->messages_sent));
        w->messages_sent++;
    }
}

static void source_ready(void *arg, int fd, unsigned events)
{
    send_some(arg);
}

static const struct link_events sender_events = {.frame = on_frame, .closed = on_closed};
static const struct link_events receiver_events = {
    .frame = on_frame, .move = on_move, .closed = on_closed};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct link_options o = {.role = LINK_TRUSTED};
    int s[2];
    signal(SIGPIPE, SIG_IGN);
    srand(20260803);
    w->loop = loop_create(NULL);
    loop_timer_init(&w->watchdog, w->loop, too_long, w);
    loop_timer_start(&w->watchdog, patience(60), 0);
    assert_int_equal(pipe2(w->source, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(pipe2(w->sink, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
    w->sender = link_create(w->loop, s[0], s[0], &o, "receiver", &sender_events, w, NULL);
    w->receiver = link_create(w->loop, s[1], s[1], &o, "sender", &receiver_events, w, NULL);
    w->source_io = loop_io_create(w->loop, w->source[0], LOOP_READ, source_ready, w);
    fill_source(w);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    loop_io_destroy(w->source_io);
    link_destroy(w->sender);
    link_destroy(w->receiver);
    loop_timer_stop(&w->watchdog);
    loop_destroy(w->loop);
    for (int i = 0; i < 2; i++) {
        close(w->source[i]);
        close(w->sink[i]);
    }
    buffer_free(&w->got);
    free(w);
    return 0;
}

static void everything_arrives(struct world *w, int how)
{
    w->how = how;
    loop_run(w->loop);
    assert_int_equal(w->died, 0);
    assert_int_equal(buffer_len(&w->got), TOTAL);
    const uint8_t *p = buffer_ptr(&w->got);
    for (size_t i = 0; i < TOTAL; i++)
        if (p[i] != byte_at(i))
            fail_msg("byte %zu is wrong", i);
    assert_int_equal(w->sent, TOTAL);
    assert_int_equal(w->paid, w->cost); /* credit neither grows nor shrinks */
    assert_true(w->moved > 0);
    assert_int_equal(w->messages_got, w->messages_sent);
}

static void pages_move_through_both_links(void **state)
{
    struct world *w = *state;
    everything_arrives(w, MOVES_ALL);
    assert_true(w->received_moved > 0);
}

static void a_receiver_may_move_parts(void **state)
{
    struct world *w = *state;
    everything_arrives(w, MOVES_ODD_PARTS);
    assert_true(w->received_moved > 0);
}

static void a_receiver_may_refuse(void **state)
{
    struct world *w = *state;
    everything_arrives(w, MOVES_NOTHING);
    assert_int_equal(w->received_moved, 0);
}

static void a_receiver_may_change_its_mind(void **state)
{
    everything_arrives(*state, MOVES_SOMETIMES);
}

static void an_end_within_a_frame_is_a_broken_link(void **state)
{
    struct world *w = *state;
    uint8_t head[FRAME_HEADER + BULK_HEADER], block[20000] = {0};
    struct frame_header h = {.length = BULK_HEADER + 20000, .type = FRAME_OUTPUT};
    struct bulk_header bh = {{0, 7, 0}, 1, 1};
    int s[2];
    struct link_options o = {.role = LINK_TRUSTED};
    link_destroy(w->receiver);
    loop_io_destroy(w->source_io);
    w->source_io = NULL;
    w->died = 0;
    link_destroy(w->sender);
    w->sender = NULL;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
    w->receiver = link_create(w->loop, s[1], s[1], &o, "sender", &receiver_events, w, NULL);
    frame_header_pack(&h, head);
    bulk_header_pack(&bh, head + FRAME_HEADER);
    for (int frame = 0; frame < 2; frame++) { /* the second one is being moved when it ends */
        assert_int_equal(fd_write_all(s[0], head, sizeof(head)), 0);
        assert_int_equal(fd_write_all(s[0], block, frame == 0 ? sizeof(block) : 5000), 0);
    }
    close(s[0]);
    loop_run(w->loop);
    assert_int_equal(w->died, 1);
    assert_int_not_equal(w->death.code, 0);
    assert_true(buffer_len(&w->got) <= 25000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pages_move_through_both_links),
        TEST(a_receiver_may_move_parts),
        TEST(a_receiver_may_refuse),
        TEST(a_receiver_may_change_its_mind),
        TEST(an_end_within_a_frame_is_a_broken_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
