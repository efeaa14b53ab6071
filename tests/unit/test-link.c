/* SPDX-License-Identifier: BSD-3-Clause */
/* test-link.c - frames arrive whole and in order, plain and encrypted, however they are cut on the
 * way; what is not a frame ends the link; owners may destroy it at any time */
#include "wire/link/link.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/buffer.h"
#include "wire/link/key-proof.h"
#include "wire/little-endian.h"
#include "wire/mprun.pb-c.h"
#include "tests/unit/patience.h"

static const uint8_t key[LINK_KEY] = "the key of a step, 32 bytes long";
static const uint8_t wrong[LINK_KEY] = "the key of a step, 32 bytes lonG";

enum { MOST = 200000 };

/* ---- one end of a link ----------------------------------------------------------------------- */

struct end {
    struct loop *loop;
    struct link *link;
    int opened, closed, writable;
    uint32_t host_id;
    struct error why;
    unsigned char types[MOST]; /* of the frames that came */
    size_t nframes, nbytes;
    struct buffer last; /* the last payload */
    unsigned sum;       /* of all payload bytes */
    size_t destroy_at;  /* destroy the link in the callback of this frame */
    int refuse, destroy_on_open;
    int stop_on_open;
};

static int opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct end *e = arg;
    e->opened++;
    e->host_id = host_id;
    if (e->refuse)
        return error_set(why, EBUSY, "not now");
    if (e->destroy_on_open) {
        link_destroy(l);
        e->link = NULL;
        loop_stop(e->loop);
    }
    if (e->stop_on_open)
        loop_stop(e->loop);
    return 0;
}

static void frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct end *e = arg;
    assert_true(e->nframes < MOST);
    e->types[e->nframes++] = (unsigned char)type;
    e->nbytes += n;
    buffer_free(&e->last);
    buffer_append(&e->last, p, n);
    for (size_t i = 0; i < n; i++)
        e->sum += p[i];
    if (type == FRAME_RELEASE)
        loop_stop(e->loop);
    if (e->nframes == e->destroy_at) {
        link_destroy(l);
        e->link = NULL;
        loop_stop(e->loop);
    }
}

static void writable(void *arg, struct link *l)
{
    ((struct end *)arg)->writable++;
}

static void closed(void *arg, struct link *l, const struct error *why)
{
    struct end *e = arg;
    e->closed++;
    e->why = *why;
    loop_stop(e->loop);
}

static const struct link_events events = {
    .opened = opened, .frame = frame, .writable = writable, .closed = closed};

static void too_long(void *arg)
{
    fprintf(stderr, "test-link: nothing happened for %g s\n", patience(20));
    abort();
}

static void run(struct loop *loop)
{
    struct loop_timer t;
    loop_timer_init(&t, loop, too_long, NULL);
    loop_timer_start(&t, patience(20), 0);
    loop_run(loop);
    loop_timer_stop(&t);
}

static void make(struct end *e, struct loop *loop, int fd, struct link_options o)
{
    struct error err;
    e->loop = loop;
    e->link = link_create(loop, fd, fd, &o, "the other", &events, e, &err);
    assert_non_null(e->link);
}

static void finish(struct end *e)
{
    link_destroy(e->link);
    buffer_free(&e->last);
}

/* ---- two ends -------------------------------------------------------------------------------- */

struct two {
    struct loop *loop;
    struct end *up, *down; /* connector and acceptor */
};

enum way { TRUSTED, PLAIN, ENCRYPTED, TAGGED };

static struct link_options options(enum way way, enum link_role role)
{
    return (struct link_options){.role = way == TRUSTED ? LINK_TRUSTED : role,
                                 .key = way == TRUSTED ? NULL : key,
                                 .host_id = 7,
                                 .security = way == ENCRYPTED ? LINK_ENCRYPT
                                             : way == TAGGED  ? LINK_MAC
                                                              : LINK_PLAIN};
}

static struct two two_ends(enum way way)
{
    struct two t = {.loop = loop_create(NULL)};
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    t.up = calloc(1, sizeof(*t.up));
    t.down = calloc(1, sizeof(*t.down));
    make(t.up, t.loop, fds[0], options(way, LINK_CONNECTOR));
    make(t.down, t.loop, fds[1], options(way, LINK_ACCEPTOR));
    return t;
}

static void done(struct two *t)
{
    finish(t->up);
    finish(t->down);
    free(t->up);
    free(t->down);
    loop_destroy(t->loop);
}

static void send_release(struct end *from)
{
    link_send_bytes(from->link, FRAME_RELEASE, NULL, 0);
}

static void send_text(struct end *from, enum frame_type type, const char *text)
{
    link_send_bytes(from->link, type, text, strlen(text));
}

static void send_bulk(struct end *from, size_t n, uint8_t fill)
{
    struct bulk_header h = {{0, 1, 0}, 1, 0};
    uint8_t *to = link_bulk_reserve(from->link, n);
    assert_non_null(to);
    memset(to, fill, n);
    link_bulk_commit(from->link, FRAME_OUTPUT, &h, n, 0);
}

