/* SPDX-License-Identifier: BSD-3-Clause */
/* test-input.c - sources of every kind, read by ranks that the test plays
 *
 * What matters most is what is left in the source afterwards. */
#include "launcher/io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/buffer.h"
#include "common/files/fdio.h"
#include "common/loop.h"
#include "wire/messages/frame.h"
#include "wire/tunables.h"
#include "tests/unit/patience.h"

enum { RANKS = 4 };

struct rank {
    struct buffer got;
    uint64_t sent, consumed, limit;
    int ended;
};

struct world {
    struct loop *loop;
    struct loop_timer turn, watchdog;
    struct input *in;
    struct rank ranks[RANKS];
    struct error failure;
    int over;
    int slow;
    int fds[2];
};

static void stop(void *arg)
{
    loop_stop(arg);
}

static void too_long(void *arg)
{
    fail_msg("the loop did not come to an end");
}

static struct rank_name name_of(uint32_t r)
{
    return (struct rank_name){.rank = r};
}

static void on_send(void *arg, struct rank_name name, const void *data, size_t n)
{
    struct world *w = arg;
    struct rank *r = &w->ranks[name.rank];
    assert_true(n <= BULK_DATA_MAX);
    assert_true(r->limit > 0); /* never before the rank is known */
    assert_false(r->ended);
    if (n == 0) {
        r->ended++;
        return;
    }
    r->sent += n;
    assert_true(r->sent <= r->limit);
    buffer_append(&r->got, data, n);
}

static void on_failed(void *arg, const struct error *why)
{
    struct world *w = arg;
    w->failure = *why;
}

static void on_over(void *arg)
{
    struct world *w = arg;
    w->over++;
}

static const struct input_events events = {.send = on_send, .failed = on_failed, .over = on_over};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    w->loop = loop_create(NULL);
    loop_timer_init(&w->turn, w->loop, stop, w->loop);
    loop_timer_init(&w->watchdog, w->loop, too_long, w);
    loop_timer_start(&w->watchdog, patience(60), 0);
    w->fds[0] = w->fds[1] = -1;
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    input_destroy(w->in);
    loop_timer_stop(&w->turn);
    loop_timer_stop(&w->watchdog);
    loop_destroy(w->loop);
    for (int r = 0; r < RANKS; r++)
        buffer_free(&w->ranks[r].got);
    for (int i = 0; i < 2; i++)
        if (w->fds[i] >= 0)
            close(w->fds[i]);
    free(w);
    return 0;
}

static void begin(struct world *w, int fd, uint32_t targets)
{
    struct rank_name names[RANKS];
    for (uint32_t r = 0; r < targets; r++)
        names[r] = name_of(r);
    w->slow = input_is_slow(fd);
    w->in = input_create(w->loop, fd, names, targets, &events, w, NULL);
    assert_non_null(w->in);
}

static void turn(struct world *w)
{
    loop_timer_start(&w->turn, 0, 0);
    loop_run(w->loop);
}

static void settle(struct world *w)
{
    for (int i = 0; i < 5; i++)
        turn(w);
}

/* What a starter says. */
static void tell(struct world *w, uint32_t r, int closed)
{
    struct rank *k = &w->ranks[r];
    if (w->slow)
        k->limit = k->consumed == k->sent ? k->consumed + INPUT_WINDOW_SLOW : k->limit;
    else
        k->limit = k->consumed + INPUT_WINDOW;
    input_credit(w->in, name_of(r), k->consumed, k->limit, closed);
}

/* The rank reads everything it got, and the input goes on; returns how much that was. */
static uint64_t drain(struct world *w, uint32_t r)
{
    struct rank *k = &w->ranks[r];
    uint64_t n = k->sent - k->consumed;
    k->consumed = k->sent;
    tell(w, r, 0);
    settle(w);
    return n;
}

static void drain_to_the_end(struct world *w, uint32_t r)
{
    while (!w->ranks[r].ended)
        drain(w, r);
}

/* The rank ends after it has read so much in all. */
static void rank_ends(struct world *w, uint32_t r, uint64_t consumed)
{
    w->ranks[r].consumed = consumed;
    tell(w, r, 1);
}

static void finish(struct world *w)
{
    input_finish(w->in);
    input_destroy(w->in);
    w->in = NULL;
}

