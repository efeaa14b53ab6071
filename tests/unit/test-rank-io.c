/* SPDX-License-Identifier: BSD-3-Clause */
/* test-rank-io.c - pipes of ranks against a link of the test's own, whose room the test decides
 *
 * Most tests play the rank themselves, with the descriptors a rank would get. */
#include "starter/io/rank-io.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/buffer.h"
#include "common/files/fdio.h"
#include "common/loop.h"
#include "wire/flow-control.h"
#include "wire/link/link.h"
#include "wire/mprun.pb-c.h"
#include "tests/unit/patience.h"

enum { RANKS = 8, WINDOW = 64 * 1024 };

/* ---- the link -------------------------------------------------------------------------------- */

struct got { /* of one rank's stream */
    struct buffer data;
    int ends;
};

struct link {
    size_t room;
    size_t pending;
    uint8_t *reserved;
    struct got got[RANKS][3];
    uint64_t total[3], cost[3]; /* by stream */
    unsigned order[100000];     /* which rank each frame was of */
    size_t frames;
    int keep; /* the data, not only its sums */
    int may_move;
    int moves;   /* frames that came without a copy */
    int credits; /* input */
    uint64_t consumed, limit;
    int closed;
    uint32_t credit_rank;
};

size_t link_bulk_room(const struct link *l)
{
    return l->room;
}

size_t link_bulk_pending(const struct link *l)
{
    return l->pending;
}

uint8_t *link_bulk_reserve(struct link *l, size_t n)
{
    free(l->reserved);
    l->reserved = malloc(n + 1);
    return l->reserved;
}

void link_bulk_commit(struct link *l, enum frame_type type, const struct bulk_header *h, size_t n,
                      int even_empty)
{
    assert_int_equal(type, FRAME_OUTPUT);
    assert_in_range(h->name.rank, 0, RANKS - 1);
    assert_in_range(h->stream, 1, 2);
    assert_true(h->time_ns > 0);
    struct got *g = &l->got[h->name.rank][h->stream];
    assert_int_equal(g->ends, 0);
    if (n == 0) {
        assert_true(even_empty);
        g->ends++;
        return;
    }
    assert_true(n <= BULK_DATA_MAX);
    if (l->keep)
        buffer_append(&g->data, l->reserved, n);
    l->total[h->stream] += n;
    l->cost[h->stream] += output_cost(n);
    if (l->frames < sizeof(l->order) / sizeof(l->order[0]))
        l->order[l->frames++] = h->name.rank;
}

int link_bulk_move(struct link *l, enum frame_type type, const struct bulk_header *h, int fd,
                   size_t n)
{
    if (!l->may_move)
        return 0;
    l->moves++;
    assert_int_equal(fd_read_all(fd, link_bulk_reserve(l, n), n), 0);
    link_bulk_commit(l, type, h, n, 0);
    return 1;
}

void link_send(struct link *l, enum frame_type type, const ProtobufCMessage *m)
{
    const Mprun__InputCredit *c = (const Mprun__InputCredit *)m;
    assert_int_equal(type, FRAME_INPUT_CREDIT);
    l->credits++;
    l->credit_rank = c->name->rank;
    l->consumed = c->consumed;
    l->limit = c->limit;
    l->closed = c->closed;
}

/* ---- the test's world ------------------------------------------------------------------------ */

struct world {
    struct loop *loop;
    struct loop_timer turn, watchdog;
    struct link link;
    struct rank_io io;
    int drained;
    uint64_t returned[3]; /* credit given back */
    int child[RANKS][3];
};

static void stop(void *arg)
{
    loop_stop(arg);
}

static void too_long(void *arg)
{
    fail_msg("the loop did not come to an end");
}