/* ---- tests: both know the key ---------------------------------------------------------------- */

static void frames_go_both_ways(enum way way)
{
    struct two t = two_ends(way);
    send_text(t.up, FRAME_HELLO, "hello"); /* before the handshake: it waits */
    send_text(t.down, FRAME_PLACE, "stay");
    send_text(t.up, FRAME_LOG, "");
    send_release(t.up);
    run(t.loop);
    assert_int_equal(t.down->nframes, 3);
    assert_int_equal(t.down->types[0], FRAME_HELLO);
    assert_int_equal(t.down->types[1], FRAME_LOG);
    assert_int_equal(t.down->nbytes, 5);
    send_release(t.down);
    run(t.loop);
    assert_int_equal(t.up->types[0], FRAME_PLACE);
    assert_int_equal(t.up->nframes, 2);
    if (way != TRUSTED) {
        assert_int_equal(t.down->opened, 1);
        assert_int_equal(t.down->host_id, 7);
    }
    done(&t);
}

static void plain_frames_go_both_ways(void **state)
{
    frames_go_both_ways(TRUSTED);
    frames_go_both_ways(PLAIN);
}

static void encrypted_frames_go_both_ways(void **state)
{
    frames_go_both_ways(ENCRYPTED);
}

static void tagged_frames_go_both_ways(void **state)
{
    frames_go_both_ways(TAGGED);
}

static void stop_soon(void *arg)
{
    loop_stop(arg);
}

/* The loop goes round once. */
static void turn(struct loop *loop)
{
    struct loop_timer t;
    loop_timer_init(&t, loop, stop_soon, loop);
    loop_timer_start(&t, 0, 0);
    run(loop);
    loop_timer_stop(&t);
}

static void a_message_of_5_mib_arrives_as_one(void **state)
{
    enum { SIZE = 5 * 1024 * 1024 + 3 };
    for (enum way way = TRUSTED; way <= TAGGED; way++) {
        struct two t = two_ends(way);
        uint8_t *big = malloc(SIZE);
        for (size_t i = 0; i < SIZE; i++)
            big[i] = (uint8_t)(i * 31 >> 3);
        link_send_bytes(t.up->link, FRAME_LAUNCH, big, SIZE);
        send_text(t.up, FRAME_KILL, "small");
        while (t.down->nframes < 1)
            turn(t.loop);
        assert_int_equal(t.down->types[0], FRAME_LAUNCH);
        if (t.down->nframes == 1) {
            assert_int_equal(buffer_len(&t.down->last), SIZE);
            assert_memory_equal(buffer_ptr(&t.down->last), big, SIZE);
        }
        send_release(t.up);
        run(t.loop);
        assert_int_equal(t.down->nframes, 3);
        assert_int_equal(t.down->nbytes, SIZE + 5);
        done(&t);
        free(big);
    }
}

static void a_packed_message_of_any_size_comes_back(void **state)
{
    static const size_t sizes[] = {
        0, 1, BULK_DATA_MAX - 10, BULK_DATA_MAX, BULK_DATA_MAX + 1, 3 * BULK_DATA_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct two t = two_ends(PLAIN);
        Mprun__CannotRun m = MPRUN__CANNOT_RUN__INIT;
        m.text = calloc(1, sizes[i] + 1);
        memset(m.text, 'x', sizes[i]);
        link_send(t.up->link, FRAME_CANNOT_RUN, &m.base);
        t.down->destroy_at = 1;
        run(t.loop);
        Mprun__CannotRun *got =
            mprun__cannot_run__unpack(NULL, buffer_len(&t.down->last), buffer_ptr(&t.down->last));
        assert_non_null(got);
        assert_string_equal(got->text, m.text);
        mprun__cannot_run__free_unpacked(got, NULL);
        free(m.text);
        done(&t);
    }
}

static void bulk_data_that_goes_with_control_frames_is_never_in_parts(void **state)
{
    static uint8_t data[BULK_HEADER + BULK_DATA_MAX];
    for (size_t less = 0; less <= BULK_HEADER; less += BULK_HEADER) {
        struct two t = two_ends(PLAIN);
        link_send_bytes(t.up->link, FRAME_OUTPUT, data, sizeof(data) - less);
        t.down->destroy_at = 1;
        run(t.loop);
        assert_int_equal(t.down->closed, 0);
        assert_int_equal(buffer_len(&t.down->last), sizeof(data) - less);
        done(&t);
    }
}

static void a_message_that_no_peer_takes_ends_the_link_here(void **state)
{
    struct two t = two_ends(PLAIN);
    uint8_t *big = calloc(1, MESSAGE_MAX + 1);
    t.up->stop_on_open = 1;
    run(t.loop);
    link_send_bytes(t.up->link, FRAME_LAUNCH, big, MESSAGE_MAX + 1);
    run(t.loop);
    assert_int_equal(t.up->closed, 1);
    assert_non_null(strstr(t.up->why.text, "LAUNCH of 67108865 bytes"));
    free(big);
    done(&t);
}

