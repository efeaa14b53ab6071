/* SPDX-License-Identifier: BSD-3-Clause */
/* test-process-usage.c - samples of the memory of processes that we start and know */
#include "starter/usage/process-usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "starter/process-tree.h"

enum { MIB = 1 << 20 };

struct child {
    pid_t pid;
    int ready_fd; /* a byte comes when it, and its child, have touched their memory */
    int hold_fd;  /* it ends when this is closed */
};

static void touch(size_t anonymous, size_t shared)
{
    void *a = mmap(NULL, anonymous, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *s = mmap(NULL, shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (a == MAP_FAILED || s == MAP_FAILED)
        _exit(1);
    memset(a, 1, anonymous);
    memset(s, 1, shared);
}

/* A process, with a child of its own when depth is 1, that touches memory and waits. */
static struct child start(int depth, size_t anonymous, size_t shared)
{
    int ready[2], hold[2];
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(hold), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char c;
        close(hold[1]);
        if (depth && fork() > 0)
            _exit(read(hold[0], &c, 1) == 0 && wait(NULL) > 0 ? 0 : 1);
        touch(anonymous, shared);
        _exit(write(ready[1], "x", 1) == 1 && read(hold[0], &c, 1) == 0 ? 0 : 1);
    }
    assert_true(pid > 0);
    close(ready[1]);
    close(hold[0]);
    char c;
    assert_int_equal(read(ready[0], &c, 1), 1);
    return (struct child){pid, ready[0], hold[1]};
}

static void stop(struct child *c)
{
    close(c->hold_fd);
    close(c->ready_fd);
    assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

static void memory_is_kept_by_kind_as_value_and_as_peak(void **state)
{
    struct usage u = {0};
    struct child big = start(0, 16 * MIB, 8 * MIB);
    assert_int_equal(usage_sample(&u, &big.pid, 1), 0);
    stop(&big);
    assert_in_range(u.value[USAGE_ANON], 15 * MIB, 40 * MIB);
    assert_in_range(u.value[USAGE_SHARED], 7 * MIB, 12 * MIB);
    assert_true(usage_has(&u, USAGE_FILE) && usage_has(&u, USAGE_SWAP_PEAK));
    uint64_t peak = u.value[USAGE_ANON_PEAK];
    assert_int_equal(peak, u.value[USAGE_ANON]);
    struct child small = start(0, MIB, MIB);
    assert_int_equal(usage_sample(&u, &small.pid, 1), 0);
    stop(&small);
    assert_true(u.value[USAGE_ANON] < peak - 10 * MIB); /* the present value falls, */
    assert_int_equal(u.value[USAGE_ANON_PEAK], peak);   /* the peak stays */
}

static void what_is_gone_leaves_the_usage_as_it_was(void **state)
{
    struct usage u = {0};
    struct child c = start(0, MIB, MIB);
    stop(&c);
    assert_int_equal(usage_sample(&u, &c.pid, 1), -1);
    assert_int_equal(usage_sample(&u, NULL, 0), -1);
    assert_int_equal(u.known, 0);
}

static void a_tree_counts_with_its_grandchildren(void **state)
{
    struct usage u = {0};
    pid_t *pids;
    struct child c = start(1, 16 * MIB, MIB);
    int n = process_tree_pids(c.pid, &pids);
    assert_int_equal(n, 2);
    assert_int_equal(pids[0], c.pid);
    assert_true(pids[1] != c.pid);
    assert_int_equal(usage_sample(&u, pids, (size_t)n), 0);
    free(pids);
    stop(&c);
    assert_true(u.value[USAGE_ANON] >= 15 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_kept_by_kind_as_value_and_as_peak),
        cmocka_unit_test(what_is_gone_leaves_the_usage_as_it_was),
        cmocka_unit_test(a_tree_counts_with_its_grandchildren),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