static void on_drained(void *arg)
{
    struct world *w = arg;
    w->drained++;
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    w->loop = loop_create(NULL);
    loop_timer_init(&w->turn, w->loop, stop, w->loop);
    loop_timer_init(&w->watchdog, w->loop, too_long, w);
    loop_timer_start(&w->watchdog, patience(60), 0);
    w->link.room = BULK_DATA_MAX;
    w->link.keep = 1;
    rank_io_init(&w->io, w->loop, WINDOW, on_drained, w);
    rank_io_set_link(&w->io, &w->link);
    for (int r = 0; r < RANKS; r++)
        w->child[r][0] = w->child[r][1] = w->child[r][2] = -1;
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    for (int r = 0; r < RANKS; r++)
        rank_io_close_child_ends(w->child[r]);
    rank_io_free(&w->io);
    loop_timer_stop(&w->turn);
    loop_timer_stop(&w->watchdog);
    loop_destroy(w->loop);
    for (int r = 0; r < RANKS; r++)
        for (int s = 0; s < 3; s++)
            buffer_free(&w->link.got[r][s].data);
    free(w->link.reserved);
    free(w);
    return 0;
}

static struct rank_name name_of(uint32_t rank)
{
    return (struct rank_name){.rank = rank};
}

static void open_rank(struct world *w, uint32_t rank, int wants_stdin, int slow)
{
    const struct rank_io_wish wish = {.has_input = wants_stdin, .is_slow = slow};
    assert_int_equal(rank_io_open(&w->io, name_of(rank), &wish, w->child[rank], NULL), 0);
}

/* Once through the loop: everything that is ready is served. */
static void turn(struct world *w)
{
    loop_timer_start(&w->turn, 0, 0);
    loop_run(w->loop);
}

/* Until nothing changes any more. */
static void settle(struct world *w)
{
    for (int same = 0; same < 3;) {
        uint64_t before = w->link.total[1] + w->link.total[2] + (uint64_t)w->link.credits;
        turn(w);
        same = before == w->link.total[1] + w->link.total[2] + (uint64_t)w->link.credits ? same + 1
                                                                                         : 0;
    }
}

static void return_all_credit(struct world *w)
{
    for (unsigned s = 1; s <= 2; s++) {
        uint64_t due = w->link.cost[s] - w->returned[s];
        assert_true(due <= WINDOW);
        w->returned[s] += due;
        if (due)
            rank_io_output_credit(&w->io, s, due);
    }
}

static void close_child(struct world *w, uint32_t rank, int fd)
{
    close(w->child[rank][fd]);
    w->child[rank][fd] = -1;
}

static void put_string(int fd, const char *s)
{
    assert_int_equal(write(fd, s, strlen(s)), strlen(s));
}

static void fill(uint8_t *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((i * 2654435761u + seed) >> 11);
}

/* A process that does what a rank does; its ends of the pipes are closed here. */
static pid_t start_rank(struct world *w, uint32_t rank, int (*fn)(const int fds[3], void *arg),
                        void *arg)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGPIPE, SIG_IGN);
        int fds[3];
        for (int i = 0; i < 3; i++)
            fds[i] = w->child[rank][i] >= 0 ? dup(w->child[rank][i]) : -1;
        for (int fd = 3; fd < 256; fd++)
            if (fd != fds[0] && fd != fds[1] && fd != fds[2])
                close(fd);
        _exit(fn(fds, arg));
    }
    rank_io_close_child_ends(w->child[rank]);
    return pid;
}

static int exit_code_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void assert_got(struct world *w, uint32_t rank, int stream, const void *data, size_t n)
{
    struct buffer *b = &w->link.got[rank][stream].data;
    assert_int_equal(buffer_len(b), n);
    if (n)
        assert_memory_equal(buffer_ptr(b), data, n);
}

