/* SPDX-License-Identifier: BSD-3-Clause */
/* test-output.c - output onto pipes, terminals, sockets and files whose readers behave and do not
 */
#include "common/processes/sanitizers.h"
#include "launcher/io/output.h"
#include "launcher/io/output-lines.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/buffer.h"
#include "common/files/fdio.h"
#include "common/loop.h"
#include "wire/flow-control.h"
#include "wire/messages/frame.h"
#include "tests/unit/patience.h"

enum { WINDOW = 64 * 1024, HOSTS = 4 };

struct world {
    struct loop *loop;
    struct loop_timer turn, watchdog;
    struct output *o;
    uint64_t put[HOSTS][3], consumed[HOSTS][3]; /* cost */
    int closed[3], closed_code[3];
    int drained;
    int fds[4]; /* closed at the end */
};

static void stop(void *arg)
{
    loop_stop(arg);
}

static void too_long(void *arg)
{
    fail_msg("the loop did not come to an end");
}

static void on_consumed(void *arg, uint32_t host, unsigned stream, uint64_t bytes)
{
    struct world *w = arg;
    assert_in_range(host, 0, HOSTS - 1);
    assert_true(bytes > 0);
    w->consumed[host][stream] += bytes;
    assert_true(w->consumed[host][stream] <= w->put[host][stream]);
}

static void on_closed(void *arg, unsigned stream, const struct error *why)
{
    struct world *w = arg;
    w->closed[stream]++;
    w->closed_code[stream] = why->code;
}

static void on_drained(void *arg)
{
    struct world *w = arg;
    w->drained++;
    loop_stop(w->loop);
}

static const struct output_events events = {on_consumed, on_closed, on_drained};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    signal(SIGPIPE, SIG_IGN);
    w->loop = loop_create(NULL);
    loop_timer_init(&w->turn, w->loop, stop, w->loop);
    loop_timer_init(&w->watchdog, w->loop, too_long, w);
    loop_timer_start(&w->watchdog, patience(100), 0);
    for (int i = 0; i < 4; i++)
        w->fds[i] = -1;
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    output_destroy(w->o);
    loop_timer_stop(&w->turn);
    loop_timer_stop(&w->watchdog);
    loop_destroy(w->loop);
    for (int i = 0; i < 4; i++)
        if (w->fds[i] >= 0)
            close(w->fds[i]);
    free(w);
    return 0;
}

static void begin(struct world *w, int out, int err, int tag, int timestamp)
{
    struct output_setup o = {.fds = {out, err},
                             .options.lines = {.tag = tag, .timestamp = timestamp},
                             .window = WINDOW,
                             .nhosts = HOSTS};
    w->o = output_create(w->loop, &o, &events, w, NULL);
    assert_non_null(w->o);
}

static void turn(struct world *w)
{
    loop_timer_start(&w->turn, 0, 0);
    loop_run(w->loop);
}

/* World 0's rank, first host. */
static void put_at(struct world *w, uint32_t rank, unsigned stream, uint64_t ns, const void *p,
                   size_t n)
{
    struct bulk_header h = {{0, rank, 0}, (uint8_t)stream, ns};
    w->put[0][stream] += output_cost(n);
    output_put(w->o, 0, &h, p, n);
}

static void put(struct world *w, uint32_t rank, unsigned stream, const char *s)
{
    put_at(w, rank, stream, 1, s, strlen(s));
}

static void end(struct world *w, uint32_t rank, unsigned stream)
{
    put_at(w, rank, stream, 1, NULL, 0);
}

static uint64_t under_way(const struct world *w, uint32_t host, unsigned stream)
{
    return w->put[host][stream] - w->consumed[host][stream];
}

/* Keep both ends until the end of the test; non-blocking only our own end. */
static void make_pipe(struct world *w, int at)
{
    assert_int_equal(pipe2(w->fds + at, O_CLOEXEC), 0);
    fd_set_nonblock(w->fds[at], 1);
}

/* Until the pipe is full, also when it is made larger. */
static void fill_up(struct world *w)
{
    static uint8_t block[BULK_DATA_MAX];
    for (int i = 0; i < 16 && output_idle(w->o); i++)
        put_at(w, 0, 1, 1, block, sizeof(block));
    assert_false(output_idle(w->o));
}

static void read_all(int fd, struct buffer *to)
{
    while (buffer_read(to, fd, 65536) > 0)
        ;
}

static void assert_reads(int fd, const char *want)
{
    struct buffer b = {0};
    read_all(fd, &b);
    buffer_append(&b, "", 1);
    assert_string_equal((char *)buffer_ptr(&b), want);
    buffer_free(&b);
}

static void fill(uint8_t *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((i * 2654435761u + seed) >> 11);
}

static int temporary_file(void)
{
    char path[] = "/tmp/test-output.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    return fd;
}

/* ---- plain ----------------------------------------------------------------------------------- */