static void fill(uint8_t *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((i * 2654435761u + seed) >> 11);
}

static int file_of(const void *p, size_t n)
{
    char path[] = "/tmp/test-input.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(fd_write_all(fd, p, n), 0);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static int unread(int fd)
{
    int n = -1;
    ioctl(fd, FIONREAD, &n);
    return n;
}

static void make_pipe(struct world *w, const void *p, size_t n)
{
    assert_int_equal(pipe2(w->fds, O_CLOEXEC), 0);
    fcntl(w->fds[1], F_SETPIPE_SZ, 1024 * 1024);
    fcntl(w->fds[1], F_SETFL, O_NONBLOCK);
    if (n)
        assert_int_equal(write(w->fds[1], p, n), n);
}

static void close_writer(struct world *w)
{
    close(w->fds[1]);
    w->fds[1] = -1;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void a_file_arrives_whole_and_its_offset_is_at_its_end(void **state)
{
    struct world *w = *state;
    static uint8_t block[3 * 1024 * 1024 + 77];
    fill(block, sizeof(block), 1);
    w->fds[0] = file_of(block, sizeof(block));
    begin(w, w->fds[0], 1);
    assert_int_equal(w->slow, 0);
    settle(w);
    assert_int_equal(w->ranks[0].sent, 0); /* the rank is not known yet */
    drain_to_the_end(w, 0);
    assert_int_equal(buffer_len(&w->ranks[0].got), sizeof(block));
    assert_memory_equal(buffer_ptr(&w->ranks[0].got), block, sizeof(block));
    rank_ends(w, 0, sizeof(block));
    finish(w);
    assert_int_equal(lseek(w->fds[0], 0, SEEK_CUR), sizeof(block));
}

static void a_files_offset_is_put_to_what_the_rank_has_read(void **state)
{
    struct world *w = *state;
    static const uint64_t reads[] = {0, 1, 4095, 70000, 100000};
    uint8_t block[100000] = {0};
    w->fds[0] = file_of(block, sizeof(block));
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
        memset(&w->ranks[0].sent, 0, sizeof(w->ranks[0]) - sizeof(w->ranks[0].got));
        lseek(w->fds[0], 13, SEEK_SET);
        begin(w, w->fds[0], 1);
        tell(w, 0, 0);
        settle(w);
        assert_int_equal(w->ranks[0].sent, sizeof(block) - 13);
        assert_int_equal(lseek(w->fds[0], 0, SEEK_CUR), 13); /* whatever happens to mprun now */
        uint64_t n = reads[i] < sizeof(block) - 13 ? reads[i] : sizeof(block) - 13;
        rank_ends(w, 0, n);
        finish(w);
        assert_int_equal(lseek(w->fds[0], 0, SEEK_CUR), 13 + n);
    }
}

static void a_file_is_read_no_further_than_the_credit(void **state)
{
    struct world *w = *state;
    static uint8_t block[2 * INPUT_WINDOW];
    w->fds[0] = file_of(block, sizeof(block));
    begin(w, w->fds[0], 1);
    tell(w, 0, 0);
    settle(w);
    assert_int_equal(w->ranks[0].sent, INPUT_WINDOW);
}

/* ---- pipes and sockets ----------------------------------------------------------------------- */

static void a_pipe_is_passed_on_byte_by_byte_and_taken_as_it_is_read(void **state)
{
    struct world *w = *state;
    static uint8_t block[300000];
    fill(block, sizeof(block), 2);
    make_pipe(w, block, sizeof(block));
    begin(w, w->fds[0], 1);
    assert_int_equal(w->slow, 1);
    tell(w, 0, 0);
    settle(w);
    assert_true(w->ranks[0].sent > 0);
    assert_int_equal(unread(w->fds[0]), sizeof(block)); /* nothing is taken before it is read */
    close_writer(w);
    while (!w->ranks[0].ended) {
        uint64_t before = w->ranks[0].sent;
        drain(w, 0);
        assert_int_equal(unread(w->fds[0]), sizeof(block) - before);
    }
    assert_int_equal(w->ranks[0].sent, sizeof(block));
    assert_memory_equal(buffer_ptr(&w->ranks[0].got), block, sizeof(block));
}

static void what_comes_later_is_sent_when_the_rank_waits_for_it(void **state)
{
    struct world *w = *state;
    make_pipe(w, NULL, 0);
    begin(w, w->fds[0], 1);
    tell(w, 0, 0);
    for (unsigned i = 1; i <= 100; i++) {
        settle(w);
        assert_int_equal(w->ranks[0].sent, 4 * (i - 1));
        assert_int_equal(write(w->fds[1], "abc", 3), 3);
        settle(w);
        assert_int_equal(w->ranks[0].sent, 4 * (i - 1) + 3);
        assert_int_equal(write(w->fds[1], "d", 1), 1); /* while the rank has not read abc */
        settle(w);
        assert_int_equal(w->ranks[0].sent, 4 * (i - 1) + 3);
        assert_int_equal(unread(w->fds[0]), 4);
        drain(w, 0);
        assert_int_equal(w->ranks[0].sent, 4 * i);
        assert_int_equal(unread(w->fds[0]), 1);
        drain(w, 0);
        assert_int_equal(unread(w->fds[0]), 0);
    }
}

static void a_pipe_keeps_what_the_rank_did_not_read(void **state)
{
    struct world *w = *state;
    static const uint64_t reads[] = {0, 1, 10, 4096, 65536};
    static uint8_t block[200000], back[200000];
    fill(block, sizeof(block), 3);
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
        memset(&w->ranks[0].sent, 0, sizeof(w->ranks[0]) - sizeof(w->ranks[0].got));
        make_pipe(w, block, sizeof(block));
        begin(w, w->fds[0], 1);
        drain(w, 0);                  /* credit only */
        uint64_t first = drain(w, 0); /* all that came first */
        rank_ends(w, 0, first + reads[i]);
        finish(w);
        assert_int_equal(unread(w->fds[0]), sizeof(block) - first - reads[i]);
        assert_int_equal(fd_read_all(w->fds[0], back, sizeof(block) - first - reads[i]), 0);
        assert_memory_equal(back, block + first + reads[i], sizeof(block) - first - reads[i]);
        close(w->fds[0]);
        close(w->fds[1]);
        w->fds[0] = w->fds[1] = -1;
    }
}