static void control_overtakes_bulk(enum way way)
{
    struct two t = two_ends(way);
    t.up->stop_on_open = 1;
    run(t.loop);
    do { /* more than the socket and the cipher's queue take: some of it waits in the link */
        while (link_bulk_room(t.up->link) >= 50000)
            send_bulk(t.up, 50000, 'b');
        link_flush(t.up->link);
    } while (link_bulk_pending(t.up->link) == 0);
    while (link_bulk_room(t.up->link) >= 50000) /* behind the one that has begun to go */
        send_bulk(t.up, 50000, 'b');
    send_text(t.up, FRAME_KILL, "now");
    while (t.down->nframes == 0 || link_pending(t.up->link))
        turn(t.loop);
    send_release(t.up);
    run(t.loop);
    size_t kill_at = 0, bulk = 0, behind = 0;
    for (size_t i = 0; i < t.down->nframes; i++) {
        bulk += t.down->types[i] == FRAME_OUTPUT;
        if (t.down->types[i] == FRAME_KILL)
            kill_at = i;
    }
    for (size_t i = kill_at; i < t.down->nframes; i++)
        behind += t.down->types[i] == FRAME_OUTPUT;
    assert_true(behind > 0); /* it went ahead of frames that were sent before it */
    assert_true(bulk >= 5);
    assert_int_equal(t.down->nbytes, bulk * (50000 + BULK_HEADER) + 3);
    assert_true(t.up->writable > 0);
    assert_true(link_bulk_pending(t.up->link) == 0);
    done(&t);
}

static void a_control_frame_overtakes_bulk_frames(void **state)
{
    control_overtakes_bulk(PLAIN);
    control_overtakes_bulk(ENCRYPTED);
}

/* Random frames both ways at once: every byte is accounted for. */
static void much_of_everything_arrives(void **state)
{
    for (enum way way = TRUSTED; way <= TAGGED; way++) {
        struct two t = two_ends(way);
        size_t sent = 0, frames = 0;
        unsigned sum = 0;
        uint8_t *some = malloc(300000);
        srand(3);
        if (way != TRUSTED) {
            t.up->stop_on_open = 1;
            run(t.loop);
        }
        for (int i = 0; i < 400; i++) {
            size_t n = (size_t)rand() % (i % 10 ? 3000 : 300000);
            for (size_t k = 0; k < n; k++)
                sum += some[k] = (uint8_t)rand();
            link_send_bytes(t.up->link, FRAME_COLLECT, some, n);
            link_send_bytes(t.down->link, FRAME_COLLECTED, some, n);
            sent += n;
            frames++;
            if (i % 7 == 0)
                link_flush(t.up->link);
            turn(t.loop);
        }
        send_release(t.up);
        run(t.loop);
        send_release(t.down);
        run(t.loop);
        assert_int_equal(t.down->nbytes, sent);
        assert_int_equal(t.up->nbytes, sent);
        assert_int_equal(t.down->nframes, frames + 1);
        assert_int_equal(t.down->sum, sum);
        assert_int_equal(t.up->sum, sum);
        free(some);
        done(&t);
    }
}

/* ---- tests: byte by byte --------------------------------------------------------------------- */

struct relay { /* passes one byte at a time */
    struct loop_io *a, *b;
    int fd_a, fd_b;
};

static void pass(int from, int to)
{
    uint8_t c;
    if (read(from, &c, 1) == 1)
        assert_int_equal(write(to, &c, 1), 1);
}

static void relay_a(void *arg, int fd, unsigned ev)
{
    pass(fd, ((struct relay *)arg)->fd_b);
}

static void relay_b(void *arg, int fd, unsigned ev)
{
    pass(fd, ((struct relay *)arg)->fd_a);
}

static void single_bytes_make_frames(void **state)
{
    for (enum way way = PLAIN; way <= TAGGED; way++) {
        struct loop *loop = loop_create(NULL);
        struct end *up = calloc(1, sizeof(*up)), *down = calloc(1, sizeof(*down));
        struct relay r;
        int a[2], b[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, a), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b), 0);
        make(up, loop, a[0], options(way, LINK_CONNECTOR));
        make(down, loop, b[0], options(way, LINK_ACCEPTOR));
        r.fd_a = a[1];
        r.fd_b = b[1];
        r.a = loop_io_create(loop, a[1], LOOP_READ, relay_a, &r);
        r.b = loop_io_create(loop, b[1], LOOP_READ, relay_b, &r);
        uint8_t *part = malloc(BULK_DATA_MAX + 500);
        memset(part, 1, BULK_DATA_MAX + 500);
        send_text(up, FRAME_HELLO, "hello");
        link_send_bytes(up->link, FRAME_COLLECT, part, BULK_DATA_MAX + 500);
        send_bulk(up, 1000, 2);
        send_text(up, FRAME_LOG, "text");
        send_release(up);
        run(loop);
        assert_int_equal(down->types[0], FRAME_HELLO);
        assert_int_equal(down->types[1], FRAME_COLLECT);
        assert_int_equal(down->types[2], FRAME_LOG);
        assert_int_equal(down->types[3], FRAME_RELEASE);
        free(part);
        loop_io_destroy(r.a);
        loop_io_destroy(r.b);
        close(a[1]);
        close(b[1]);
        finish(up);
        finish(down);
        free(up);
        free(down);
        loop_destroy(loop);
    }
}

