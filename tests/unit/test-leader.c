/* SPDX-License-Identifier: BSD-3-Clause */
/* test-leader.c - the leader of a session ends as the keeper does, which stays to be counted */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "starter/keeper/leader.h"

typedef void (*keeper_fn)(int fd);

/* Returns the leader's status, as of waitpid(); the keeper is a child of ours by then. */
static int lead(keeper_fn keeper)
{
    int fd, status;
    pid_t leader = fork();
    assert_true(leader >= 0);
    if (leader == 0) {
        pid_t child = leader_fork(&fd);
        if (child > 0)
            _exit(leader_wait(child, fd));
        if (child == 0)
            keeper(fd);
        _exit(99);
    }
    assert_int_equal(waitpid(leader, &status, 0), leader);
    return status;
}

static void block_term(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static void tell_seven(int fd)
{
    block_term();
    raise(SIGTERM); /* is forgotten */
    leader_tell(fd, 7);
}

static void the_leader_ends_first_and_the_keeper_stays_until_term(void **state)
{
    int status;
    assert_int_equal(lead(tell_seven), 7 << 8);
    pid_t keeper = waitpid(-1, &status, WNOHANG);
    assert_int_equal(keeper, 0); /* is there, and runs */
    assert_int_equal(kill(0, SIGTERM), 0);
    assert_true(waitpid(-1, &status, 0) > 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void be_killed(int fd)
{
    raise(SIGKILL);
}

static void end_without_a_word(int fd)
{
    _exit(5);
}

static void a_keeper_that_tells_nothing_is_waited_for(void **state)
{
    int status = lead(be_killed);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(lead(end_without_a_word), 5 << 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_leader_ends_first_and_the_keeper_stays_until_term),
        cmocka_unit_test(a_keeper_that_tells_nothing_is_waited_for),
    };
    /* kill(0) is for the keeper alone */
    setpgid(0, 0);
    signal(SIGTERM, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
