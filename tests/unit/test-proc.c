/* SPDX-License-Identifier: BSD-3-Clause */
/* test-proc.c - the readers of /proc agree with what we know of ourselves and of our children */
#include "common/processes/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int pipe_fds[2];

/* A child that stays until the pipe's write end is closed. */
static pid_t start_child(void)
{
    fflush(NULL);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char c;
        close(pipe_fds[1]);
        _exit(read(pipe_fds[0], &c, 1) == 0 ? 0 : 1);
    }
    assert_true(pid > 0);
    return pid;
}

static void end_child(pid_t pid)
{
    close(pipe_fds[1]);
    close(pipe_fds[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void stat_of_ourselves_is_right(void **state)
{
    struct proc_stat s;
    assert_int_equal(proc_stat_read(getpid(), &s), 0);
    assert_int_equal(s.pid, getpid());
    assert_int_equal(s.ppid, getppid());
    assert_int_equal(s.sid, getsid(0));
    assert_int_equal(s.state, 'R');
    assert_string_equal(s.comm, "test-proc");
    assert_true(s.starttime > 0);
}

static void a_name_with_parentheses_and_blanks_confuses_nobody(void **state)
{
    struct proc_stat s;
    prctl(PR_SET_NAME, "a) R 1 (b");
    assert_int_equal(proc_stat_read(getpid(), &s), 0);
    prctl(PR_SET_NAME, "test-proc");
    assert_string_equal(s.comm, "a) R 1 (b");
    assert_int_equal(s.ppid, getppid());
}

static void a_name_cannot_write_to_a_terminal(void **state)
{
    static const char *const names[][2] = {
        {"\033[2J\a\r\n", "?[2J???"},
        {"a\177b\tc", "a?b?c"},
        {"\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9"}, /* letters */
        {"x\xc2\x9b"
         "2J",
         "x??2J"}, /* CSI in one character */
        {"\x9b"
         "2J\xff",
         "?2J?"},
        {"12345678901234\xc3\xa9", "12345678901234?"}, /* the kernel cuts at 15 bytes */
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct proc_stat s;
        prctl(PR_SET_NAME, names[i][0]);
        int rc = proc_stat_read(getpid(), &s);
        prctl(PR_SET_NAME, "test-proc");
        assert_int_equal(rc, 0);
        assert_string_equal(s.comm, names[i][1]);
        assert_int_equal(s.ppid, getppid());
    }
}

static void a_zombie_is_seen_as_one_and_a_reaped_one_is_gone(void **state)
{
    struct proc_stat s;
    struct proc_memory m;
    siginfo_t info;
    pid_t pid = start_child();
    close(pipe_fds[1]);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(proc_stat_read(pid, &s), 0);
    assert_int_equal(s.state, 'Z');
    assert_int_equal(proc_memory_read(pid, &m), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(pipe_fds[0]);
    assert_int_equal(proc_stat_read(pid, &s), -1);
    assert_int_equal(errno, ESRCH);
    pid_t *children;
    assert_int_equal(proc_children(pid, &children), -1);
    assert_int_equal(errno, ESRCH);
}

/* They stand before the sizes. */
static void memory_is_told_of_a_process_with_many_groups(void **state)
{
    enum { GROUPS = 4000 };
    static gid_t group[GROUPS];
    struct proc_memory m;
    if (geteuid() != 0)
        skip();
    for (int i = 0; i < GROUPS; i++)
        group[i] = 1000000000 + (gid_t)i;
    pid_t pid = fork();
    if (pid == 0)
        _exit(setgroups(GROUPS, group) < 0 ? 1 : proc_memory_read(getpid(), &m) == 0 ? 0 : 2);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void processes_are_described_by_pid_state_and_where_they_wait(void **state)
{
    char text[400], want[60];
    pid_t pids[6];
    for (size_t i = 0; i < 6; i++)
        pids[i] = i == 1 ? 0x7ffffffe : getpid(); /* one that is not there */
    proc_describe(pids, 6, text, sizeof(text));
    snprintf(want, sizeof(want), "pid %d (", (int)getpid());
    assert_memory_equal(text, want, strlen(want));
    assert_non_null(strstr(text, ", state R"));
    assert_null(strstr(text, "2147483646"));
    assert_non_null(strstr(text, " and 1 more"));
    proc_describe(&pids[1], 1, text, sizeof(text));
    assert_string_equal(text, "");
}

static void memory_is_told_by_kind(void **state)
{
    struct proc_memory before, after;
    struct proc_sizes sizes_before, sizes;
    const size_t size = 8 << 20;
    assert_int_equal(proc_memory_read(getpid(), &before), 0);
    assert_int_equal(proc_sizes_read(getpid(), &sizes_before), 0);
    char *anon = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(anon != MAP_FAILED && shared != MAP_FAILED);
    memset(anon, 1, size);
    memset(shared, 1, size);
    assert_int_equal(proc_memory_read(getpid(), &after), 0);
    /* the kernel's counters of a thread may lag by some pages */
    assert_true(after.anonymous >= before.anonymous + size - (1 << 20));
    assert_true(after.shared >= before.shared + size - (1 << 20));
    assert_true(after.anonymous < before.anonymous + 2 * size);
    assert_true(after.file > 0);
    assert_int_equal(proc_sizes_read(getpid(), &sizes), 0);
    assert_true(sizes.anonymous >= sizes_before.anonymous + size - (1 << 20));
    assert_true(sizes.anonymous < sizes_before.anonymous + 2 * size);
    assert_true(sizes.mapped >= sizes_before.mapped + size - (1 << 20));
    assert_true(sizes.address_space >= sizes_before.address_space + 2 * size);
    munmap(anon, size);
    munmap(shared, size);
}

static void bytes_are_read_even_of_a_zombie(void **state)
{
    struct proc_io io;
    char path[64];
    siginfo_t info;
    int sink[2];
    assert_int_equal(pipe2(sink, O_CLOEXEC), 0);
    fflush(NULL);
    int gate[2];
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char data[1000] = {0};
        _exit(read(gate[0], data, 1) == 1 && write(sink[1], data, 1000) == 1000 ? 0 : 1);
    }
    snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(gate[1], "x", 1), 1);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(info.si_status, 0);
    assert_int_equal(proc_io_read(fd, &io), 0);
    assert_int_equal(io.written_chars, 1000);
    assert_int_equal(io.read_chars, 1);
    assert_int_equal(io.written_storage, 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(proc_io_read(fd, &io), -1); /* reaped: an error, not zeros */
    close(fd);
    close(gate[0]);
    close(gate[1]);
    close(sink[0]);
    close(sink[1]);
}

static void *fork_in_thread(void *arg)
{
    *(pid_t *)arg = start_child();
    return NULL;
}

static void children_of_all_threads_are_found(void **state)
{
    pid_t *list = NULL, by_thread;
    pthread_t thread;
    assert_int_equal(proc_children(getpid(), &list), 0);
    free(list);
    pthread_create(&thread, NULL, fork_in_thread, &by_thread);
    pthread_join(thread, NULL);
    assert_int_equal(proc_children(getpid(), &list), 1);
    assert_int_equal(list[0], by_thread);
    free(list);
    assert_int_equal(proc_children(by_thread, &list), 0);
    free(list);
    end_child(by_thread);
}

static atomic_int forked; /* the child of a thread that is about to end */

static void *fork_and_end(void *arg)
{
    atomic_store(&forked, start_child());
    return NULL;
}

/* Its children become another thread's, while we look. */
static void the_children_of_a_thread_that_ends_are_found_once(void **state)
{
    for (int round = 0; round < 300; round++) {
        pthread_t thread;
        atomic_store(&forked, 0);
        assert_int_equal(pthread_create(&thread, NULL, fork_and_end, NULL), 0);
        while (!atomic_load(&forked))
            sched_yield();
        for (int look = 0; look < 5; look++) {
            pid_t *list = NULL;
            assert_int_equal(proc_children(getpid(), &list), 1);
            assert_int_equal(list[0], atomic_load(&forked));
            free(list);
        }
        pthread_join(thread, NULL);
        end_child(atomic_load(&forked));
    }
}

static void a_wait_channel_is_known(void **state)
{
    char buf[64] = "x";
    proc_wchan(getpid(), buf, sizeof(buf)); /* running: waits nowhere */
    assert_string_equal(buf, "");
    strcpy(buf, "x");
    proc_wchan(0x7ffffff0, buf, sizeof(buf)); /* no such process */
    assert_string_equal(buf, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_of_ourselves_is_right),
        cmocka_unit_test(a_name_with_parentheses_and_blanks_confuses_nobody),
        cmocka_unit_test(a_name_cannot_write_to_a_terminal),
        cmocka_unit_test(a_zombie_is_seen_as_one_and_a_reaped_one_is_gone),
        cmocka_unit_test(processes_are_described_by_pid_state_and_where_they_wait),
        cmocka_unit_test(memory_is_told_by_kind),
        cmocka_unit_test(memory_is_told_of_a_process_with_many_groups),
        cmocka_unit_test(bytes_are_read_even_of_a_zombie),
        cmocka_unit_test(children_of_all_threads_are_found),
        cmocka_unit_test(the_children_of_a_thread_that_ends_are_found_once),
        cmocka_unit_test(a_wait_channel_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
