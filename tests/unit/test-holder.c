/* SPDX-License-Identifier: BSD-3-Clause */
/* test-holder.c - mpruns meet by the holder: each hears of all that have come before it, one at a
 * time, and of none that has gone; what an mprun says last counts, what a starter says comes before
 * its end, and an agent that reads nothing has not gone */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "starter/holder/holder-private.h"

static struct holder holder;
static int listen_fd;
static char job[HOLDER_JOB_MAX];

static int setup(void **state)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", (int)getpid());
    holder_name_job("test", number, 0, job);
    holder = (struct holder){.take_message = asker_take_message};
    listen_fd = holder_listen(job, NULL);
    return listen_fd < 0;
}

static int teardown(void **state)
{
    for (struct asker *a = holder.askers; a; a = a->next)
        a->is_gone = true;
    for (struct agent *a = holder.agents; a; a = a->next)
        a->is_gone = true;
    peers_remove_gone(&holder);
    close(listen_fd);
    return 0;
}

static int come(void)
{
    int fd = holder_connect(job, NULL);
    assert_true(fd >= 0);
    asker_accept(&holder, listen_fd);
    return fd;
}

static void turn(void)
{
    for (struct asker *a = holder.askers; a; a = a->next)
        asker_read(&holder, a);
    peers_remove_gone(&holder);
}

/* Sends MEET with n bytes of data, and takes what the holder says. False: it has hung up. */
static bool meet(int fd, const char *data, size_t n, int32_t value, struct holder_message *ret)
{
    struct holder_message m = {.what = HOLDER_MEET, .value = value, .size = 1 + (uint32_t)n};
    int fds[HOLDER_FDS];
    memcpy(m.data + 1, data, n);
    assert_int_equal(holder_send(fd, &m, NULL), 0);
    turn();
    return holder_receive(fd, ret, fds) == 1;
}

static const char *text(const struct holder_message *m)
{
    static char text[HOLDER_DATA_MAX + 1];
    assert_int_equal(m->what, HOLDER_MET);
    snprintf(text, sizeof(text), "%.*s", (int)m->size, (const char *)m->data);
    return text;
}

static void who_comes_later_hears_of_who_was_there(void **state)
{
    struct holder_message m;
    int first = come(), second = come(), third = come();
    assert_true(meet(first, "one", 3, 0, &m));
    assert_string_equal(text(&m), "");
    assert_true(meet(second, "two", 3, 0, &m));
    assert_string_equal(text(&m), "one");
    assert_true(meet(second, "", 0, m.value, &m));
    assert_string_equal(text(&m), "");
    assert_true(meet(third, "three", 5, 0, &m));
    assert_string_equal(text(&m), "two");
    close(first);
    assert_true(meet(third, "", 0, m.value, &m));
    turn();
    assert_true(meet(third, "", 0, INT32_MAX, &m));
    assert_true(meet(third, "", 0, m.value, &m));
    assert_string_equal(text(&m), "two");
    assert_true(meet(third, "", 0, m.value, &m));
    assert_string_equal(text(&m), "");
    assert_true(meet(third, "", 0, INT32_MIN, &m));
    assert_string_equal(text(&m), "");
    close(second);
    close(third);
}

static void what_cannot_be_ends_the_connection(void **state)
{
    static const char much[HOLDER_MEETS_MAX + 1];
    struct holder_message m;
    int long_one = come(), twice = come(), other = come();
    assert_false(meet(long_one, much, sizeof(much), 0, &m));
    assert_true(meet(twice, much, sizeof(much) - 1, 0, &m));
    assert_false(meet(twice, "again", 5, 0, &m));
    assert_true(meet(other, "one", 3, 0, &m));
    assert_string_equal(text(&m), "");
    close(long_one);
    close(twice);
    close(other);
}

static void what_is_said_last_counts_although_an_answer_is_unread(void **state)
{
    struct holder_message meet = {.what = HOLDER_MEET, .size = 2},
                          keep = {.what = HOLDER_KEEP, .value = 5000, .size = 1};
    int fd = come();
    holder.sees_end = true;
    assert_int_equal(holder_send(fd, &meet, NULL), 0);
    turn();
    assert_int_equal(holder_send(fd, &keep, NULL), 0);
    close(fd);
    turn();
    assert_int_equal(holder.keep, 5000);
}