/* ---- tests: ends ----------------------------------------------------------------------------- */

struct one { /* a trusted link whose other end is the test's */
    struct loop *loop;
    struct end *end;
    int fd;
};

static struct one one_end(struct link_options o)
{
    struct one t = {.loop = loop_create(NULL), .end = calloc(1, sizeof(struct end))};
    int fds[2], room = 1 << 20;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    make(t.end, t.loop, fds[0], o);
    t.fd = fds[1];
    return t;
}

static void one_done(struct one *t)
{
    if (t->fd >= 0)
        close(t->fd);
    finish(t->end);
    free(t->end);
    loop_destroy(t->loop);
}

static void write_frame(int fd, unsigned type, unsigned flags, const void *p, uint32_t n)
{
    uint8_t header[FRAME_HEADER];
    struct frame_header h = {.length = n, .type = (uint8_t)type, .flags = (uint8_t)flags};
    frame_header_pack(&h, header);
    assert_int_equal(write(fd, header, sizeof(header)), sizeof(header));
    if (n)
        assert_int_equal(write(fd, p, n), n);
}

static void a_clean_end_is_told_after_the_last_frame(void **state)
{
    struct one t = one_end((struct link_options){.role = LINK_TRUSTED});
    write_frame(t.fd, FRAME_LOG, 0, "abc", 3);
    close(t.fd);
    t.fd = -1;
    run(t.loop);
    assert_int_equal(t.end->nframes, 1);
    assert_int_equal(t.end->closed, 1);
    assert_int_equal(t.end->why.code, 0);
    assert_string_equal(t.end->why.text, "closed");
    one_done(&t);
}

static void an_end_inside_of_a_frame_is_told(void **state)
{
    for (int what = 0; what < 3; what++) {
        struct one t = one_end((struct link_options){.role = LINK_TRUSTED});
        if (what == 0)
            assert_int_equal(write(t.fd, "\1", 1), 1);
        else if (what == 1)
            assert_int_equal(write(t.fd, "\5\0\0\0\25\0\0\0abc", 11), 11);
        else
            write_frame(t.fd, FRAME_LOG, FRAME_MORE, "abc", 3);
        close(t.fd);
        t.fd = -1;
        run(t.loop);
        assert_int_equal(t.end->nframes, 0);
        assert_int_equal(t.end->closed, 1);
        assert_int_equal(t.end->why.code, ECONNRESET);
        assert_non_null(strstr(t.end->why.text, "middle of a message"));
        one_done(&t);
    }
}

static void garbage_ends_a_link(void **state)
{
    struct one t = one_end((struct link_options){.role = LINK_TRUSTED});
    assert_int_equal(write(t.fd, "GET / HTTP/1.0\r\n\r\n", 18), 18);
    run(t.loop);
    assert_int_equal(t.end->closed, 1);
    assert_int_equal(t.end->why.code, EPROTO);
    assert_int_equal(t.end->nframes, 0);
    one_done(&t);
}

static void a_message_inside_of_another_is_refused(void **state)
{
    struct one t = one_end((struct link_options){.role = LINK_TRUSTED});
    write_frame(t.fd, FRAME_LAUNCH, FRAME_MORE, "abc", 3);
    write_frame(t.fd, FRAME_KILL, 0, "abc", 3);
    run(t.loop);
    assert_string_equal(t.end->why.text, "protocol error: KILL inside of LAUNCH");
    one_done(&t);
    /* nor is that of one host part of another's */
    struct frame_header other = {.type = FRAME_LAUNCH, .host = 1};
    uint8_t header[FRAME_HEADER];
    frame_header_pack(&other, header);
    t = one_end((struct link_options){.role = LINK_TRUSTED});
    write_frame(t.fd, FRAME_LAUNCH, FRAME_MORE, "abc", 3);
    assert_int_equal(write(t.fd, header, sizeof(header)), sizeof(header));
    run(t.loop);
    assert_string_equal(t.end->why.text, "protocol error: LAUNCH inside of LAUNCH");
    one_done(&t);
}

