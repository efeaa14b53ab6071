/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of memory and processes, and what happens at them. Processes are killed for want of
 * memory here, so these tests run only in the virtual machine (tests/vm). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/cgroup-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/files/fdio.h"
#include "containment/cgroup/mounts.h"

static const uint64_t MIB = 1 << 20;

static int is_killed(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* A tree in which ranks can be held to a limit of memory; skips where there is none. */
static void open_with_memory(struct fixture *f, const struct limits *host)
{
    if (!in_virtual_machine())
        skip();
    fixture_open(f, TRACK_RANK, host);
    if (cgroup_tree_controllers(f->tree) & CGROUP_BIT(CGROUP_MEMORY))
        return;
    fixture_close(f);
    skip();
}

static struct limits memory_limit(uint64_t bytes)
{
    return (struct limits){.memory = {.set = 1, .value = bytes}, .swap = {.set = 1, .value = 0}};
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int take_memory(void *arg)
{
    size_t n = *(uint64_t *)arg;
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 2;
    for (size_t i = 0; i < n; i += 4096)
        ((volatile char *)p)[i] = 1;
    return 0;
}

static uint64_t oom_kills(const struct cgroup_leaf *leaf)
{
    struct usage u = {0};
    cgroup_leaf_usage(leaf, &u);
    return u.value[USAGE_OOM_KILLS];
}

static void a_limit_is_rounded_as_the_kernel_does_and_held(void **state)
{
    struct fixture f;
    struct limits l = memory_limit(32 * MIB + 1);
    l.pids = (struct limit){.set = 1, .value = 17};
    open_with_memory(&f, NULL);
    const struct limits *held = cgroup_leaf_limits(fixture_leaf(&f, 0, &l));
    assert_int_equal(held->memory.held_by, HELD_BY_CGROUP);
    assert_int_equal(held->memory.value, 32 * MIB);
    assert_int_equal(held->swap.held_by, HELD_BY_CGROUP);
    assert_int_equal(held->swap.value, 0);
    assert_int_equal(held->pids.held_by, HELD_BY_CGROUP);
    assert_int_equal(held->pids.value, 17);
    fixture_close(&f);
}

static void a_rank_over_its_limit_is_killed_and_named(void **state)
{
    struct fixture f;
    struct limits l = memory_limit(32 * MIB);
    struct usage u = {0};
    uint64_t much = 128 * MIB, little = 8 * MIB;
    open_with_memory(&f, NULL);
    struct cgroup_leaf *a = fixture_leaf(&f, 0, &l), *b = fixture_leaf(&f, 1, &l);
    assert_int_equal(fixture_wait(fixture_start(a, take_memory, &little)), 0);
    assert_int_equal(fixture_wait(fixture_start(b, take_memory, &little)), 0);
    assert_true(oom_kills(a) == 0 && !cgroup_leaf_reached_limit(a));
    assert_true(is_killed(fixture_wait(fixture_start(b, take_memory, &much))));
    assert_true(oom_kills(a) == 0 && !cgroup_leaf_reached_limit(a));
    assert_true(cgroup_leaf_reached_limit(b) && !cgroup_tree_reached_limit(f.tree));
    cgroup_leaf_usage(b, &u);
    assert_int_equal(u.value[USAGE_OOM_KILLS], 1);
    assert_true(usage_has(&u, USAGE_LIMIT_EVENTS) && u.value[USAGE_LIMIT_EVENTS] > 0);
    assert_true(usage_has(&u, USAGE_MEMORY_PEAK));
    assert_in_range(u.value[USAGE_MEMORY_PEAK], 31 * MIB, 32 * MIB);
    fixture_close(&f);
}

static void the_sum_keeps_what_removed_leaves_counted(void **state)
{
    struct fixture f;
    struct limits l = memory_limit(32 * MIB);
    struct usage all = {0};
    uint64_t much = 128 * MIB;
    open_with_memory(&f, NULL);
    struct cgroup_leaf *a = fixture_leaf(&f, 0, &l), *b = fixture_leaf(&f, 1, &l);
    assert_true(is_killed(fixture_wait(fixture_start(a, take_memory, &much))));
    assert_true(is_killed(fixture_wait(fixture_start(b, take_memory, &much))));
    assert_int_equal(cgroup_leaf_remove(a, &f.err), 0);
    cgroup_tree_usage(f.tree, &all);
    assert_int_equal(all.value[USAGE_OOM_KILLS], 2);
    assert_true(all.value[USAGE_LIMIT_EVENTS] >= 2);
    assert_in_range(all.value[USAGE_MEMORY_PEAK], 31 * MIB, 80 * MIB);
    fixture_close(&f);
}

/* Until somebody ends it. */
static int hold_memory(void *arg)
{
    int rc = take_memory(arg);
    raise(SIGSTOP);
    return rc;
}

static void the_present_memory_is_that_of_all_ranks(void **state)
{
    struct fixture f;
    struct limits l = memory_limit(128 * MIB); /* v1 counts nothing without */
    struct usage all = {0};
    uint64_t some = 24 * MIB, before, with, after;
    pid_t pids[2];
    int status;
    open_with_memory(&f, NULL);
    struct cgroup_leaf *leaves[] = {fixture_leaf(&f, 0, &l), fixture_leaf(&f, 1, &l)};
    assert_int_equal(cgroup_tree_memory(f.tree, &before), 0);
    for (int i = 0; i < 2; i++) {
        pids[i] = fixture_start(leaves[i], hold_memory, &some);
        assert_int_equal(waitpid(pids[i], &status, WUNTRACED), pids[i]);
        assert_true(WIFSTOPPED(status));
    }
    assert_int_equal(cgroup_tree_memory(f.tree, &with), 0);
    cgroup_tree_usage(f.tree, &all);
    assert_in_range(with, 2 * some, 2 * some + 24 * MIB);
    if (usage_has(&all, USAGE_MEMORY_PEAK)) /* not before Linux 5.19 */
        assert_true(with <= all.value[USAGE_MEMORY_PEAK]);
    for (int i = 0; i < 2; i++) {
        kill(pids[i], SIGKILL);
        assert_true(is_killed(fixture_wait(pids[i])));
    }
    assert_int_equal(cgroup_tree_memory(f.tree, &after), 0);
    assert_true(before < some && after < with - some);
    fixture_close(&f);
}

static void the_steps_limit_is_told_as_the_steps(void **state)
{
    struct fixture f;
    struct limits host = memory_limit(48 * MIB);
    uint64_t much = 128 * MIB;
    struct usage u = {0};
    open_with_memory(&f, &host);
    assert_int_equal(f.host.memory.held_by, HELD_BY_CGROUP);
    struct cgroup_leaf *leaf = fixture_leaf(&f, 0, NULL);
    assert_false(cgroup_tree_reached_limit(f.tree));
    assert_true(is_killed(fixture_wait(fixture_start(leaf, take_memory, &much))));
    assert_true(oom_kills(leaf) == 1 && !cgroup_leaf_reached_limit(leaf));
    assert_true(cgroup_tree_reached_limit(f.tree));
    cgroup_tree_usage(f.tree, &u);
    assert_int_equal(u.value[USAGE_OOM_KILLS], 1);
    fixture_close(&f);
}

/* Both have limits: the smaller one of the step is hit by a rank below its own. */
static void a_rank_below_its_own_limit_is_not_blamed(void **state)
{
    struct fixture f;
    struct limits host = memory_limit(48 * MIB), l = memory_limit(256 * MIB);
    uint64_t much = 128 * MIB;
    open_with_memory(&f, &host);
    struct cgroup_leaf *leaf = fixture_leaf(&f, 0, &l);
    assert_int_equal(cgroup_leaf_limits(leaf)->memory.held_by, HELD_BY_CGROUP);
    assert_true(is_killed(fixture_wait(fixture_start(leaf, take_memory, &much))));
    assert_true(oom_kills(leaf) == 1 && !cgroup_leaf_reached_limit(leaf));
    assert_true(cgroup_tree_reached_limit(f.tree));
    fixture_close(&f);
}

static int take_memory_beside_a_child(void *arg)
{
    pid_t pid = fork();
    if (pid == 0)
        sleep_forever(NULL);
    return take_memory(arg);
}

static void out_of_memory_ends_the_whole_rank(void **state)
{
    struct fixture f;
    struct limits l = memory_limit(32 * MIB);
    uint64_t much = 128 * MIB;
    open_with_memory(&f, NULL);
    struct cgroup_leaf *leaf = fixture_leaf(&f, 0, &l);
    if (f.tree->h[f.tree->track].driver->version == 1 ||
        !(f.tree->h[0].for_ranks & CGROUP_BIT(CGROUP_MEMORY))) {
        fixture_close(&f); /* v1 kills one process */
        skip();
    }
    pid_t pid = fixture_start(leaf, take_memory_beside_a_child, &much);
    assert_true(is_killed(fixture_wait(pid)));
    assert_int_equal(cgroup_tree_wait_empty(f.tree, fixture_flag, &f, &f.err), 0);
    assert_true(fixture_run(&f, 30)); /* the child is gone without our help */
    struct usage u = {0};
    cgroup_leaf_usage(leaf, &u);
    assert_int_equal(u.value[USAGE_OOM_KILLS], 2);
    fixture_close(&f);
}

/* ---- processes ------------------------------------------------------------------------------- */

static int fork_ten(void *arg)
{
    int n = 0;
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork();
        if (pid == 0)
            sleep_forever(NULL);
        if (pid < 0)
            return errno == EAGAIN ? n : 99;
        n++;
    }
    return n;
}

static void a_rank_cannot_have_more_processes_than_its_limit(void **state)
{
    struct fixture f;
    struct limits l = {.pids = {.set = 1, .value = 4}};
    if (!in_virtual_machine())
        skip();
    fixture_open(&f, TRACK_RANK, NULL);
    if (!(cgroup_tree_controllers(f.tree) & CGROUP_BIT(CGROUP_PIDS))) {
        fixture_close(&f);
        skip();
    }
    struct cgroup_leaf *limited = fixture_leaf(&f, 0, &l), *free_leaf = fixture_leaf(&f, 1, NULL);
    assert_int_equal(cgroup_leaf_limits(limited)->pids.held_by, HELD_BY_CGROUP);
    assert_int_equal(cgroup_leaf_limits(free_leaf)->pids.held_by, HELD_BY_NONE);
    int status = fixture_wait(fixture_start(limited, fork_ten, NULL));
    assert_int_equal(WEXITSTATUS(status), 3);
    status = fixture_wait(fixture_start(free_leaf, fork_ten, NULL));
    assert_int_equal(WEXITSTATUS(status), 10);
    fixture_close(&f);
}

static void the_steps_limit_of_processes_holds_for_all_ranks_together(void **state)
{
    struct fixture f;
    struct limits host = {.pids = {.set = 1, .value = 5}};
    if (!in_virtual_machine())
        skip();
    fixture_open(&f, TRACK_RANK, &host);
    if (f.host.pids.held_by != HELD_BY_CGROUP) {
        fixture_close(&f);
        skip();
    }
    pid_t first = fixture_start(fixture_leaf(&f, 0, NULL), sleep_forever, NULL);
    int status = fixture_wait(fixture_start(fixture_leaf(&f, 1, NULL), fork_ten, NULL));
    assert_int_equal(WEXITSTATUS(status), 3); /* and itself, and the other rank */
    assert_int_equal(waitpid(first, NULL, WNOHANG), 0);
    fixture_close(&f);
}

static int have_many_children(void *arg)
{
    for (int i = 0; i < 200; i++) {
        if (fork() == 0) {
            setsid();
            ++*(volatile int *)arg; /* two at once may count as one: a few are enough */
            sleep_forever(NULL);
        }
    }
    return sleep_forever(NULL);
}

/* On v1 a freezer that catches a tree just starting may need to be told twice. */
static void two_hundred_sessions_end_with_the_tree(void **state)
{
    struct fixture f;
    volatile int *n = shared_memory(sizeof(*n));
    if (!in_virtual_machine())
        skip();
    fixture_open(&f, TRACK_RANK, NULL);
    fixture_start(fixture_leaf(&f, 0, NULL), have_many_children, (void *)n);
    while (*n < 50)
        fixture_run(&f, 0.001);
    double t0 = loop_now();
    assert_int_equal(cgroup_tree_wait_empty(f.tree, fixture_flag, &f, &f.err), 0);
    assert_int_equal(cgroup_tree_kill(f.tree, &f.err), 0);
    assert_true(fixture_run(&f, 60));
    print_message("# %s: empty after %.0f ms\n", cgroup_tree_kind(f.tree), (loop_now() - t0) * 1e3);
    munmap((void *)n, sizeof(*n));
    fixture_close(&f);
}

/* ---- controllers of a populated cgroup (v2, as root) ----------------------------------------- */

struct home {
    char path[CGROUP_PATH_MAX];
    int fd;
};

/* A cgroup beside ours, with the calling process in it. */
static int enter_home(struct home *h)
{
    struct cgroup_mounts mounts;
    struct error err;
    if (cgroup_mounts_read(&mounts, &err) < 0)
        return -1;
    char *root = cgroup_directory(&mounts, 2, 0, "/", NULL, &err);
    cgroup_mounts_free(&mounts);
    snprintf(h->path, sizeof(h->path), "%s/home-%d", root, (int)getpid());
    free(root);
    h->fd = -1;
    if (mkdir(h->path, 0755) == 0)
        h->fd = open(h->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return h->fd < 0 ? -1 : file_write_at(h->fd, "cgroup.procs", "0");
}

static int own_processes_make_room(void)
{
    struct home h;
    struct fixture f;
    struct limits l = memory_limit(32 * MIB);
    char text[256];
    pid_t self = getpid();
    if (enter_home(&h) < 0)
        return 10;
    if (fixture_try(&f, TRACK_RANK, NULL, &self, 1) < 0 || f.nmovers != 1)
        return 11;
    if (cgroup_leaf_limits(fixture_leaf(&f, 0, &l))->memory.held_by != HELD_BY_CGROUP)
        return 12;
    if (*cgroup_tree_why_no_limits(f.tree))
        return 16;
    if (file_read_at(h.fd, "cgroup.procs", text, sizeof(text)) != 0)
        return 13;
    fixture_close(&f);
    if (file_read_at(h.fd, "cgroup.subtree_control", text, sizeof(text)) != 0)
        return 14; /* controllers stayed on */
    if (file_read_at(h.fd, "cgroup.procs", text, sizeof(text)) <= 0 || atoi(text) != self)
        return 15; /* we are not back */
    return 0;
}

static int a_strangers_process_costs_the_controllers(void)
{
    struct home h;
    struct fixture f;
    struct limits l = memory_limit(32 * MIB), host = memory_limit(64 * MIB);
    pid_t self = getpid();
    char who[32];
    if (enter_home(&h) < 0)
        return 20;
    pid_t stranger = fork();
    if (stranger == 0)
        sleep_forever(NULL);
    if (fixture_try(&f, TRACK_RANK, &host, &self, 1) < 0 || f.nmovers != 0)
        return 21;
    if (f.v2_controllers != 0 || strcmp(cgroup_tree_kind(f.tree), "v2") != 0)
        return 22;
    const char *why = cgroup_tree_why_no_limits(f.tree);
    snprintf(who, sizeof(who), "pid %d (", (int)stranger);
    if (!strstr(why, who) || !strstr(why, h.path))
        return 25;
    if (cgroup_leaf_limits(fixture_leaf(&f, 0, &l))->memory.held_by != HELD_BY_NONE ||
        f.host.memory.held_by != HELD_BY_NONE)
        return 23;
    fixture_close(&f); /* kills ranks, not the stranger */
    if (waitpid(stranger, NULL, WNOHANG) != 0)
        return 24;
    kill(stranger, SIGKILL);
    return 0;
}

static void in_home(int (*fn)(void))
{
    if (!in_virtual_machine() || geteuid() != 0 || strcmp(getenv("VMRUN_CGROUP"), "v2") != 0)
        skip();
    char path[CGROUP_PATH_MAX];
    pid_t pid = fork();
    if (pid == 0)
        _exit(fn());
    int status = fixture_wait(pid);
    snprintf(path, sizeof(path), "/sys/fs/cgroup/home-%d", (int)pid);
    while (rmdir(path) < 0 && errno == EBUSY) /* its last process is dying */
        poll(NULL, 0, 1);
    assert_int_equal(status, 0);
}

static void controllers_come_when_our_own_processes_make_room(void **state)
{
    in_home(own_processes_make_room);
}

static void controllers_do_not_come_where_a_stranger_is(void **state)
{
    in_home(a_strangers_process_costs_the_controllers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_is_rounded_as_the_kernel_does_and_held),
        cmocka_unit_test(a_rank_over_its_limit_is_killed_and_named),
        cmocka_unit_test(the_sum_keeps_what_removed_leaves_counted),
        cmocka_unit_test(the_present_memory_is_that_of_all_ranks),
        cmocka_unit_test(the_steps_limit_is_told_as_the_steps),
        cmocka_unit_test(a_rank_below_its_own_limit_is_not_blamed),
        cmocka_unit_test(out_of_memory_ends_the_whole_rank),
        cmocka_unit_test(a_rank_cannot_have_more_processes_than_its_limit),
        cmocka_unit_test(the_steps_limit_of_processes_holds_for_all_ranks_together),
        cmocka_unit_test(two_hundred_sessions_end_with_the_tree),
        cmocka_unit_test(controllers_come_when_our_own_processes_make_room),
        cmocka_unit_test(controllers_do_not_come_where_a_stranger_is),
    };
    return cmocka_run_group_tests_name("cgroup-limits", tests, NULL, NULL);
}
