/* SPDX-License-Identifier: BSD-3-Clause */
/* test-core-ledger.c - whoever opens the file is a step: what one takes no other has */
#include "starter/binding/core-ledger.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/files/path.h"

static char directory[64], path[100];

static int make_directory(void **state)
{
    snprintf(directory, sizeof(directory), "/tmp/mprun-test.XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof(path), "%s/cores", directory);
    return 0;
}

static int remove_directory(void **state)
{
    struct error e;
    return path_remove_tree(directory, &e);
}

static int opened(void)
{
    struct error e;
    int fd = core_ledger_open(path, &e);
    assert_true(fd >= 0);
    return fd;
}

static int takes(int fd, const char *threads)
{
    struct idset s = {0};
    struct error e;
    assert_int_equal(idset_parse(threads, &s, &e), 0);
    int rc = core_ledger_take(fd, &s, &e);
    idset_free(&s);
    return rc;
}

static void sees(int fd, const char *threads)
{
    struct idset busy = {0};
    struct error e;
    assert_int_equal(core_ledger_busy(fd, &busy, &e), 0);
    char *text = idset_format(&busy);
    assert_string_equal(text, threads);
    free(text);
    idset_free(&busy);
}

static void is_taken_once(void **state)
{
    int a = opened(), b = opened(), c = opened();
    sees(a, "");
    assert_int_equal(takes(a, "0-3,8"), 1);
    assert_int_equal(takes(b, "4,6"), 1);
    sees(a, "4,6"); /* one's own are not another's */
    sees(b, "0-3,8");
    sees(c, "0-4,6,8");
    assert_int_equal(takes(c, "5,6,7"), 0);
    sees(a, "4,6"); /* none of it was kept */
    assert_int_equal(takes(c, "5,7"), 1);
    core_ledger_leave(a);
    sees(c, "4,6");
    core_ledger_leave(c);
    assert_int_equal(access(path, F_OK), 0);
    core_ledger_leave(b);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void ends_with_who_has_it(void **state)
{
    int fd = opened();
    pid_t child = fork();
    if (child == 0) {
        struct error e;
        int own = core_ledger_open(path, &e);
        struct idset s = {0};
        idset_add(&s, 3);
        if (own < 0 || core_ledger_take(own, &s, &e) != 1)
            _exit(1);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    sees(fd, "");
    assert_int_equal(takes(fd, "3"), 1);
    core_ledger_leave(fd);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void what_a_killed_step_leaves_is_used(void **state)
{
    close(open(path, O_CREAT | O_RDWR, 0600));
    int fd = opened();
    assert_int_equal(takes(fd, "0"), 1);
    core_ledger_leave(fd);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void what_a_killed_step_leaves_is_swept(void **state)
{
    core_ledger_sweep(path); /* there is none */
    assert_int_not_equal(access(path, F_OK), 0);
    close(open(path, O_CREAT | O_RDWR, 0600));
    int fd = opened();
    assert_int_equal(takes(fd, "2"), 1);
    core_ledger_sweep(path); /* it is in use */
    assert_int_equal(access(path, F_OK), 0);
    sees(fd, "");
    close(fd);
    core_ledger_sweep(path);
    assert_int_not_equal(access(path, F_OK), 0);
    close(open(path, O_CREAT | O_RDWR, 0600));
    chmod(path, 0666);
    core_ledger_sweep(path); /* it is none of ours */
    assert_int_equal(access(path, F_OK), 0);
}

/* Another file of that name is another ledger, which the last of the first does not remove. */
static void removes_its_own_alone(void **state)
{
    int a = opened();
    unlink(path);
    int b = opened();
    assert_int_equal(takes(a, "1"), 1);
    sees(b, "");
    core_ledger_leave(a);
    assert_int_equal(access(path, F_OK), 0);
    core_ledger_leave(b);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void another_s_file_is_refused(void **state)
{
    struct error e;
    close(open(path, O_CREAT | O_RDWR, 0600));
    chmod(path, 0666); /* anybody could take all cores */
    assert_int_equal(core_ledger_open(path, &e), -1);
    unlink(path);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(core_ledger_open(path, &e), -1);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(core_ledger_open(path, &e), -1);
    unlink(path);
    if (geteuid() == 0) {
        close(open(path, O_CREAT | O_RDWR, 0600));
        struct idset busy = {0}, one = {0};
        assert_int_equal(chown(path, 65534, 65534), 0);
        int a = core_ledger_open(path, &e), b = core_ledger_open(path, &e);
        assert_true(a >= 0 && b >= 0); /* another name, and the same for both */
        idset_add(&one, 3);
        assert_int_equal(core_ledger_take(a, &one, &e), 1);
        assert_int_equal(core_ledger_busy(b, &busy, &e), 0);
        assert_int_equal(idset_next(&busy, 0), 3);
        idset_free(&one);
        idset_free(&busy);
        core_ledger_leave(a);
        core_ledger_leave(b); /* and removes it, or the directory could not be */
    }
}

enum { STEPS = 8, ROUNDS = 300, THREADS = 3 };

/* A step that comes and goes: 0 when what it had was its own each time. */
static int comes_and_goes(int self, int owners)
{
    for (int k = 0; k < ROUNDS; k++) {
        struct error e;
        struct idset s = {0};
        int fd = core_ledger_open(path, &e), thread = (self + k) % THREADS;
        char mine = (char)('a' + self), now = 0;
        idset_add(&s, (unsigned)thread);
        int rc = fd < 0 ? -1 : core_ledger_take(fd, &s, &e);
        idset_free(&s);
        if (rc < 0)
            return 2;
        if (rc == 1 && pwrite(owners, &mine, 1, thread) != 1)
            return 3;
        sched_yield();
        if (rc == 1 && (pread(owners, &now, 1, thread) != 1 || now != mine))
            return 4;
        core_ledger_leave(fd);
    }
    return 0;
}

static void steps_that_race(void **state)
{
    char owner[100];
    pid_t pids[STEPS];
    int status[STEPS];
    snprintf(owner, sizeof(owner), "%s/owner", directory);
    int owners = open(owner, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    assert_true(owners >= 0);
    for (int i = 0; i < STEPS; i++)
        if ((pids[i] = fork()) == 0)
            _exit(comes_and_goes(i, owners));
    for (int i = 0; i < STEPS; i++)
        waitpid(pids[i], &status[i], 0);
    close(owners);
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(status[i], 0);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* Each has it when the other begins to leave. */
static void two_that_leave_at_once(void **state)
{
    for (int i = 0; i < 500; i++) {
        int begin[2], fd = opened();
        assert_int_equal(pipe(begin), 0);
        pid_t child = fork();
        if (child == 0) {
            struct error e;
            int own = core_ledger_open(path, &e);
            close(fd);
            close(begin[0]);
            close(begin[1]);
            core_ledger_leave(own);
            _exit(own < 0);
        }
        char c;
        int status;
        close(begin[1]);
        assert_int_equal(read(begin[0], &c, 1), 0);
        close(begin[0]);
        core_ledger_leave(fd);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_not_equal(access(path, F_OK), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_taken_once, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(ends_with_who_has_it, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(what_a_killed_step_leaves_is_used, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(what_a_killed_step_leaves_is_swept, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(removes_its_own_alone, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(another_s_file_is_refused, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(steps_that_race, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(two_that_leave_at_once, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