static void feed_more(void *arg, int fd, unsigned ev)
{
    static uint8_t part[BULK_DATA_MAX];
    uint8_t header[FRAME_HEADER];
    struct frame_header h = {.length = BULK_DATA_MAX, .type = FRAME_LAUNCH, .flags = FRAME_MORE};
    frame_header_pack(&h, header);
    if (send(fd, header, sizeof(header), MSG_NOSIGNAL) < 0)
        return;
    for (size_t at = 0; at < sizeof(part);) {
        ssize_t n = send(fd, part + at, sizeof(part) - at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            *(int *)arg = (int)at;
            return;
        }
        at += (size_t)n;
    }
}

static void a_message_without_end_is_refused(void **state)
{
    struct one t = one_end((struct link_options){.role = LINK_TRUSTED});
    int cut = 0, room = 4 << 20;
    setsockopt(t.fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    setsockopt(t.fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
    struct loop_io *io = loop_io_create(t.loop, t.fd, LOOP_WRITE, feed_more, &cut);
    run(t.loop);
    loop_io_destroy(io);
    assert_int_equal(t.end->nframes, 0);
    assert_non_null(strstr(t.end->why.text, cut ? "protocol error" : "LAUNCH longer than"));
    one_done(&t);
}

static void a_link_may_be_destroyed_in_each_callback(void **state)
{
    struct one t = one_end((struct link_options){.role = LINK_TRUSTED});
    t.end->destroy_at = 2;
    for (int i = 0; i < 5; i++)
        write_frame(t.fd, FRAME_LOG, 0, "abc", 3);
    run(t.loop);
    assert_int_equal(t.end->nframes, 2);
    assert_int_equal(t.end->closed, 0);
    one_done(&t);
    for (enum way way = PLAIN; way <= TAGGED; way++) {
        struct two two = two_ends(way);
        two.down->destroy_on_open = 1;
        run(two.loop);
        assert_int_equal(two.down->closed, 0);
        done(&two);
        two = two_ends(way);
        two.down->destroy_at = 1;
        send_text(two.up, FRAME_HELLO, "a");
        send_text(two.up, FRAME_HELLO, "b");
        run(two.loop);
        assert_int_equal(two.down->nframes, 1);
        done(&two);
    }
}

static void a_message_in_parts_may_destroy_its_link(void **state)
{
    struct one t = one_end((struct link_options){.role = LINK_TRUSTED});
    t.end->destroy_at = 1;
    write_frame(t.fd, FRAME_LAUNCH, FRAME_MORE, "abc", 3);
    write_frame(t.fd, FRAME_LAUNCH, 0, "def", 3);
    write_frame(t.fd, FRAME_LAUNCH, 0, "ghi", 3);
    run(t.loop);
    assert_int_equal(t.end->nframes, 1);
    assert_memory_equal(buffer_ptr(&t.end->last), "abcdef", 6);
    one_done(&t);
}

static void what_the_dead_peer_sent_is_read_first(void **state)
{
    struct one t = one_end((struct link_options){.role = LINK_TRUSTED});
    write_frame(t.fd, FRAME_LOG, 0, "last words", 10);
    close(t.fd);
    t.fd = -1;
    send_text(t.end, FRAME_KILL, "to nobody");
    assert_int_equal(link_flush(t.end->link), 1);
    run(t.loop);
    assert_int_equal(t.end->nframes, 1);
    assert_int_equal(t.end->why.code, 0);
    one_done(&t);
}

/* Two pipes: the peer reads no more, and somebody else holds its end of the other one. */
static void a_peer_that_is_deaf_is_given_up(void **state)
{
    struct loop *loop = loop_create(NULL);
    struct end *e = calloc(1, sizeof(*e));
    struct link_options trusted = {.role = LINK_TRUSTED};
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    e->loop = loop;
    e->link = link_create(loop, in[0], out[1], &trusted, "peer", &events, e, NULL);
    close(out[0]);
    send_text(e, FRAME_KILL, "now");
    run(loop);
    assert_int_equal(e->closed, 1);
    assert_non_null(strstr(e->why.text, "takes nothing"));
    close(in[1]);
    finish(e);
    free(e);
    loop_destroy(loop);
}

/* ---- tests: proofs --------------------------------------------------------------------------- */

static void who_does_not_know_the_key_is_refused(void **state)
{
    struct loop *loop = loop_create(NULL);
    struct end *up = calloc(1, sizeof(*up)), *down = calloc(1, sizeof(*down));
    struct link_options liar = options(PLAIN, LINK_CONNECTOR);
    int fds[2];
    liar.key = wrong;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    make(up, loop, fds[0], liar);
    make(down, loop, fds[1], options(PLAIN, LINK_ACCEPTOR));
    send_text(up, FRAME_HELLO, "hello");
    run(loop);
    assert_int_equal(up->opened + down->opened, 0);
    assert_int_equal(down->nframes, 0);
    assert_int_equal(up->closed, 1);
    assert_int_equal(up->why.code, EACCES);
    finish(up);
    finish(down);
    free(up);
    free(down);
    loop_destroy(loop);
}

static void an_owner_may_refuse_who_has_the_key(void **state)
{
    struct two t = two_ends(PLAIN);
    t.down->refuse = 1;
    send_text(t.up, FRAME_HELLO, "hello");
    run(t.loop);
    assert_int_equal(t.down->nframes, 0);
    assert_int_equal(t.down->closed + t.up->closed, 1);
    if (t.down->closed)
        assert_string_equal(t.down->why.text, "not now");
    done(&t);
}

static void a_changed_record_is_noticed(void **state)
{
    /* a relay would have to know where records are: change the last byte that the acceptor gets */
    struct one t = one_end((struct link_options){.role = LINK_ACCEPTOR, .key = key, .security = 1});
    struct handshake h;
    struct handshake_session none = {.received = 0};
    uint8_t c1[HANDSHAKE_C1], a1[HANDSHAKE_A1], c2[HANDSHAKE_C2], junk[64] = {0};
    struct error e;
    handshake_init(&h, key, 3, HANDSHAKE_ENCRYPT);
    handshake_c1(&h, c1);
    assert_int_equal(write(t.fd, c1, sizeof(c1)), sizeof(c1));
    ssize_t got = 0;
    while (got < (ssize_t)sizeof(a1)) {
        turn(t.loop);
        ssize_t n = recv(t.fd, a1 + got, sizeof(a1) - (size_t)got, MSG_DONTWAIT);
        got += n > 0 ? n : 0;
    }
    assert_int_equal(handshake_take_a1(&h, a1, &e), 0);
    handshake_c2(&h, &none, c2);
    assert_int_equal(write(t.fd, c2, sizeof(c2)), sizeof(c2));
    junk[24] = 30; /* cipher header of zeros, then a record of 30 bytes */
    assert_int_equal(write(t.fd, junk, 24 + 4 + 30), 24 + 4 + 30);
    run(t.loop);
    assert_int_equal(t.end->opened, 1);
    assert_int_equal(t.end->nframes, 0);
    assert_string_equal(t.end->why.text, "protocol error: a record is not authentic");
    one_done(&t);
}

/* A link that sends through a pair of sockets of which the test has the other end: what it has
 * written is in `records`, one after the other. */
struct tapped {
    uint8_t bytes[4096];
    size_t n, record[4]; /* where each begins, and the end */
    struct loop *loop;
    struct end *from, *to;
    int tap, feed;
};

static void shovel(struct tapped *x, int from, int to, size_t want)
{
    uint8_t some[512];
    for (size_t got = 0; got < want;) {
        turn(x->loop);
        ssize_t n =
            recv(from, some, want - got < sizeof(some) ? want - got : sizeof(some), MSG_DONTWAIT);
        if (n <= 0)
            continue;
        assert_int_equal(write(to, some, (size_t)n), n);
        got += (size_t)n;
    }
}

/* Both ends, with us between them: the handshake goes through, and three records are in our hands.
 */
static void tap(struct tapped *x)
{
    static const char *const texts[] = {"one", "two!", "three"};
    int up[2], down[2];
    memset(x, 0, sizeof(*x));
    x->loop = loop_create(NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, up), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, down), 0);
    x->tap = up[1];
    x->feed = down[1];
    x->from = calloc(1, sizeof(*x->from));
    x->to = calloc(1, sizeof(*x->to));
    make(x->from, x->loop, up[0], options(TAGGED, LINK_CONNECTOR));
    make(x->to, x->loop, down[0], options(TAGGED, LINK_ACCEPTOR));
    shovel(x, x->tap, x->feed, HANDSHAKE_C1);
    shovel(x, x->feed, x->tap, HANDSHAKE_A1);
    shovel(x, x->tap, x->feed, HANDSHAKE_C2);
    shovel(x, x->feed, x->tap, HANDSHAKE_A2);
    for (int i = 0; i < 3; i++) {
        send_text(x->from, FRAME_LOG, texts[i]);
        x->record[i] = x->n;
        x->n += 4 + 16 + FRAME_HEADER + strlen(texts[i]);
    }
    x->record[3] = x->n;
    for (size_t got = 0; got < x->n;) {
        turn(x->loop);
        ssize_t n = recv(x->tap, x->bytes + got, sizeof(x->bytes) - got, MSG_DONTWAIT);
        got += n > 0 ? (size_t)n : 0;
    }
}