/* Sends a message about host "h". */
static void tell(int fd, enum holder_what what, const int fds[HOLDER_FDS])
{
    struct holder_message m = {.what = what, .size = 2, .data = "h"};
    assert_int_equal(holder_send(fd, &m, fds), 0);
    turn();
}

static void what_a_starter_says_comes_before_its_end(void **state)
{
    enum { LINES = 80 }; /* more than one read takes */
    struct holder_message m;
    char line[AGENT_LINE_MAX];
    int in[2], out[2], err[2], none[HOLDER_FDS], fd = come(), said = 0;
    tell(fd, HOLDER_ASK, NULL);
    assert_true(pipe(in) == 0 && pipe(out) == 0 && pipe(err) == 0);
    tell(fd, HOLDER_GIVE, (int[HOLDER_FDS]){in[1], out[0], err[0]});
    tell(fd, HOLDER_START, NULL);
    for (int i = 0; i < LINES; i++)
        dprintf(err[1], "mpstarter#1: %0100d\n", i);
    size_t n = agent_ended_line(1, 0, line);
    assert_int_equal(write(out[1], line, n), n);
    agent_read(holder.agents);
    assert_int_equal(holder_receive(fd, &m, none), 1);
    assert_int_equal(m.what, HOLDER_NONE);
    while (holder_receive(fd, &m, none) == 1 && m.what == HOLDER_SAID)
        said++;
    assert_int_equal(m.what, HOLDER_ENDED);
    assert_int_equal(said, LINES);
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
        close(err[i]);
    }
    close(fd);
}

static void an_agent_that_is_stopped_for_hours_has_not_gone(void **state)
{
    int in[2], out[2], err[2], fd = come();
    tell(fd, HOLDER_ASK, NULL);
    assert_true(pipe(in) == 0 && pipe(out) == 0 && pipe(err) == 0);
    tell(fd, HOLDER_GIVE, (int[HOLDER_FDS]){in[1], out[0], err[0]});
    while (agent_tell(holder.agents, 0, AGENT_GOES_ON, NULL, 0))
        ;
    assert_true(holder.agents && !holder.agents->is_gone && holder.agents->in_fd >= 0);
    close(in[0]);
    assert_false(agent_tell(holder.agents, 0, AGENT_GOES_ON, NULL, 0));
    assert_int_equal(holder.agents->in_fd, -1);
    for (int i = 0; i < 2; i++) {
        close(out[i]);
        close(err[i]);
    }
    close(in[1]);
    close(fd);
}

/* The mprun is on the agent's host, where it has also a starter. */
static void an_agent_that_has_gone_is_known_by_what_a_starter_has_said(void **state)
{
    struct holder_message m = {.what = HOLDER_START, .size = 2, .data = "h"};
    uint8_t packed[HOLDER_PACKED_MAX];
    char line[AGENT_LINE_MAX];
    int in[2], out[2], err[2], fd = come();
    tell(fd, HOLDER_ASK, NULL);
    assert_true(pipe(in) == 0 && pipe(out) == 0 && pipe(err) == 0);
    tell(fd, HOLDER_GIVE, (int[HOLDER_FDS]){in[1], out[0], err[0]});
    size_t n = agent_pass_line(1, 1, packed, holder_message_pack(&m, packed), NULL, line);
    assert_int_equal(write(out[1], line, n), n);
    agent_read(holder.agents);
    assert_non_null(holder.agents->starts);
    close(in[0]);
    dprintf(err[1], "mpstarter#%u: a word\n", holder.agents->starts->number);
    assert_true(lines_read(&holder.agents->err, holder.agents));
    assert_null(holder.agents->starts);
    for (int i = 0; i < 2; i++) {
        close(out[i]);
        close(err[i]);
    }
    close(in[1]);
    close(fd);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_comes_later_hears_of_who_was_there, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_ends_the_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_said_last_counts_although_an_answer_is_unread,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_starter_says_comes_before_its_end, setup, teardown),
        cmocka_unit_test_setup_teardown(an_agent_that_is_stopped_for_hours_has_not_gone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_agent_that_has_gone_is_known_by_what_a_starter_has_said,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