static void bytes_somebody_else_took_are_not_waited_for(void **state)
{
    struct world *w = *state;
    char c[4];
    make_pipe(w, "abcd", 4);
    begin(w, w->fds[0], 1);
    drain(w, 0);
    assert_int_equal(w->ranks[0].sent, 4);
    assert_int_equal(read(w->fds[0], c, 4), 4);
    drain(w, 0); /* would block for ever with a plain read */
    assert_int_equal(write(w->fds[1], "ef", 2), 2);
    settle(w);
    assert_int_equal(w->ranks[0].sent, 6);
}

static void descriptors_keep_their_flags(void **state)
{
    struct world *w = *state;
    make_pipe(w, "abc", 3);
    begin(w, w->fds[0], 1);
    drain(w, 0);
    assert_false(fcntl(w->fds[0], F_GETFL) & O_NONBLOCK);
}

static void a_socket_keeps_what_the_rank_did_not_read(void **state)
{
    struct world *w = *state;
    char back[100] = "";
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w->fds), 0);
    assert_int_equal(write(w->fds[1], "first\n", 6), 6);
    begin(w, w->fds[0], 1);
    assert_int_equal(w->slow, 1);
    drain(w, 0);
    assert_int_equal(w->ranks[0].sent, 6);
    assert_int_equal(write(w->fds[1], "second third", 12), 12);
    drain(w, 0);
    rank_ends(w, 0, 6 + 7);
    finish(w);
    assert_int_equal(recv(w->fds[0], back, sizeof(back), MSG_DONTWAIT), 5);
    assert_memory_equal(back, "third", 5);
    assert_false(fcntl(w->fds[0], F_GETFL) & O_NONBLOCK);
}

static void the_end_of_a_socket_is_the_end(void **state)
{
    struct world *w = *state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w->fds), 0);
    assert_int_equal(write(w->fds[1], "x", 1), 1);
    close_writer(w);
    begin(w, w->fds[0], 1);
    drain_to_the_end(w, 0);
    assert_int_equal(w->ranks[0].sent, 1);
}

/* ---- nothing to read ------------------------------------------------------------------------- */