static void feed(struct tapped *x, int record)
{
    size_t n = x->record[record + 1] - x->record[record];
    assert_int_equal(write(x->feed, x->bytes + x->record[record], n), n);
}

/* As many frames were taken, and the link has ended when it had to. */
static void expect_frames(struct tapped *x, size_t n, int ends)
{
    if (ends) {
        run(x->loop);
        assert_string_equal(x->to->why.text, "protocol error: a record is not authentic");
    }
    while (x->to->nframes < n)
        turn(x->loop);
    assert_int_equal(x->to->nframes, n);
    assert_int_equal(x->to->closed, ends);
    finish(x->from);
    finish(x->to);
    close(x->tap);
    close(x->feed);
    free(x->from);
    free(x->to);
    loop_destroy(x->loop);
}

static void a_tagged_record_counts_once_and_in_its_place(void **state)
{
    static const int orders[][4] = {{0, 1, 2, -1}, {0, 0, -1, -1}, {0, 2, -1, -1}, {1, -1, -1, -1}};
    struct tapped x;
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        tap(&x);
        for (int k = 0; orders[i][k] >= 0; k++)
            feed(&x, orders[i][k]);
        expect_frames(&x, i == 0 ? 3 : i == 3 ? 0 : 1, i > 0);
    }
    for (size_t at = 4; at < 4 + 16 + FRAME_HEADER + 3; at++) { /* tag, header, text */
        tap(&x);
        x.bytes[at] ^= 0x10;
        feed(&x, 0);
        expect_frames(&x, 0, 1);
    }
    tap(&x);
    assert_memory_equal(x.bytes + 4 + 16 + FRAME_HEADER, "one", 3); /* it can be read */
    feed(&x, 0);
    expect_frames(&x, 1, 0);
}

