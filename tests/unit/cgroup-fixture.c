/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/cgroup-fixture.h"
#include "tests/unit/patience.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEADLINE_S = 120 };

int fixture_try(struct fixture *f, enum tracking level, const struct limits *host,
                const pid_t *self, size_t nself)
{
    static unsigned count;
    struct cgroup_parents parents;
    alarm(patience(DEADLINE_S)); /* a test that hangs fails */
    memset(f, 0, sizeof(*f));
    f->level = level;
    if (host)
        f->host = *host;
    snprintf(f->step, sizeof(f->step), "test-%d-%u", (int)getpid(), count++);
    f->loop = loop_create(&f->err);
    assert_non_null(f->loop);
    if (cgroup_parents_own(self, nself, &parents, &f->err) == 0) {
        f->v2_controllers = parents.v2_controllers;
        f->nmovers = parents.nv2_movers;
        f->tree = cgroup_tree_create(f->loop, &parents, f->step, f->level, &f->host, &f->err);
        cgroup_parents_free(&parents);
    }
    if (f->tree)
        return 0;
    loop_destroy(f->loop);
    return -1;
}

void fixture_open(struct fixture *f, enum tracking level, const struct limits *host)
{
    if (fixture_try(f, level, host, NULL, 0) == 0)
        return;
    print_message("# %s\n", f->err.text);
    skip();
}

static void assert_gone(char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_false(path_exists(paths[i]));
}

void fixture_close(struct fixture *f)
{
    const char *const *paths;
    char *copies[HIERARCHY_MAX];
    size_t n = cgroup_tree_paths(f->tree, &paths);
    for (size_t i = 0; i < n; i++)
        copies[i] = strdup(paths[i]);
    empty_wait_stop(f->tree); /* one that the test began */
    f->flag = 0;
    assert_int_equal(cgroup_tree_kill(f->tree, &f->err), 0);
    assert_int_equal(cgroup_tree_wait_empty(f->tree, fixture_flag, f, &f->err), 0);
    assert_true(fixture_run(f, 30));
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    if (cgroup_tree_remove(f->tree, &f->err) < 0)
        fail_msg("%s", f->err.text);
    cgroup_tree_destroy(f->tree);
    loop_destroy(f->loop);
    assert_gone(copies, n);
    for (size_t i = 0; i < n; i++)
        free(copies[i]);
    alarm(0);
}

void fixture_assert_dead(pid_t pid)
{
    pid_t rc = waitpid(pid, NULL, 0);
    assert_true(rc == pid || (rc < 0 && errno == ECHILD));
}

struct cgroup_leaf *fixture_leaf(struct fixture *f, unsigned rank, const struct limits *limits)
{
    struct rank_name name = {.rank = rank};
    struct cgroup_leaf *leaf = cgroup_leaf_create(f->tree, name, limits, &f->err);
    if (!leaf)
        fail_msg("%s", f->err.text);
    return leaf;
}

/* ---- processes ------------------------------------------------------------------------------- */

struct clone_arguments { /* struct clone_args up to cgroup; older headers lack the last fields */
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    uint64_t set_tid, set_tid_size, cgroup;
};

static pid_t clone_into(int dir)
{
    struct clone_arguments a = {
        .flags = 0x200000000ULL /* CLONE_INTO_CGROUP */,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t)dir,
    };
    return (pid_t)syscall(435, &a, sizeof(a));
}

static void join(int fd)
{
    if (fd >= 0 && write(fd, "0", 1) != 1)
        _exit(111);
}

static void be_the_child(const struct cgroup_birth *b, int told, int (*fn)(void *arg), void *arg)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    join(b->v2_procs_fd);
    for (size_t i = 0; i < b->nv1; i++)
        join(b->v1_procs_fds[i]);
    close(told);
    _exit(fn(arg));
}

pid_t fixture_start(struct cgroup_leaf *leaf, int (*fn)(void *arg), void *arg)
{
    struct cgroup_birth b;
    int told[2];
    char c;
    cgroup_leaf_birth(leaf, &b);
    fflush(NULL);
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    pid_t pid = b.v2_fd >= 0 && b.v2_procs_fd < 0 ? clone_into(b.v2_fd) : fork();
    if (pid == 0)
        be_the_child(&b, told[1], fn, arg);
    if (pid < 0)
        fail_msg("start a process in a leaf: %s", strerror(errno));
    close(told[1]);
    assert_int_equal(read(told[0], &c, 1), 0); /* it is in all its cgroups */
    close(told[0]);
    return pid;
}

int fixture_wait(pid_t pid)
{
    int status = 0;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid); /* the alarm bounds it */
    return status;
}

/* ---- the loop -------------------------------------------------------------------------------- */

void fixture_flag(void *arg)
{
    struct fixture *f = arg;
    f->flag = 1;
    loop_stop(f->loop);
}

static void time_over(void *arg)
{
    loop_stop(arg);
}

int fixture_run(struct fixture *f, double seconds)
{
    struct loop_timer t;
    loop_timer_init(&t, f->loop, time_over, f->loop);
    loop_timer_start(&t, seconds, 0);
    if (!f->flag)
        loop_run(f->loop);
    loop_timer_stop(&t);
    return f->flag;
}

/* ---- helpers --------------------------------------------------------------------------------- */

int sleep_forever(void *arg)
{
    for (;;)
        pause();
    return 0;
}

void *shared_memory(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

int path_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

int in_virtual_machine(void)
{
    const char *v = getenv("VMRUN");
    return v && !strcmp(v, "1");
}