static void ends_at_once(struct world *w, int fd)
{
    w->ranks[0] = (struct rank){0};
    begin(w, fd, 1);
    assert_int_equal(w->slow, 0);
    tell(w, 0, 0);
    settle(w);
    assert_int_equal(w->ranks[0].sent, 0);
    assert_int_equal(w->ranks[0].ended, 1);
    finish(w);
}

static void nothing_to_read_is_an_immediate_end(void **state)
{
    struct world *w = *state;
    w->fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ends_at_once(w, w->fds[0]);
    ends_at_once(w, 999);                                /* closed */
    w->fds[1] = open("/dev/null", O_WRONLY | O_CLOEXEC); /* nohup */
    ends_at_once(w, w->fds[1]);
    close(w->fds[0]);
    w->fds[0] = file_of("", 0);
    ends_at_once(w, w->fds[0]);
    assert_string_equal(w->failure.text, "");
}

static void a_source_that_cannot_be_read_is_an_end_with_a_reason(void **state)
{
    struct world *w = *state;
    w->fds[0] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ends_at_once(w, w->fds[0]);
    assert_int_equal(w->failure.code, EISDIR);
    assert_non_null(strstr(w->failure.text, "standard input"));
}

static void an_endless_device_stops_at_the_credit(void **state)
{
    struct world *w = *state;
    w->fds[0] = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    begin(w, w->fds[0], 1);
    tell(w, 0, 0);
    settle(w);
    assert_int_equal(w->ranks[0].sent, INPUT_WINDOW);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void everybody_gets_everything_at_the_pace_of_the_slowest(void **state)
{
    struct world *w = *state;
    static uint8_t block[500000];
    fill(block, sizeof(block), 4);
    make_pipe(w, block, sizeof(block));
    close_writer(w);
    begin(w, w->fds[0], RANKS);
    for (uint32_t r = 0; r < RANKS; r++) {
        settle(w);
        assert_int_equal(w->ranks[0].sent, 0); /* all must be there */
        tell(w, r, 0);
    }
    settle(w);
    uint64_t first = w->ranks[0].sent;
    assert_true(first > 0);
    for (uint32_t r = 0; r < RANKS - 1; r++)
        drain(w, r);
    assert_int_equal(w->ranks[0].sent, first);
    assert_int_equal(unread(w->fds[0]), sizeof(block));
    drain(w, RANKS - 1);
    assert_int_equal(unread(w->fds[0]), sizeof(block) - first);
    while (!w->ranks[0].ended)
        for (uint32_t r = 0; r < RANKS; r++)
            drain(w, r);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(w->ranks[r].ended, 1);
        assert_int_equal(w->ranks[r].sent, sizeof(block));
        assert_memory_equal(buffer_ptr(&w->ranks[r].got), block, sizeof(block));
    }
}

static void a_rank_that_closed_is_not_waited_for_and_what_any_has_read_is_taken(void **state)
{
    struct world *w = *state;
    static uint8_t block[200000];
    make_pipe(w, block, sizeof(block));
    begin(w, w->fds[0], 3);
    for (uint32_t r = 0; r < 3; r++)
        tell(w, r, 0);
    settle(w);
    uint64_t first = w->ranks[0].sent;
    rank_ends(w, 0, 0);
    drain(w, 1);
    drain(w, 2);
    assert_int_equal(w->ranks[0].sent, first);
    assert_true(w->ranks[1].sent > first);
    rank_ends(w, 1, first + 5);
    assert_int_equal(w->over, 0);
    rank_ends(w, 2, first + 100);
    assert_int_equal(w->over, 1);
    finish(w);
    assert_int_equal(unread(w->fds[0]), sizeof(block) - first - 100);
}

static void a_rank_that_never_started_is_not_waited_for(void **state)
{
    struct world *w = *state;
    w->fds[0] = file_of("abc", 3);
    begin(w, w->fds[0], 2);
    tell(w, 0, 0);
    settle(w);
    assert_int_equal(w->ranks[0].sent, 0);
    input_credit(w->in, name_of(1), 0, 0, 1);
    input_credit(w->in, (struct rank_name){.world = 1, .rank = 0}, 5, 5, 1); /* no target */
    settle(w);
    assert_int_equal(w->ranks[0].sent, 3);
    assert_int_equal(w->ranks[0].ended, 1);
    assert_int_equal(w->ranks[1].ended, 0);
}

/* ---- terminals ------------------------------------------------------------------------------- */

