/* SPDX-License-Identifier: BSD-3-Clause */
/* test-reaper.c - every child is reported once, as a zombie, and nothing is left unreaped */
#include "common/processes/reaper.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/processes/proc.h"
#include "tests/unit/patience.h"

struct seen {
    struct reaper *reaper;
    int calls, orphans;
    pid_t pid;
    int status;
    char state; /* in /proc while the callback runs */
    struct rusage usage;
    int nested, remove;
};

static void ended(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct seen *s = arg;
    struct proc_stat st;
    s->calls++;
    s->pid = pid;
    s->status = status;
    s->usage = *usage;
    s->state = proc_stat_read(pid, &st) == 0 ? st.state : 0;
    if (s->nested)
        reaper_collect(s->reaper);
    if (s->remove)
        reaper_remove(s->reaper, pid);
}

static void orphan(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    ((struct seen *)arg)->orphans++;
}

static pid_t child(int code, int signo)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(signo ? signo : SIGUSR1, SIG_DFL);
        if (signo)
            raise(signo);
        _exit(code);
    }
    return pid;
}

/* Collect until that many were seen, however often that wakes us. SIGCHLD is blocked, so none is
 * missed. */
static void collect(struct seen *s, int calls, int orphans)
{
    sigset_t chld;
    struct timespec second = {.tv_sec = 1}, now, end;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += patience(20);
    do {
        reaper_collect(s->reaper);
        if (s->calls >= calls && s->orphans >= orphans)
            return;
        sigtimedwait(&chld, NULL, &second);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec);
    fail_msg("%d of %d children and %d of %d orphans were seen", s->calls, calls, s->orphans,
             orphans);
}

static int block_sigchld(void **state)
{
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    return sigprocmask(SIG_BLOCK, &chld, NULL);
}

static struct seen begin(void)
{
    return (struct seen){0};
}

static int has_children(void)
{
    siginfo_t si;
    return waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void no_children_are_left(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void codes_and_signals_are_told(void **state)
{
    static const int codes[] = {0, 1, 3, 127, 255};
    static const int signals[] = {SIGKILL, SIGTERM, SIGUSR1};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        struct seen s = begin();
        s.reaper = reaper_create(orphan, &s);
        pid_t pid = child(codes[i], 0);
        reaper_add(s.reaper, pid, ended, &s);
        collect(&s, 1, 0);
        assert_int_equal(s.pid, pid);
        assert_true(WIFEXITED(s.status));
        assert_int_equal(WEXITSTATUS(s.status), codes[i]);
        reaper_destroy(s.reaper);
    }
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct seen s = begin();
        s.reaper = reaper_create(orphan, &s);
        reaper_add(s.reaper, child(0, signals[i]), ended, &s);
        collect(&s, 1, 0);
        assert_true(WIFSIGNALED(s.status));
        assert_int_equal(WTERMSIG(s.status), signals[i]);
        reaper_destroy(s.reaper);
    }
    no_children_are_left();
}

static void it_is_a_zombie_while_it_is_reported(void **state)
{
    struct seen s = begin();
    s.reaper = reaper_create(orphan, &s);
    reaper_add(s.reaper, child(0, 0), ended, &s);
    collect(&s, 1, 0);
    assert_int_equal(s.state, 'Z');
    no_children_are_left();
    reaper_destroy(s.reaper);
}

static void who_was_not_added_is_an_orphan(void **state)
{
    struct seen s = begin();
    s.reaper = reaper_create(orphan, &s);
    for (int i = 0; i < 5; i++)
        child(i, 0);
    pid_t pid = child(0, 0);
    reaper_add(s.reaper, pid, ended, &s);
    reaper_remove(s.reaper, pid);
    collect(&s, 0, 6);
    assert_int_equal(s.calls, 0);
    no_children_are_left();
    reaper_destroy(s.reaper);
    s.reaper =
        reaper_create(NULL, NULL); /* nobody asks for orphans: they are reaped all the same */
    child(0, 0);
    while (has_children())
        reaper_collect(s.reaper);
    reaper_destroy(s.reaper);
}

static void many_children_are_each_told_once(void **state)
{
    struct seen s = begin();
    s.reaper = reaper_create(orphan, &s);
    for (int i = 0; i < 600; i++)
        reaper_add(s.reaper, child(0, 0), ended, &s);
    collect(&s, 600, 0);
    reaper_collect(s.reaper);
    assert_int_equal(s.calls, 600);
    assert_int_equal(s.orphans, 0);
    no_children_are_left();
    reaper_destroy(s.reaper);
}

static void a_callback_may_collect_and_remove(void **state)
{
    struct seen s = begin();
    s.reaper = reaper_create(orphan, &s);
    s.nested = s.remove = 1;
    for (int i = 0; i < 20; i++)
        reaper_add(s.reaper, child(0, 0), ended, &s);
    collect(&s, 20, 0);
    assert_int_equal(s.calls, 20);
    no_children_are_left();
    reaper_destroy(s.reaper);
}

static void what_a_child_used_is_told(void **state)
{
    struct seen s = begin();
    s.reaper = reaper_create(orphan, &s);
    pid_t pid = fork();
    if (pid == 0) {
        struct rusage u;
        do
            getrusage(RUSAGE_SELF, &u);
        while (u.ru_utime.tv_usec + u.ru_stime.tv_usec < 50000);
        _exit(0);
    }
    reaper_add(s.reaper, pid, ended, &s);
    collect(&s, 1, 0);
    assert_true(s.usage.ru_utime.tv_usec + s.usage.ru_stime.tv_usec >= 49000);
    assert_true(s.usage.ru_maxrss > 100);
    reaper_destroy(s.reaper);
}

static void a_subreaper_collects_grandchildren(void **state)
{
    struct seen s = begin();
    s.reaper = reaper_create(orphan, &s);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (fork() == 0)
            _exit(0);
        _exit(0); /* without waiting */
    }
    reaper_add(s.reaper, pid, ended, &s);
    collect(&s, 1, 1);
    no_children_are_left();
    reaper_destroy(s.reaper);
    reaper_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_and_signals_are_told),
        cmocka_unit_test(it_is_a_zombie_while_it_is_reported),
        cmocka_unit_test(who_was_not_added_is_an_orphan),
        cmocka_unit_test(many_children_are_each_told_once),
        cmocka_unit_test(a_callback_may_collect_and_remove),
        cmocka_unit_test(what_a_child_used_is_told),
        cmocka_unit_test(a_subreaper_collects_grandchildren),
    };
    return cmocka_run_group_tests(tests, block_sigchld, NULL);
}