static void streams_arrive_under_their_rank_and_number_and_end(void **state)
{
    struct world *w = *state;
    open_rank(w, 0, 0, 0);
    open_rank(w, 1, 0, 0);
    assert_int_equal(w->child[0][0], -1);
    put_string(w->child[0][1], "zero out");
    put_string(w->child[0][2], "zero err");
    put_string(w->child[1][1], "one out");
    settle(w);
    assert_got(w, 0, 1, "zero out", 8);
    assert_got(w, 0, 2, "zero err", 8);
    assert_got(w, 1, 1, "one out", 7);
    assert_int_equal(w->link.got[0][1].ends, 0);
    for (uint32_t r = 0; r < 2; r++) {
        close_child(w, r, 1);
        settle(w);
        assert_int_equal(w->link.got[r][1].ends, 1);
        assert_false(rank_io_is_idle(&w->io));
        close_child(w, r, 2);
        rank_io_rank_ended(&w->io, name_of(r));
    }
    assert_int_equal(w->drained, 0);
    settle(w);
    assert_int_equal(w->link.got[1][2].ends, 1);
    assert_true(rank_io_is_idle(&w->io));
    assert_int_equal(w->drained, 1);
}

static void what_is_sent_without_credit_gives_no_more_of_it_later(void **state)
{
    struct world *w = *state;
    enum { ALL = 10 * WINDOW };
    assert_true(rank_io_spend(&w->io, 1, ALL));
    open_rank(w, 0, 0, 0);
    put_string(w->child[0][1], "later");
    settle(w);
    assert_got(w, 0, 1, "", 0);
    rank_io_output_credit(&w->io, 1, output_cost(ALL) - WINDOW);
    settle(w);
    assert_got(w, 0, 1, "", 0);
    rank_io_output_credit(&w->io, 1, WINDOW);
    assert_int_equal(w->io.kinds[0].credit + w->link.cost[1], WINDOW);
    settle(w);
    assert_got(w, 0, 1, "later", 5);
}

static void idle_waits_for_what_the_link_has_not_sent(void **state)
{
    struct world *w = *state;
    open_rank(w, 0, 0, 0);
    put_string(w->child[0][1], "last words");
    w->link.pending = 10;
    rank_io_close_child_ends(w->child[0]);
    settle(w);
    assert_false(rank_io_is_idle(&w->io));
    assert_int_equal(w->drained, 0);
    w->link.pending = 0;
    rank_io_writable(&w->io);
    settle(w);
    assert_int_equal(w->drained, 1);
}

static int write_a_lot(const int fds[3], void *arg)
{
    uint8_t block[10007];
    size_t n = *(size_t *)arg;
    unsigned seed = 0;
    while (n > 0) {
        size_t part = n < sizeof(block) ? n : sizeof(block);
        fill(block, part, seed++);
        for (size_t done = 0; done < part;) {
            ssize_t k = write(fds[1], block + done, part - done);
            if (k <= 0)
                return errno == EPIPE ? 32 : 1;
            done += (size_t)k;
        }
        n -= part;
    }
    return 0;
}

static void megabytes_are_exact(struct world *w)
{
    size_t n = 8 * 1024 * 1024 + 13;
    open_rank(w, 0, 0, 0);
    pid_t pid = start_rank(w, 0, write_a_lot, &n);
    while (!rank_io_is_idle(&w->io)) {
        turn(w);
        return_all_credit(w);
    }
    assert_int_equal(exit_code_of(pid), 0);
    struct buffer *b = &w->link.got[0][1].data;
    assert_int_equal(buffer_len(b), n);
    uint8_t block[10007];
    for (size_t at = 0, seed = 0; at < n; at += sizeof(block), seed++) {
        size_t part = n - at < sizeof(block) ? n - at : sizeof(block);
        fill(block, part, (unsigned)seed);
        assert_memory_equal(buffer_ptr(b) + at, block, part);
    }
}

static void megabytes_are_exact_and_never_more_than_the_window_is_under_way(void **state)
{
    megabytes_are_exact(*state);
}

static void what_is_moved_without_a_copy_is_as_exact_and_as_bounded(void **state)
{
    struct world *w = *state;
    w->link.may_move = 1;
    megabytes_are_exact(w);
    assert_true(w->link.moves > 0);
}