/* In a process of its own, with a controlling terminal. Line of the first false check, or 0. */
#define CHECK(c)                                                                                   \
    do {                                                                                           \
        if (!(c))                                                                                  \
            return __LINE__ % 251 + 1;                                                             \
    } while (0)

static int in_the_foreground(struct world *w, int master, int tty)
{
    begin(w, tty, 1);
    CHECK(w->slow);
    tell(w, 0, 0);
    settle(w);
    CHECK(fd_write_all(master, "one\ntwo\nthree\n", 14) == 0);
    while (w->ranks[0].sent == 0)
        turn(w);
    settle(w);
    CHECK(w->ranks[0].sent == 4); /* one line ahead */
    drain(w, 0);
    CHECK(w->ranks[0].sent == 8);
    rank_ends(w, 0, 8);
    finish(w);
    CHECK(!(fcntl(tty, F_GETFL) & O_NONBLOCK));
    char rest[20];
    CHECK(read(tty, rest, sizeof(rest)) == 6 && memcmp(rest, "three\n", 6) == 0);
    return 0;
}

static int in_the_background(struct world *w, int master, int tty)
{
    pid_t other = fork();
    if (other == 0) {
        setpgid(0, 0);
        pause();
        _exit(0);
    }
    setpgid(other, other);
    signal(SIGTTOU, SIG_IGN);
    CHECK(tcsetpgrp(tty, other) == 0);
    begin(w, tty, 1);
    tell(w, 0, 0);
    CHECK(fd_write_all(master, "for the shell\n", 14) == 0);
    while (unread(tty) == 0)
        turn(w);
    settle(w);
    CHECK(w->ranks[0].sent == 0);
    CHECK(tcsetpgrp(tty, getpgrp()) == 0);
    input_continued(w->in); /* as on SIGCONT */
    settle(w);
    CHECK(w->ranks[0].sent == 14);
    kill(other, SIGKILL);
    return 0;
}

static int end_of_file_key(struct world *w, int master, int tty)
{
    begin(w, tty, 1);
    tell(w, 0, 0);
    CHECK(fd_write_all(master, "\004", 1) == 0);
    while (!w->ranks[0].ended)
        turn(w);
    CHECK(w->ranks[0].sent == 0);
    return 0;
}

static void on_a_terminal(struct world *w, int (*fn)(struct world *, int, int))
{
    int master, tty, status;
    assert_int_equal(openpty(&master, &tty, NULL, NULL, NULL), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(patience(20));
        if (setsid() < 0 || ioctl(tty, TIOCSCTTY, 0) < 0)
            _exit(255);
        _exit(fn(w, master, tty));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(master);
    close(tty);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_terminal_is_read_one_line_ahead(void **state)
{
    on_a_terminal(*state, in_the_foreground);
}

static void a_terminal_is_not_read_in_the_background(void **state)
{
    on_a_terminal(*state, in_the_background);
}

static void the_end_key_of_a_terminal_is_the_end(void **state)
{
    on_a_terminal(*state, end_of_file_key);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_arrives_whole_and_its_offset_is_at_its_end),
        TEST(a_files_offset_is_put_to_what_the_rank_has_read),
        TEST(a_file_is_read_no_further_than_the_credit),
        TEST(a_pipe_is_passed_on_byte_by_byte_and_taken_as_it_is_read),
        TEST(what_comes_later_is_sent_when_the_rank_waits_for_it),
        TEST(a_pipe_keeps_what_the_rank_did_not_read),
        TEST(bytes_somebody_else_took_are_not_waited_for),
        TEST(descriptors_keep_their_flags),
        TEST(a_socket_keeps_what_the_rank_did_not_read),
        TEST(the_end_of_a_socket_is_the_end),
        TEST(nothing_to_read_is_an_immediate_end),
        TEST(a_source_that_cannot_be_read_is_an_end_with_a_reason),
        TEST(an_endless_device_stops_at_the_credit),
        TEST(everybody_gets_everything_at_the_pace_of_the_slowest),
        TEST(a_rank_that_closed_is_not_waited_for_and_what_any_has_read_is_taken),
        TEST(a_rank_that_never_started_is_not_waited_for),
        TEST(a_terminal_is_read_one_line_ahead),
        TEST(a_terminal_is_not_read_in_the_background),
        TEST(the_end_key_of_a_terminal_is_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
