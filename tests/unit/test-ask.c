/* SPDX-License-Identifier: BSD-3-Clause */
/* test-ask.c - a manager's command is waited for no longer than said, whatever it does */
#include "rm-adapters/processes/ask-manager.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "common/loop.h"

static struct error why; /* of the last one that failed */

static int ask(const char *commands, double seconds, char *buf, size_t n)
{
    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)(uintptr_t)commands, NULL};
    int rc = ask_command("/bin/sh", argv, seconds, buf, n, &why);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left behind */
    assert_int_equal(errno, ECHILD);
    return rc;
}

static void what_it_says_is_had_whole_or_cut(void **state)
{
    char buf[4096], small[4];
    assert_int_equal(ask("echo said; echo no >&2", 60, buf, sizeof(buf)), 0);
    assert_string_equal(buf, "said\n");
    assert_int_equal(ask("echo said", 60, small, sizeof(small)), 0);
    assert_string_equal(small, "sai");
    assert_int_equal(ask("echo said; exit 3", 60, buf, sizeof(buf)), -1);
    assert_int_equal(ask("head -c 300000 /dev/zero >&2; echo said", 60, buf, sizeof(buf)), 0);
    assert_string_equal(buf, "said\n");
    assert_int_equal(ask("exec cat /dev/zero", 60, buf, sizeof(buf)), -1);
}

static void who_closes_the_output_and_stays_is_ended(void **state)
{
    char buf[64];
    double begin = loop_now();
    assert_int_equal(ask("echo said; exec >&- 2>&-; exec sleep 1000", 0.3, buf, sizeof(buf)), -1);
    assert_true(loop_now() - begin >= 0.3);
    assert_true(loop_now() - begin < 60);
}

static void who_says_nothing_is_ended(void **state)
{
    char buf[64];
    assert_int_equal(ask("exec sleep 1000", 0.3, buf, sizeof(buf)), -1);
    assert_int_equal(why.code, ETIMEDOUT);
    assert_string_equal(why.text, "no answer within 0.3 s");
    assert_int_equal(ask("exec 2>&-; sleep 1000; echo said", 0.3, buf, sizeof(buf)), -1);
}

static void on_signal(int signo)
{
}

/* Signals come all the time: neither is the answer lost, nor is it waited for without end. */
static void signals_change_nothing(void **state)
{
    struct sigaction sa = {.sa_handler = on_signal}; /* no SA_RESTART */
    struct itimerval often = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
    char buf[64];
    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    int late = ask("sleep 0.2; echo said", 60, buf, sizeof(buf));
    int had_it = strcmp(buf, "said\n") == 0;
    int silent = ask("exec sleep 1000", 0.3, buf, sizeof(buf));
    setitimer(ITIMER_REAL, &never, NULL);
    assert_int_equal(late, 0);
    assert_true(had_it);
    assert_int_equal(silent, -1);
}

static void an_error_says_which_it_was(void **state)
{
    char *const argv[] = {(char *)"sh", (char *)"-c",
                          (char *)"echo said; exec >&- 2>&-; exec sleep 1000", NULL};
    struct ask a = {.path = "/bin/sh", .argv = argv, .seconds = 2, .max = 1 << 20};
    struct ask_answer answer;
    struct error e;
    assert_int_equal(ask_run(&a, &answer, &e), -1);
    assert_int_equal(e.code, ETIMEDOUT);
    assert_string_equal(e.text, "it closed its output and did not end within 2 s");
    a.path = "/nowhere/sh";
    assert_int_equal(ask_run(&a, &answer, &e), -1);
    assert_int_equal(e.code, ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_says_is_had_whole_or_cut),
        cmocka_unit_test(who_closes_the_output_and_stays_is_ended),
        cmocka_unit_test(who_says_nothing_is_ended),
        cmocka_unit_test(signals_change_nothing),
        cmocka_unit_test(an_error_says_which_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