static void each_stream_goes_to_its_descriptor_unchanged(void **state)
{
    struct world *w = *state;
    make_pipe(w, 0);
    make_pipe(w, 2);
    begin(w, w->fds[1], w->fds[3], 0, 0);
    put(w, 0, 1, "no newline");
    put(w, 1, 2, "error\n");
    put(w, 1, 1, " and on");
    end(w, 0, 1);
    assert_reads(w->fds[0], "no newline and on");
    assert_reads(w->fds[2], "error\n");
    assert_true(output_idle(w->o));
}

static void a_file_is_written_at_once_at_the_shared_offset(void **state)
{
    struct world *w = *state;
    static uint8_t block[BULK_DATA_MAX], back[BULK_DATA_MAX];
    w->fds[0] = temporary_file();
    fill(block, sizeof(block), 5);
    assert_int_equal(write(w->fds[0], "before", 6), 6);
    w->fds[1] = dup(w->fds[0]); /* 2>&1 */
    begin(w, w->fds[0], w->fds[1], 0, 0);
    put_at(w, 0, 1, 1, block, sizeof(block));
    put(w, 0, 2, "between");
    put_at(w, 0, 1, 1, block, sizeof(block));
    assert_true(output_idle(w->o));
    assert_int_equal(lseek(w->fds[0], 0, SEEK_CUR), 6 + 7 + 2 * sizeof(block));
    for (int i = 0; i < 2; i++) {
        off_t at = i == 0 ? 6 : 6 + 7 + (off_t)sizeof(block);
        assert_int_equal(pread(w->fds[0], back, sizeof(back), at), sizeof(back));
        assert_memory_equal(block, back, sizeof(back));
    }
    assert_true(under_way(w, 0, 1) < WINDOW / 4);
}

static void a_stalled_reader_holds_back_credit_and_only_of_its_own_stream(void **state)
{
    struct world *w = *state;
    static uint8_t block[16384];
    make_pipe(w, 0);
    make_pipe(w, 2);
    begin(w, w->fds[1], w->fds[3], 0, 0);
    uint64_t sent = 0;
    while (under_way(w, 0, 1) + output_cost(sizeof(block)) <= WINDOW) {
        fill(block, sizeof(block), (unsigned)sent);
        put_at(w, 0, 1, 1, block, sizeof(block));
        sent += sizeof(block);
        turn(w);
        assert_true(sent < 1024 * 1024);
    }
    assert_false(output_idle(w->o));
    for (int i = 0; i < 5000; i++) {
        put(w, 1, 2, "stderr is read as it comes");
        assert_reads(w->fds[2], "stderr is read as it comes");
        assert_true(under_way(w, 0, 2) < WINDOW / 4);
    }
    struct buffer all = {0};
    while (buffer_len(&all) < sent) {
        read_all(w->fds[0], &all);
        turn(w);
    }
    assert_int_equal(buffer_len(&all), sent);
    for (uint64_t at = 0; at < sent; at += sizeof(block)) {
        fill(block, sizeof(block), (unsigned)at);
        assert_memory_equal(buffer_ptr(&all) + at, block, sizeof(block));
    }
    buffer_free(&all);
    assert_true(under_way(w, 0, 1) < WINDOW / 4);
    assert_true(output_idle(w->o));
    assert_true(w->drained > 0);
}

static void credit_goes_to_the_host_that_sent(void **state)
{
    struct world *w = *state;
    static uint8_t block[8192];
    make_pipe(w, 0);
    begin(w, w->fds[1], w->fds[1], 0, 0);
    for (uint32_t i = 0; i < 64; i++) {
        struct bulk_header h = {{0, i, 0}, (uint8_t)(1 + i % 2), 1};
        uint32_t host = i % HOSTS;
        w->put[host][h.stream] += output_cost(sizeof(block));
        output_put(w->o, host, &h, block, sizeof(block));
    }
    struct buffer all = {0};
    while (!output_idle(w->o)) {
        read_all(w->fds[0], &all);
        turn(w);
    }
    buffer_free(&all);
    for (uint32_t host = 0; host < HOSTS; host++)
        assert_true(under_way(w, host, 1 + host % 2) < WINDOW / 4);
}

static void shared_descriptors_keep_their_flags(void **state)
{
    struct world *w = *state;
    make_pipe(w, 0);
    begin(w, w->fds[1], w->fds[1], 0, 0);
    fill_up(w);
    assert_false(fcntl(w->fds[1], F_GETFL) & O_NONBLOCK);
}

static void one_pipe_for_both_streams_keeps_the_order_of_arrival(void **state)
{
    struct world *w = *state;
    char want[100 * 700 * 2 + 1] = "", *to = want;
    make_pipe(w, 0);
    w->fds[2] = dup(w->fds[1]);
    begin(w, w->fds[1], w->fds[2], 0, 0);
    for (int i = 0; i < 100; i++) {
        char text[701];
        memset(text, 'a' + i % 26, 700);
        text[700] = 0;
        put(w, 0, 1 + (unsigned)i % 2, text);
        to = stpcpy(to, text);
    }
    struct buffer all = {0};
    while (buffer_len(&all) < strlen(want)) {
        read_all(w->fds[0], &all);
        turn(w);
    }
    assert_memory_equal(buffer_ptr(&all), want, strlen(want));
    buffer_free(&all);
}