/* ---- a listener ------------------------------------------------------------------------------ */

/* All 32 bytes that the two ends drew: nonces and the secrets of their public keys. */
static uint8_t drawn[16][32];
static size_t ndrawn;

static void draw(void *to, size_t n)
{
    randombytes_sysrandom_implementation.buf(to, n);
    if (n == 32 && ndrawn < 16)
        memcpy(drawn[ndrawn++], to, n);
}

static const char *its_name(void)
{
    return "recorded";
}

/* Passes on what has come, and keeps it. */
static void overhear(int from, int to, struct buffer *heard)
{
    uint8_t some[512];
    ssize_t n = recv(from, some, sizeof(some), MSG_DONTWAIT);
    if (n > 0) {
        buffer_append(heard, some, (size_t)n);
        assert_int_equal(write(to, some, (size_t)n), n);
    }
}

/* A whole connection, encrypted, as bytes: what went up, what went down. Random draws of its ends
 * go into `drawn`. */
static void record(struct buffer heard[2])
{
    struct randombytes_implementation recorded = randombytes_sysrandom_implementation;
    struct loop *loop = loop_create(NULL);
    struct end *up = calloc(1, sizeof(*up)), *down = calloc(1, sizeof(*down));
    int at_up[2], at_down[2];
    recorded.buf = draw;
    recorded.implementation_name = its_name;
    randombytes_set_implementation(&recorded);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, at_up), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, at_down), 0);
    make(up, loop, at_up[0], options(ENCRYPTED, LINK_CONNECTOR));
    make(down, loop, at_down[0], options(ENCRYPTED, LINK_ACCEPTOR));
    send_text(up, FRAME_LOG, "a plain text");
    send_text(down, FRAME_LOG, "a plain text");
    while (up->nframes + down->nframes < 2) {
        turn(loop);
        overhear(at_up[1], at_down[1], &heard[0]);
        overhear(at_down[1], at_up[1], &heard[1]);
    }
    randombytes_set_implementation(&randombytes_sysrandom_implementation);
    finish(up);
    finish(down);
    close(at_up[1]);
    close(at_down[1]);
    free(up);
    free(down);
    loop_destroy(loop);
}

/* Who knows the step key takes the first `said` bytes of the handshake, and this for the shared
 * secret: does that open a direction? */
static bool opens(const struct buffer heard[2], int down, size_t said, const uint8_t *secret)
{
    static const size_t c1 = HANDSHAKE_C1, a1 = HANDSHAKE_A1, c2 = HANDSHAKE_C2, a2 = HANDSHAKE_A2;
    crypto_generichash_state st;
    crypto_secretstream_xchacha20poly1305_state stream;
    uint8_t all[HANDSHAKE_SAID], plain[512], k[32], tag;
    unsigned long long n;
    memcpy(all, heard[0].data, c1);
    memcpy(all + c1, heard[1].data, a1);
    memcpy(all + c1 + a1, heard[0].data + c1, c2);
    memcpy(all + c1 + a1 + c2, heard[1].data + a1, a2);
    crypto_generichash_init(&st, key, sizeof(key), sizeof(k));
    crypto_generichash_update(&st, (const uint8_t *)(down ? "down" : "up"), down ? 5 : 3);
    crypto_generichash_update(&st, all, said);
    crypto_generichash_update(&st, secret, secret ? 32 : 0);
    crypto_generichash_final(&st, k, sizeof(k));
    const uint8_t *p = heard[down].data + (down ? a1 + a2 : c1 + c2);
    crypto_secretstream_xchacha20poly1305_init_pull(&stream, p, k);
    p += crypto_secretstream_xchacha20poly1305_HEADERBYTES;
    uint32_t length = get32(p);
    assert_in_range(length, 12, sizeof(plain));
    return crypto_secretstream_xchacha20poly1305_pull(&stream, plain, &n, &tag, p + 4, length, NULL,
                                                      0) == 0 &&
           memmem(plain, n, "a plain text", 12);
}