static void a_stalled_stdout_stops_neither_stderr_nor_anything_else(void **state)
{
    struct world *w = *state;
    size_t n = 1024 * 1024;
    open_rank(w, 0, 0, 0);
    pid_t pid = start_rank(w, 0, write_a_lot, &n);
    open_rank(w, 1, 0, 0);
    settle(w);
    while (w->link.cost[1] + output_cost(1) < WINDOW)
        turn(w);
    for (int i = 0; i < 1000; i++) {
        put_string(w->child[1][2], "still here, and going on\n");
        turn(w);
        uint64_t due = w->link.cost[2] - w->returned[2];
        w->returned[2] += due;
        rank_io_output_credit(&w->io, 2, due);
    }
    settle(w);
    assert_int_equal(w->link.total[2], 25000);
    assert_true(w->link.cost[1] <= WINDOW);
    while (w->link.got[0][1].ends == 0) {
        return_all_credit(w);
        turn(w);
    }
    assert_int_equal(w->link.total[1], n);
    assert_int_equal(exit_code_of(pid), 0);
}

static void nothing_is_read_without_room_in_the_link(void **state)
{
    struct world *w = *state;
    w->link.room = 0;
    open_rank(w, 0, 0, 0);
    put_string(w->child[0][1], "waiting");
    settle(w);
    assert_int_equal(w->link.frames, 0);
    w->link.room = 3;
    rank_io_writable(&w->io);
    settle(w);
    assert_got(w, 0, 1, "waiting", 7);
    assert_int_equal(w->link.frames, 3);
}

static void without_a_link_output_waits_in_the_pipes(void **state)
{
    struct world *w = *state;
    rank_io_set_link(&w->io, NULL);
    open_rank(w, 0, 0, 0);
    put_string(w->child[0][1], "later");
    close_child(w, 0, 1);
    settle(w);
    assert_int_equal(w->link.frames, 0);
    rank_io_set_link(&w->io, &w->link);
    settle(w);
    assert_got(w, 0, 1, "later", 5);
    assert_int_equal(w->link.got[0][1].ends, 1);
}

static void ranks_take_turns(void **state)
{
    struct world *w = *state;
    unsigned frames[4] = {0};
    uint8_t block[15 * 4096] = {0};
    w->link.room = 4096;
    for (uint32_t r = 0; r < 4; r++) {
        open_rank(w, r, 0, 0);
        assert_int_equal(write(w->child[r][1], block, sizeof(block)), sizeof(block));
    }
    for (size_t seen = 0; w->link.total[1] < 4 * sizeof(block);) {
        turn(w);
        return_all_credit(w);
        for (; seen < w->link.frames; seen++) {
            frames[w->link.order[seen]]++;
            for (int r = 0; r < 4; r++)
                for (int q = 0; q < 4; q++)
                    assert_true(frames[r] <= frames[q] + 2);
        }
    }
}