/* ---- without a copy -------------------------------------------------------------------------- */

static ssize_t move(struct world *w, unsigned stream, int fd, size_t n)
{
    struct bulk_header h = {{0, 0, 0}, (uint8_t)stream, 1};
    return output_move(w->o, 0, &h, fd, n);
}

static void what_can_be_moved_into_a_pipe_is_moved_and_paid_for_once(void **state)
{
    struct world *w = *state;
    static uint8_t block[60000];
    struct buffer all = {0};
    int s[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
    fd_set_nonblock(s[1], 1);
    make_pipe(w, 0);
    begin(w, w->fds[1], w->fds[1], 0, 0);
    fill(block, sizeof(block), 9);
    assert_int_equal(move(w, 1, s[1], sizeof(block)), 0); /* nothing has come */
    for (int i = 0; i < 100; i++) {
        w->put[0][1] += output_cost(sizeof(block));
        assert_int_equal(fd_write_all(s[0], block, sizeof(block)), 0);
        for (size_t left = sizeof(block); left > 0;) {
            ssize_t n = move(w, 1, s[1], left);
            assert_true(n > 0 && (size_t)n <= left);
            left -= (size_t)n;
        }
        read_all(w->fds[0], &all);
        assert_int_equal(buffer_len(&all), sizeof(block));
        assert_memory_equal(buffer_ptr(&all), block, sizeof(block));
        buffer_consume(&all, sizeof(block));
    }
    assert_true(under_way(w, 0, 1) < WINDOW / 4);
    buffer_free(&all);
    close(s[0]);
    assert_int_equal(move(w, 1, s[1], 1), -1); /* the end is for the link to see */
    close(s[1]);
}

static void what_cannot_be_moved_is_left_to_the_queue(void **state)
{
    struct world *w = *state;
    int s[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
    fd_set_nonblock(s[1], 1);
    assert_int_equal(fd_write_all(s[0], "data", 4), 0);
    make_pipe(w, 0);
    begin(w, w->fds[1], w->fds[1], 0, 0);
    fill_up(w);
    assert_int_equal(move(w, 1, s[1], 4), -1); /* would overtake what is queued */
    output_destroy(w->o);
    begin(w, w->fds[1], w->fds[1], 0, 0);
    assert_int_equal(move(w, 1, s[1], 4), -1); /* the pipe is full */
    output_destroy(w->o);
    begin(w, w->fds[1], w->fds[1], 1, 0);
    assert_int_equal(move(w, 1, s[1], 4), -1); /* lines are to be put together */
    output_destroy(w->o);
    w->fds[2] = temporary_file();
    begin(w, w->fds[2], w->fds[2], 0, 0);
    assert_int_equal(move(w, 1, s[1], 4), -1);
    assert_int_equal(move(w, 3, s[1], 4), -1); /* no such stream */
    close(s[0]);
    close(s[1]);
}

/* ---- readers that go, places that are full --------------------------------------------------- */

static void a_reader_that_closes_is_told_once_and_credit_still_flows(void **state)
{
    struct world *w = *state;
    make_pipe(w, 0);
    make_pipe(w, 2);
    begin(w, w->fds[1], w->fds[3], 0, 0);
    fill_up(w);
    close(w->fds[0]);
    w->fds[0] = -1;
    for (int i = 0; i < 10; i++) {
        turn(w);
        put(w, 0, 1, "more");
    }
    assert_int_equal(w->closed[1], 1);
    assert_int_equal(w->closed_code[1], EPIPE);
    assert_int_equal(w->closed[2], 0);
    assert_true(output_is_closed(w->o, 1));
    assert_false(output_is_closed(w->o, 2));
    assert_true(output_idle(w->o));
    assert_true(under_way(w, 0, 1) < WINDOW / 4);
    put(w, 0, 2, "stderr lives");
    assert_reads(w->fds[2], "stderr lives");
}

static void a_reader_that_was_gone_before_is_told_of_both_its_streams(void **state)
{
    struct world *w = *state;
    make_pipe(w, 0);
    close(w->fds[0]);
    w->fds[0] = -1;
    begin(w, w->fds[1], w->fds[1], 0, 0);
    put(w, 0, 2, "to nobody");
    turn(w);
    assert_int_equal(w->closed[1], 1);
    assert_int_equal(w->closed[2], 1);
    assert_int_equal(w->closed_code[2], EPIPE);
}

static void a_full_disk_is_an_error_with_its_reason(void **state)
{
    struct world *w = *state;
    w->fds[0] = open("/dev/full", O_WRONLY | O_CLOEXEC);
    w->fds[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
    begin(w, w->fds[0], w->fds[1], 0, 0);
    put(w, 0, 1, "text");
    put(w, 0, 2, "text");
    assert_int_equal(w->closed[1], 1);
    assert_int_equal(w->closed_code[1], ENOSPC);
    assert_int_equal(w->closed[2], 0);
}

/* ---- sockets and terminals ------------------------------------------------------------------- */

static void bulk_is_exact_through(struct world *w, int reader)
{
    static uint8_t block[60000];
    struct buffer all = {0};
    size_t total = 0;
    fd_set_nonblock(reader, 1);
    for (unsigned i = 0; i < 40; i++) {
        while (under_way(w, 0, 1) + output_cost(sizeof(block)) > WINDOW) {
            read_all(reader, &all);
            turn(w);
        }
        fill(block, sizeof(block), i);
        put_at(w, 0, 1, 1, block, sizeof(block));
        total += sizeof(block);
    }
    while (buffer_len(&all) < total) {
        read_all(reader, &all);
        turn(w);
    }
    for (unsigned i = 0; i < 40; i++) {
        fill(block, sizeof(block), i);
        assert_memory_equal(buffer_ptr(&all) + i * sizeof(block), block, sizeof(block));
    }
    buffer_free(&all);
}

static void a_socket_is_never_waited_for(void **state)
{
    struct world *w = *state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w->fds), 0);
    begin(w, w->fds[0], w->fds[0], 0, 0);
    bulk_is_exact_through(w, w->fds[1]);
    assert_false(fcntl(w->fds[0], F_GETFL) & O_NONBLOCK);
}

static void a_terminal_is_never_waited_for_nor_made_nonblocking(void **state)
{
    struct world *w = *state;
    struct termios raw;
    assert_int_equal(openpty(&w->fds[0], &w->fds[1], NULL, NULL, NULL), 0);
    assert_int_equal(tcgetattr(w->fds[1], &raw), 0);
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(w->fds[1], TCSANOW, &raw), 0);
    begin(w, w->fds[1], w->fds[1], 0, 0);
    bulk_is_exact_through(w, w->fds[0]);
    assert_false(fcntl(w->fds[1], F_GETFL) & O_NONBLOCK);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static long peak_kib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

/* 256 MiB from four hosts that use all the credit they get, to a reader that is slower. */
static int memory_child(struct world *w, int tag)
{
    static uint8_t block[8192];
    int p[2];
    if (pipe2(p, O_CLOEXEC) < 0)
        return 2;
    pid_t reader = fork();
    if (reader == 0) {
        uint8_t in[3000];
        close(p[1]);
        while (read(p[0], in, sizeof(in)) > 0)
            ;
        _exit(0);
    }
    close(p[0]);
    struct output_setup o = {.fds = {p[1], p[1]},
                             .options.lines = {.tag = tag, .timestamp = tag},
                             .window = WINDOW,
                             .nhosts = HOSTS};
    w->o = output_create(w->loop, &o, &events, w, NULL);
    memset(block, 'x', sizeof(block));
    for (size_t i = 60; i < sizeof(block); i += 61)
        block[i] = '\n';
    long before = peak_kib();
    for (unsigned i = 0; i < 256 * 1024 * 1024 / sizeof(block); i++) {
        uint32_t host = i % HOSTS;
        struct bulk_header h = {{0, i % 100, 0}, 1, 1};
        while (under_way(w, host, 1) + output_cost(sizeof(block)) > WINDOW)
            loop_run(w->loop);
        w->put[host][1] += output_cost(sizeof(block));
        output_put(w->o, host, &h, block, sizeof(block));
        if (under_way(w, host, 1) > WINDOW / 2)
            turn(w);
    }
    long grown = peak_kib() - before;
    /* four windows twice over (a queue that grows), dues, and what tags add */
    return grown < (tag ? 8192 : 2048) ? 0 : 1;
}

static void memory_is_bounded_by_the_windows(void **state)
{
    struct world *w = *state;
    if (HAS_ADDRESS_SANITIZER) /* freed memory is kept in quarantine */
        skip();
    for (int tag = 0; tag < 2; tag++) {
        pid_t pid = fork();
        int status;
        if (pid == 0) {
            loop_timer_start(&w->turn, 0.001, 0.001); /* wakes loop_run() above */
            _exit(memory_child(w, tag));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void tagged_lines_are_whole_and_the_last_one_gets_its_newline(void **state)
{
    struct world *w = *state;
    make_pipe(w, 0);
    make_pipe(w, 2);
    begin(w, w->fds[1], w->fds[3], 1, 0);
    put(w, 0, 1, "one\ntw");
    put(w, 12, 1, "other\n");
    put(w, 12, 2, "error of twelve");
    put(w, 0, 1, "o\n\nthr");
    put(w, 0, 1, "ee");
    assert_reads(w->fds[0], "[0]<stdout>: one\n[12]<stdout>: other\n[0]<stdout>: two\n"
                            "[0]<stdout>: \n");
    assert_reads(w->fds[2], "");
    end(w, 0, 1);
    end(w, 12, 1);
    end(w, 12, 2);
    assert_reads(w->fds[0], "[0]<stdout>: three\n");
    assert_reads(w->fds[2], "[12]<stderr>: error of twelve\n");
    assert_true(under_way(w, 0, 1) < WINDOW / 4);
}

static void worlds_and_restarts_show_in_the_tag(void **state)
{
    struct world *w = *state;
    make_pipe(w, 0);
    begin(w, w->fds[1], w->fds[1], 1, 0);
    struct bulk_header h = {{1, 7, 0}, 1, 1}, again = {{0, 7, 2}, 2, 1};
    w->put[0][1] = w->put[0][2] = 1000;
    output_put(w->o, 0, &h, "spawned\n", 8);
    output_put(w->o, 0, &again, "restarted\n", 10);
    assert_reads(w->fds[0], "[1.7]<stdout>: spawned\n[0.7.2]<stderr>: restarted\n");
}

static void times_are_those_of_the_source(void **state)
{
    struct world *w = *state;
    setenv("TZ", "UTC", 1);
    tzset();
    make_pipe(w, 0);
    begin(w, w->fds[1], w->fds[1], 0, 1);
    put_at(w, 3, 1, 1754129472123456789u, "begun, ", 7);
    put_at(w, 3, 1, 1754129499000000000u, "ended\n", 6);
    output_destroy(w->o);
    begin(w, w->fds[1], w->fds[1], 1, 1);
    put_at(w, 3, 1, 1754129499000000000u, "tagged\n", 7);
    assert_reads(w->fds[0], "2025-08-02T10:11:12.123456: begun, ended\n"
                            "2025-08-02T10:11:39.000000 [3]<stdout>: tagged\n");
}

static void a_message_of_our_own_is_a_line_of_its_own(void **state)
{
    struct world *w = *state;
    make_pipe(w, 0);
    begin(w, w->fds[1], w->fds[1], 1, 0);
    put(w, 0, 1, "half a ");
    output_message(w->o, "mprun: look\n", 12);
    put(w, 0, 1, "line\n");
    assert_reads(w->fds[0], "mprun: look\n[0]<stdout>: half a line\n");
    output_destroy(w->o);
    begin(w, w->fds[1], w->fds[1], 0, 0);
    put(w, 0, 1, "prompt> ");
    output_message(w->o, "mprun: look\n", 12);
    assert_reads(w->fds[0], "prompt> \nmprun: look\n");
}

#define SHOWN  "\rstarting 1/3\033[K"
#define ERASED "\r\033[K"

static void progress_is_erased_before_anything_else_is_written(void **state)
{
    struct world *w = *state;
    make_pipe(w, 0);
    make_pipe(w, 2);
    for (int tag = 0; tag < 2; tag++) {
        begin(w, w->fds[1], w->fds[3], tag, 0);
        output_progress(w->o, NULL);
        output_progress(w->o, "starting 1/3");
        output_progress(w->o, "starting 1/3");
        put(w, 0, 1, "tick 1\n");
        put(w, 0, 1, "tick 2\n");
        assert_reads(w->fds[2], SHOWN SHOWN ERASED);
        output_progress(w->o, "starting 1/3");
        put(w, 0, 2, "tick\n");
        assert_reads(w->fds[2], tag ? SHOWN ERASED "[0]<stderr>: tick\n" : SHOWN ERASED "tick\n");
        output_progress(w->o, "starting 1/3");
        output_message(w->o, "mprun: note\n", 12);
        output_progress(w->o, NULL);
        assert_reads(w->fds[2], SHOWN ERASED "mprun: note\n");
        output_destroy(w->o);
        w->o = NULL;
        assert_reads(w->fds[0],
                     tag ? "[0]<stdout>: tick 1\n[0]<stdout>: tick 2\n" : "tick 1\ntick 2\n");
    }
}

/* Progress neither waits in a full terminal nor for one. */
static void a_terminal_that_takes_nothing_gets_no_progress(void **state)
{
    struct world *w = *state;
    static const char line[4096] = {[4095] = '\n'};
    uint64_t put = 0;
    make_pipe(w, 0);
    begin(w, w->fds[1], w->fds[1], 0, 0);
    for (; output_idle(w->o); put += sizeof(line))
        output_message(w->o, line, sizeof(line));
    output_progress(w->o, "starting 1/3");
    output_progress(w->o, NULL);
    put -= output_taken(w->o);
    assert_int_equal(output_drop(w->o), put);
}

static void long_lines_come_in_marked_pieces(void **state)
{
    struct world *w = *state;
    enum { LONG = 2 * OUTPUT_LINE_MAX + 10 };
    static char line[LONG + 2];
    static const size_t lengths[] = {OUTPUT_LINE_MAX - 1, OUTPUT_LINE_MAX, OUTPUT_LINE_MAX + 1,
                                     2 * OUTPUT_LINE_MAX, LONG};
    for (size_t c = 0; c < sizeof(lengths) / sizeof(lengths[0]); c++) {
        struct buffer all = {0};
        size_t n = lengths[c], at = 0;
        make_pipe(w, 0);
        begin(w, w->fds[1], w->fds[1], 1, 0);
        memset(line, 'x', n);
        line[n] = '\n';
        for (size_t done = 0; done < n + 1; done += 50000)
            put_at(w, 0, 1, 1, line + done, n + 1 - done < 50000 ? n + 1 - done : 50000);
        do {
            turn(w);
            read_all(w->fds[0], &all);
        } while (!output_idle(w->o));
        read_all(w->fds[0], &all);
        const char *got = (const char *)buffer_ptr(&all);
        for (size_t left = n, piece = 0; left > 0; piece++) {
            size_t part = left < OUTPUT_LINE_MAX ? left : OUTPUT_LINE_MAX;
            assert_memory_equal(got + at, piece == 0 ? "[0]<stdout>: " : "[0]<stdout>+ ", 13);
            assert_memory_equal(got + at + 13, line, part);
            assert_int_equal(got[at + 13 + part], '\n');
            at += 13 + part + 1;
            left -= part;
        }
        assert_int_equal(at, buffer_len(&all));
        buffer_free(&all);
        output_destroy(w->o);
        w->o = NULL;
        close(w->fds[0]);
        close(w->fds[1]);
        w->fds[0] = w->fds[1] = -1;
    }
}

enum { TALKERS = 24, LINES = 400 };

/* "rank number payload", so that a torn line cannot look right. */
static size_t random_line(char *to, unsigned rank, unsigned number)
{
    size_t n = (size_t)sprintf(to, "%u %u ", rank, number);
    size_t pad = (size_t)rand() % 300;
    memset(to + n, 'a' + (int)(rank + number) % 26, pad);
    to[n + pad] = '\n';
    return n + pad + 1;
}

static void check_line(const char *line, size_t n, unsigned next[TALKERS][3])
{
    unsigned tag, rank, number;
    char stream[8], head[64];
    int at = 0;
    snprintf(head, sizeof(head), "%.*s", (int)n, line);
    assert_int_equal(sscanf(head, "[%u]<%7[a-z]>: %u %u %n", &tag, stream, &rank, &number, &at), 4);
    unsigned s = strcmp(stream, "stdout") == 0 ? 1 : 2;
    assert_int_equal(tag, rank);
    assert_int_equal(number, next[rank][s]);
    next[rank][s]++;
    for (size_t i = (size_t)at; i < n; i++)
        assert_int_equal(line[i], 'a' + (int)(rank + number) % 26);
}

/* Many ranks, both streams in one pipe, chunks cut anywhere, a reader that takes odd amounts. */
static void no_line_is_ever_torn(void **state)
{
    struct world *w = *state;
    static unsigned next[TALKERS][3];
    struct buffer text[TALKERS][3], all = {0};
    size_t left = 0;
    memset(text, 0, sizeof(text));
    srand(20260802);
    for (unsigned r = 0; r < TALKERS; r++)
        for (unsigned i = 0; i < 2 * LINES; i++) {
            char line[400];
            buffer_append(&text[r][1 + i % 2], line, random_line(line, r, i / 2));
        }
    for (unsigned r = 0; r < TALKERS; r++)
        left += buffer_len(&text[r][1]) + buffer_len(&text[r][2]);
    make_pipe(w, 0);
    begin(w, w->fds[1], w->fds[1], 1, 0);
    while (left > 0) {
        unsigned r = (unsigned)rand() % TALKERS, s = 1 + (unsigned)rand() % 2;
        struct buffer *b = &text[r][s];
        size_t n = 1 + (size_t)rand() % 2000;
        n = n < buffer_len(b) ? n : buffer_len(b);
        if (n > 0)
            put_at(w, r, s, 1, buffer_ptr(b), n);
        buffer_consume(b, n);
        left -= n;
        buffer_read(&all, w->fds[0], 1 + (size_t)rand() % 2500);
        turn(w);
    }
    while (!output_idle(w->o)) {
        turn(w);
        read_all(w->fds[0], &all);
    }
    read_all(w->fds[0], &all);
    char *line = (char *)buffer_ptr(&all), *stop_at = line + buffer_len(&all);
    for (char *nl; line < stop_at && (nl = memchr(line, '\n', (size_t)(stop_at - line)));
         line = nl + 1)
        check_line(line, (size_t)(nl - line), next);
    assert_ptr_equal(line, stop_at);
    for (unsigned r = 0; r < TALKERS; r++) {
        assert_int_equal(next[r][1], LINES);
        assert_int_equal(next[r][2], LINES);
        buffer_free(&text[r][1]);
        buffer_free(&text[r][2]);
    }
    buffer_free(&all);
}

/* ---- merged lines, and JSON ------------------------------------------------------------------ */

static void begin_with(struct world *w, const struct output_options *options, uint32_t nranks)
{
    static const char *const hosts[HOSTS] = {"a", "b", "c", "d"};
    make_pipe(w, 0);
    struct output_setup o = {.fds = {w->fds[1], w->fds[1]},
                             .options = *options,
                             .names = {.job = "", .hosts = hosts, .nranks = nranks},
                             .window = WINDOW,
                             .nhosts = HOSTS};
    w->o = output_create(w->loop, &o, &events, w, NULL);
    assert_non_null(w->o);
}

static void begin_merge(struct world *w, uint32_t nranks)
{
    const struct output_options options = {.merge_lines = true};
    begin_with(w, &options, nranks);
}

static void a_line_of_all_ranks_comes_once_and_at_once(void **state)
{
    struct world *w = *state;
    begin_merge(w, 3);
    put(w, 0, 1, "same\nlonely\n");
    put(w, 2, 1, "sa");
    put(w, 2, 1, "me\n");
    assert_reads(w->fds[0], "");
    put(w, 1, 1, "same\n");
    assert_reads(w->fds[0], "[0-2] same\n");
    assert_false(output_idle(w->o));
    loop_run(w->loop); /* until the wait is over */
    assert_true(output_idle(w->o));
    assert_reads(w->fds[0], "[0] lonely\n");
}

static void each_rank_keeps_its_order_when_lines_are_merged(void **state)
{
    struct world *w = *state;
    begin_merge(w, 4);
    put(w, 0, 1, "a\nb\na\n");
    put(w, 1, 1, "b\na\nb\n"); /* its second b comes behind its a */
    put(w, 2, 2, "a\n");       /* another stream */
    put(w, 3, 1, "half");
    end(w, 3, 1);
    output_finish(w->o);
    assert_reads(w->fds[0], "[0] a\n[0-1] b\n[0-1] a\n[1] b\n[2] a\n[3] half\n");
    assert_true(output_idle(w->o));
}

static void a_message_and_the_end_put_out_what_waits(void **state)
{
    struct world *w = *state;
    begin_merge(w, 2);
    put(w, 0, 1, "before\n");
    output_message(w->o, "mprun: x\n", 9);
    put(w, 1, 1, "unfinished");
    output_finish(w->o);
    assert_reads(w->fds[0], "[0] before\nmprun: x\n[1] unfinished\n");
}

/* Files are never waited for: nothing else would write what stays behind. */
static void a_message_puts_out_what_waits_for_files(void **state)
{
    struct world *w = *state;
    struct output_setup o = {.fds = {w->fds[0] = temporary_file(), w->fds[1] = temporary_file()},
                             .options.merge_lines = true,
                             .names.nranks = 2,
                             .window = WINDOW,
                             .nhosts = HOSTS};
    w->o = output_create(w->loop, &o, &events, w, NULL);
    put(w, 0, 1, "out\n");
    put(w, 0, 2, "err\n");
    output_message(w->o, "mprun: x\n", 9);
    assert_true(output_idle(w->o));
    lseek(w->fds[0], 0, SEEK_SET);
    lseek(w->fds[1], 0, SEEK_SET);
    assert_reads(w->fds[0], "[0] out\n");
    assert_reads(w->fds[1], "[0] err\nmprun: x\n");
}

static void messages_of_our_own_go_to_standard_error(void **state)
{
    static const struct output_options options[] = {{.lines.json = true}, {.merge_streams = true}};
    static const char *const hosts[] = {"a"};
    struct world *w = *state;
    make_pipe(w, 0);
    make_pipe(w, 2);
    for (int i = 0; i < 2; i++) {
        struct output_setup o = {.fds = {w->fds[1], w->fds[3]},
                                 .options = options[i],
                                 .names.hosts = hosts,
                                 .window = WINDOW,
                                 .nhosts = HOSTS};
        w->o = output_create(w->loop, &o, &events, w, NULL);
        output_progress(w->o, "half");
        put(w, 0, 2, "x\n");
        output_message(w->o, "mprun: x\n", 9);
        assert_reads(w->fds[2], "\rhalf\033[K\r\033[Kmprun: x\n");
        char text[200] = "";
        assert_true(read(w->fds[0], text, sizeof(text) - 1) > 0);
        assert_int_equal(text[0], i == 0 ? '{' : 'x');
        assert_null(strstr(text, "mprun"));
        output_destroy(w->o);
    }
    w->o = NULL;
}

/* More lines than may wait: none is lost, and each rank's come in order. */
static void many_different_lines_wait_in_bounds_and_none_is_lost(void **state)
{
    struct world *w = *state;
    enum { RANKS = 5, MANY = 3000 };
    static unsigned next[RANKS], sent[RANKS];
    struct buffer all = {0};
    char line[40];
    begin_merge(w, RANKS);
    srand(7);
    for (unsigned left = RANKS * MANY; left > 0;) {
        unsigned r = (unsigned)rand() % RANKS;
        if (sent[r] == MANY)
            continue;
        left--;
        snprintf(line, sizeof(line), "%u\n", sent[r]++);
        put(w, r, 1, line);
        read_all(w->fds[0], &all);
    }
    output_finish(w->o);
    do
        read_all(w->fds[0], &all);
    while (turn(w), !output_idle(w->o));
    read_all(w->fds[0], &all);
    buffer_append(&all, "", 1);
    for (char *at = (char *)buffer_ptr(&all), *nl; (nl = strchr(at, '\n')); at = nl + 1) {
        char *set = at + 1, *close = strchr(at, ']');
        assert_int_equal(*at, '[');
        while (set < close) {
            unsigned from = (unsigned)strtoul(set, &set, 10), to = from;
            if (*set == '-')
                to = (unsigned)strtoul(set + 1, &set, 10);
            for (; from <= to; from++)
                assert_int_equal(strtoul(close + 2, NULL, 10), next[from]++);
            set++;
        }
    }
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(next[r], MANY);
    buffer_free(&all);
}

static void an_object_of_json_has_any_bytes_of_a_line(void **state)
{
    static const struct output_options options = {.lines = {.json = true}};
    struct world *w = *state;
    begin_with(w, &options, 1);
    put_at(w, 0, 1, 1785665472123456789u, "\"\\\0\303\266\n", 6);
    put_at(w, 0, 2, 0, "\355\240\200", 3); /* a surrogate is no UTF-8 */
    end(w, 0, 2);
    assert_reads(w->fds[0],
                 "{\"world\":0,\"rank\":0,\"host\":\"a\",\"stream\":\"stdout\",\"time\":"
                 "\"2026-08-02T10:11:12.123456Z\",\"text\":\"\\\"\\\\\\u0000\303\266\"}\n"
                 "{\"world\":0,\"rank\":0,\"host\":\"a\",\"stream\":\"stderr\",\"time\":"
                 "\"1970-01-01T00:00:00.000000Z\",\"text\":\"\\ufffd\\ufffd\\ufffd\",\"base64\":"
                 "\"7aCA\",\"newline\":false}\n");
}

static void pieces_of_a_long_line_do_not_cut_characters(void **state)
{
    static const struct output_options options = {.lines = {.tag = true}};
    static const size_t frames[] = {OUTPUT_LINE_MAX + 3, OUTPUT_LINE_MAX, OUTPUT_LINE_MAX - 1,
                                    OUTPUT_LINE_MAX + 1, 1000};
    static char line[OUTPUT_LINE_MAX + 4];
    struct world *w = *state;
    begin_with(w, &options, 1);
    memset(line, 'x', sizeof(line));
    memcpy(line + OUTPUT_LINE_MAX - 1, "\303\266y\n", 4);
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) { /* that the line comes in */
        struct buffer all = {0};
        put_at(w, 0, 1, 1, line, frames[i]);
        put_at(w, 0, 1, 1, line + frames[i], OUTPUT_LINE_MAX + 3 - frames[i]);
        while (!output_idle(w->o)) {
            turn(w);
            read_all(w->fds[0], &all);
        }
        read_all(w->fds[0], &all);
        buffer_append(&all, "", 1);
        assert_string_equal((char *)buffer_ptr(&all) + 13 + OUTPUT_LINE_MAX - 1,
                            "\n[0]<stdout>+ \303\266y\n");
        buffer_free(&all);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_stream_goes_to_its_descriptor_unchanged),
        TEST(a_file_is_written_at_once_at_the_shared_offset),
        TEST(a_stalled_reader_holds_back_credit_and_only_of_its_own_stream),
        TEST(credit_goes_to_the_host_that_sent),
        TEST(shared_descriptors_keep_their_flags),
        TEST(one_pipe_for_both_streams_keeps_the_order_of_arrival),
        TEST(what_can_be_moved_into_a_pipe_is_moved_and_paid_for_once),
        TEST(what_cannot_be_moved_is_left_to_the_queue),
        TEST(a_reader_that_closes_is_told_once_and_credit_still_flows),
        TEST(a_reader_that_was_gone_before_is_told_of_both_its_streams),
        TEST(a_full_disk_is_an_error_with_its_reason),
        TEST(a_socket_is_never_waited_for),
        TEST(a_terminal_is_never_waited_for_nor_made_nonblocking),
        TEST(memory_is_bounded_by_the_windows),
        TEST(tagged_lines_are_whole_and_the_last_one_gets_its_newline),
        TEST(worlds_and_restarts_show_in_the_tag),
        TEST(times_are_those_of_the_source),
        TEST(a_message_of_our_own_is_a_line_of_its_own),
        TEST(progress_is_erased_before_anything_else_is_written),
        TEST(a_terminal_that_takes_nothing_gets_no_progress),
        TEST(long_lines_come_in_marked_pieces),
        TEST(no_line_is_ever_torn),
        TEST(a_line_of_all_ranks_comes_once_and_at_once),
        TEST(each_rank_keeps_its_order_when_lines_are_merged),
        TEST(a_message_and_the_end_put_out_what_waits),
        TEST(a_message_puts_out_what_waits_for_files),
        TEST(messages_of_our_own_go_to_standard_error),
        TEST(many_different_lines_wait_in_bounds_and_none_is_lost),
        TEST(an_object_of_json_has_any_bytes_of_a_line),
        TEST(pieces_of_a_long_line_do_not_cut_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