static void a_listener_that_knows_the_key_opens_nothing(void **state)
{
    static const uint8_t zeros[32];
    struct buffer heard[2] = {{.cap = 0}};
    uint8_t shared[32];
    size_t opened_with_secret[2] = {0};
    record(heard);
    const uint8_t *up_public = heard[0].data + HANDSHAKE_C1 + HANDSHAKE_C2 - 64;
    const uint8_t *down_public = heard[1].data + HANDSHAKE_A1 + HANDSHAKE_A2 - 64;
    const uint8_t *guesses[] = {NULL, zeros, key, up_public, down_public};
    for (int down = 0; down < 2; down++) {
        for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++)
            for (size_t said = 0; said <= HANDSHAKE_SAID; said++)
                assert_false(opens(heard, down, said, guesses[i]));
        /* it would know what to do: with the secret of either end it opens both directions */
        for (size_t i = 0; i < ndrawn; i++)
            for (int its = 0; its < 2; its++)
                if (crypto_scalarmult(shared, drawn[i], its ? up_public : down_public) == 0)
                    opened_with_secret[down] += opens(heard, down, HANDSHAKE_SAID, shared);
        assert_int_equal(opened_with_secret[down], 2);
    }
    buffer_free(&heard[0]);
    buffer_free(&heard[1]);
}

static void noise_before_the_peer_is_kept_as_text(void **state)
{
    struct loop *loop = loop_create(NULL);
    struct end *up = calloc(1, sizeof(*up)), *down = calloc(1, sizeof(*down));
    struct link_options skipping = options(PLAIN, LINK_ACCEPTOR);
    int fds[2];
    skipping.skip_noise = 1;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(write(fds[0], "Welcome\33 to mprun\n\n", 20), 20);
    make(down, loop, fds[1], skipping);
    make(up, loop, fds[0], options(PLAIN, LINK_CONNECTOR));
    send_release(up);
    run(loop);
    assert_string_equal(link_noise(down->link), "Welcome? to mprun");
    finish(up);
    finish(down);
    free(up);
    free(down);
    loop_destroy(loop);
}

static void noise_and_nothing_else_is_kept_too(void **state)
{
    struct one t =
        one_end((struct link_options){.role = LINK_ACCEPTOR, .key = key, .skip_noise = 1});
    assert_int_equal(write(t.fd, "mpstarter: command not found\n", 29), 29);
    assert_string_equal(link_noise(t.end->link), "");
    close(t.fd);
    t.fd = -1;
    run(t.loop);
    assert_int_equal(t.end->closed, 1);
    assert_string_equal(link_noise(t.end->link), "mpstarter: command not found");
    one_done(&t);
}

static int init(void **state)
{
    struct error e;
    return handshake_library_init(&e);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_frames_go_both_ways),
        cmocka_unit_test(encrypted_frames_go_both_ways),
        cmocka_unit_test(tagged_frames_go_both_ways),
        cmocka_unit_test(a_tagged_record_counts_once_and_in_its_place),
        cmocka_unit_test(a_listener_that_knows_the_key_opens_nothing),
        cmocka_unit_test(a_message_of_5_mib_arrives_as_one),
        cmocka_unit_test(a_packed_message_of_any_size_comes_back),
        cmocka_unit_test(bulk_data_that_goes_with_control_frames_is_never_in_parts),
        cmocka_unit_test(a_message_that_no_peer_takes_ends_the_link_here),
        cmocka_unit_test(a_control_frame_overtakes_bulk_frames),
        cmocka_unit_test(much_of_everything_arrives),
        cmocka_unit_test(single_bytes_make_frames),
        cmocka_unit_test(a_clean_end_is_told_after_the_last_frame),
        cmocka_unit_test(an_end_inside_of_a_frame_is_told),
        cmocka_unit_test(garbage_ends_a_link),
        cmocka_unit_test(a_message_inside_of_another_is_refused),
        cmocka_unit_test(a_message_without_end_is_refused),
        cmocka_unit_test(a_link_may_be_destroyed_in_each_callback),
        cmocka_unit_test(a_message_in_parts_may_destroy_its_link),
        cmocka_unit_test(what_the_dead_peer_sent_is_read_first),
        cmocka_unit_test(a_peer_that_is_deaf_is_given_up),
        cmocka_unit_test(who_does_not_know_the_key_is_refused),
        cmocka_unit_test(an_owner_may_refuse_who_has_the_key),
        cmocka_unit_test(a_changed_record_is_noticed),
        cmocka_unit_test(noise_before_the_peer_is_kept_as_text),
        cmocka_unit_test(noise_and_nothing_else_is_kept_too),
    };
    return cmocka_run_group_tests(tests, init, NULL);
}