static void a_closed_reader_is_a_broken_pipe_to_all_ranks_of_today_and_tomorrow(void **state)
{
    struct world *w = *state;
    size_t n = 1024 * 1024;
    open_rank(w, 0, 0, 0);
    pid_t pid = start_rank(w, 0, write_a_lot, &n);
    settle(w);
    rank_io_output_closed(&w->io, 1);
    assert_int_equal(exit_code_of(pid), 32);
    assert_int_equal(w->link.got[0][1].ends, 1);
    open_rank(w, 1, 0, 0);
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(write(w->child[1][1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    put_string(w->child[1][2], "stderr is read");
    settle(w);
    assert_got(w, 1, 2, "stderr is read", 14);
    rank_io_close_child_ends(w->child[1]);
    settle(w);
    assert_true(rank_io_is_idle(&w->io));
}

static void abandoned_pipes_give_what_they_hold_and_end(void **state)
{
    struct world *w = *state;
    uint8_t block[50000];
    fill(block, sizeof(block), 7);
    open_rank(w, 0, 0, 0);
    open_rank(w, 1, 0, 0);
    w->link.room = 0;
    assert_int_equal(write(w->child[0][1], block, sizeof(block)), sizeof(block));
    settle(w);
    rank_io_rank_ended(&w->io, name_of(0));
    rank_io_rank_ended(&w->io, name_of(1));
    rank_io_abandon(&w->io); /* the test still holds all write ends */
    assert_false(rank_io_is_idle(&w->io));
    assert_int_equal(w->link.got[1][1].ends, 1);
    put_string(w->child[0][1], "too late");
    w->link.room = 1000;
    rank_io_writable(&w->io);
    settle(w);
    assert_got(w, 0, 1, block, sizeof(block));
    assert_true(rank_io_is_idle(&w->io));
    assert_int_equal(w->drained, 1);
}

static void open_terminal(struct world *w, uint32_t rank)
{
    static const struct tty_size size = {.rows = 24, .columns = 80};
    const struct rank_io_wish wish = {.has_input = true, .terminal = &size};
    struct termios raw;
    assert_int_equal(rank_io_open(&w->io, name_of(rank), &wish, w->child[rank], NULL), 0);
    assert_int_equal(tcgetattr(w->child[rank][1], &raw), 0);
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(w->child[rank][1], TCSANOW, &raw), 0);
}

/* More than can be seen of it before it is read. */
static void an_abandoned_terminal_gives_all_that_was_written(void **state)
{
    struct world *w = *state;
    uint8_t block[8000];
    size_t n = sizeof(block);
    fill(block, n, 0);
    open_terminal(w, 0);
    w->link.room = 0;
    pid_t pid = start_rank(w, 0, write_a_lot, &n);
    assert_int_equal(exit_code_of(pid), 0);
    settle(w);
    rank_io_rank_ended(&w->io, name_of(0));
    rank_io_abandon(&w->io);
    w->link.room = 1000;
    rank_io_writable(&w->io);
    settle(w);
    assert_got(w, 0, 1, block, n);
    assert_int_equal(w->link.got[0][1].ends, 1);
    assert_true(rank_io_is_idle(&w->io));
}

static void an_abandoned_terminal_that_somebody_holds_ends_too(void **state)
{
    struct world *w = *state;
    open_terminal(w, 0);
    open_terminal(w, 1);
    put_string(w->child[0][1], "last words");
    rank_io_rank_ended(&w->io, name_of(0));
    rank_io_rank_ended(&w->io, name_of(1));
    rank_io_abandon(&w->io); /* the test still holds both */
    settle(w);
    assert_got(w, 0, 1, "last words", 10);
    assert_int_equal(w->link.got[0][1].ends, 1);
    assert_int_equal(w->link.got[1][1].ends, 1);
    assert_true(rank_io_is_idle(&w->io));
}

/* ---- input ----------------------------------------------------------------------------------- */

static void input(struct world *w, uint32_t rank, const void *p, size_t n)
{
    assert_int_equal(rank_io_input(&w->io, name_of(rank), p, n, NULL), 0);
}

static size_t read_now(int fd, void *p, size_t n)
{
    fcntl(fd, F_SETFL, O_NONBLOCK);
    ssize_t k = read(fd, p, n);
    return k > 0 ? (size_t)k : 0;
}

static void credit_of_a_fast_source_is_for_what_the_pipe_took(void **state)
{
    struct world *w = *state;
    static uint8_t block[INPUT_WINDOW], back[INPUT_WINDOW];
    fill(block, sizeof(block), 1);
    open_rank(w, 3, 1, 0);
    assert_int_equal(w->link.credits, 1);
    assert_int_equal(w->link.credit_rank, 3);
    assert_int_equal(w->link.limit, INPUT_WINDOW);
    input(w, 3, block, sizeof(block));
    settle(w);
    assert_in_range(w->link.limit, INPUT_WINDOW + 4096, INPUT_WINDOW + 1024 * 1024);
    assert_int_equal(w->link.consumed, 0);
    size_t n = 0;
    while (n < sizeof(back)) {
        n += read_now(w->child[3][0], back + n, 5000);
        turn(w);
    }
    assert_memory_equal(block, back, sizeof(block));
    /* less than a quarter of the window is ever kept back */
    assert_in_range(w->link.limit, 2 * INPUT_WINDOW - INPUT_WINDOW / 4 + 1, 2 * INPUT_WINDOW);
}

static void more_input_than_credit_is_an_error(void **state)
{
    struct world *w = *state;
    static uint8_t block[INPUT_WINDOW + 1];
    struct error err;
    open_rank(w, 0, 1, 0);
    assert_int_equal(rank_io_input(&w->io, name_of(0), block, sizeof(block), &err), -1);
    assert_non_null(strstr(err.text, "rank 0"));
    assert_int_equal(rank_io_input(&w->io, name_of(5), block, sizeof(block), &err), 0);
}

static void credit_of_a_slow_source_comes_when_the_rank_has_read_everything(void **state)
{
    struct world *w = *state;
    uint8_t block[10000], back[10000];
    fill(block, sizeof(block), 2);
    open_rank(w, 0, 1, 1);
    assert_int_equal(w->link.limit, INPUT_WINDOW_SLOW);
    input(w, 0, block, sizeof(block));
    size_t n = 0;
    while (n < sizeof(back)) {
        settle(w);
        assert_int_equal(w->link.credits, 1);
        size_t k = read_now(w->child[0][0], back + n, 100);
        assert_true(k > 0); /* the pipe is filled again as soon as it is empty */
        n += k;
    }
    assert_memory_equal(block, back, sizeof(block));
    settle(w);
    assert_int_equal(w->link.credits, 2);
    assert_int_equal(w->link.consumed, sizeof(block));
    assert_int_equal(w->link.limit, sizeof(block) + INPUT_WINDOW_SLOW);
}

static void what_the_rank_has_read_is_exact_when_it_ends(void **state)
{
    struct world *w = *state;
    for (int c = 0; c < 8; c++) {
        int slow = c & 1, with_end = c & 2, closes = c & 4;
        uint8_t block[20000] = {0}, back[20000];
        uint32_t r = (uint32_t)c;
        open_rank(w, r, 1, slow);
        input(w, r, block, sizeof(block));
        settle(w);
        size_t n = 0;
        while (n < 9000) { /* past the first page */
            n += read_now(w->child[r][0], back, n < 8000 ? 1000 : 1);
            turn(w);
        }
        if (with_end)
            input(w, r, NULL, 0);
        settle(w);
        w->link.closed = 0;
        if (closes) {
            rank_io_close_child_ends(w->child[r]);
            settle(w);
            /* after the end of a fast input there is no writer to notice it */
            assert_int_equal(w->link.closed, !(with_end && !slow));
        }
        rank_io_rank_ended(&w->io, name_of(r));
        assert_true(w->link.closed);
        assert_int_equal(w->link.credit_rank, r);
        assert_int_equal(w->link.consumed, 9000);
        rank_io_close_child_ends(w->child[r]);
    }
    settle(w);
    assert_true(rank_io_is_idle(&w->io));
}

static void the_end_of_input_is_an_end_of_file_after_all_data(void **state)
{
    struct world *w = *state;
    for (uint32_t slow = 0; slow < 2; slow++) {
        uint8_t block[INPUT_WINDOW_SLOW], back[INPUT_WINDOW_SLOW + 1];
        size_t n = 0;
        fill(block, sizeof(block), 3);
        open_rank(w, slow, 1, (int)slow);
        input(w, slow, block, sizeof(block));
        input(w, slow, NULL, 0);
        for (;;) {
            turn(w);
            ssize_t k = read(w->child[slow][0], back + n, sizeof(back) - n);
            assert_true(k >= 0);
            if (k == 0)
                break;
            n += (size_t)k;
        }
        assert_int_equal(n, sizeof(block));
        assert_memory_equal(block, back, n);
        rank_io_rank_ended(&w->io, name_of(slow));
        assert_int_equal(w->link.consumed, sizeof(block));
        assert_true(w->link.closed);
    }
}

static void a_rank_that_closes_its_input_is_told_at_once(void **state)
{
    struct world *w = *state;
    open_rank(w, 2, 1, 0);
    close_child(w, 2, 0);
    settle(w);
    assert_true(w->link.closed);
    assert_int_equal(w->link.consumed, 0);
    input(w, 2, "dropped", 7);
    input(w, 2, NULL, 0);
    int credits = w->link.credits;
    rank_io_rank_ended(&w->io, name_of(2));
    assert_int_equal(w->link.credits, credits);
}

static void credit_that_was_due_without_a_link_is_sent_with_one(void **state)
{
    struct world *w = *state;
    rank_io_set_link(&w->io, NULL);
    open_rank(w, 0, 1, 0);
    rank_io_close_child_ends(w->child[0]);
    settle(w);
    rank_io_rank_ended(&w->io, name_of(0));
    assert_int_equal(w->link.credits, 0);
    rank_io_set_link(&w->io, &w->link);
    assert_int_equal(w->link.credits, 1);
    assert_true(w->link.closed);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static int count_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 512; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void no_descriptor_is_inherited_or_left_open(void **state)
{
    struct world *w = *state;
    turn(w);
    int before = count_descriptors();
    for (uint32_t r = 0; r < RANKS; r++) {
        open_rank(w, r, 1, (int)r & 1);
        for (int i = 0; i < 3; i++) {
            assert_true(fcntl(w->child[r][i], F_GETFD) & FD_CLOEXEC);
            assert_false(fcntl(w->child[r][i], F_GETFL) & O_NONBLOCK);
        }
        input(w, r, "data", 4);
        if (r & 2)
            input(w, r, NULL, 0);
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        rank_io_close_child_ends(w->child[r]);
        rank_io_rank_ended(&w->io, name_of(r));
    }
    settle(w);
    assert_true(rank_io_is_idle(&w->io));
    assert_int_equal(count_descriptors(), before);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(streams_arrive_under_their_rank_and_number_and_end),
        TEST(what_is_sent_without_credit_gives_no_more_of_it_later),
        TEST(idle_waits_for_what_the_link_has_not_sent),
        TEST(megabytes_are_exact_and_never_more_than_the_window_is_under_way),
        TEST(what_is_moved_without_a_copy_is_as_exact_and_as_bounded),
        TEST(a_stalled_stdout_stops_neither_stderr_nor_anything_else),
        TEST(nothing_is_read_without_room_in_the_link),
        TEST(without_a_link_output_waits_in_the_pipes),
        TEST(ranks_take_turns),
        TEST(a_closed_reader_is_a_broken_pipe_to_all_ranks_of_today_and_tomorrow),
        TEST(abandoned_pipes_give_what_they_hold_and_end),
        TEST(an_abandoned_terminal_gives_all_that_was_written),
        TEST(an_abandoned_terminal_that_somebody_holds_ends_too),
        TEST(credit_of_a_fast_source_is_for_what_the_pipe_took),
        TEST(more_input_than_credit_is_an_error),
        TEST(credit_of_a_slow_source_comes_when_the_rank_has_read_everything),
        TEST(what_the_rank_has_read_is_exact_when_it_ends),
        TEST(the_end_of_input_is_an_end_of_file_after_all_data),
        TEST(a_rank_that_closes_its_input_is_told_at_once),
        TEST(credit_that_was_due_without_a_link_is_sent_with_one),
        TEST(no_descriptor_is_inherited_or_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
