/* SPDX-License-Identifier: BSD-3-Clause */
/* Cgroups where the kernel refuses clone3 and process descriptors, as one before 5.3 does: ranks
 * write themselves into their leaves, and are killed by number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/cgroup-fixture.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/processes/spawn.h"

static void refuse_new_calls(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 424 /* pidfd_send_signal */, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 434 /* pidfd_open */, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 435 /* clone3 */, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
        printf("1..0 # SKIP this kernel takes no filter of system calls: %s\n", strerror(errno));
        exit(0);
    }
}

static void the_filter_works(void **state)
{
    assert_int_equal(syscall(435, NULL, 0), -1);
    assert_int_equal(errno, ENOSYS);
    assert_int_equal(syscall(434, getpid(), 0), -1);
    assert_int_equal(errno, ENOSYS);
}

static pid_t spawn_in(struct cgroup_leaf *leaf, char *const argv[])
{
    struct cgroup_birth b;
    struct spawn s;
    struct error err;
    char *const no_environment[] = {NULL};
    cgroup_leaf_birth(leaf, &b);
    spawn_init(&s);
    s.path = argv[0];
    s.argv = argv;
    s.envp = no_environment;
    s.fds[2] = 2;
    s.cgroup_fd = b.v2_fd;
    s.cgroup_fallback_fd = b.v2_procs_fd;
    s.cgroup_procs_fds = b.v1_procs_fds;
    s.ncgroup_procs_fds = b.nv1;
    pid_t pid = spawn_process(&s, NULL, &err);
    if (pid < 0)
        fail_msg("%s", err.text);
    return pid;
}

static void a_rank_writes_itself_into_its_leaf(void **state)
{
    struct fixture f;
    struct cgroup_birth b;
    pid_t *pids = NULL;
    char *argv[] = {"/bin/sleep", "600", NULL};
    fixture_open(&f, TRACK_RANK, NULL);
    struct cgroup_leaf *leaf = fixture_leaf(&f, 0, NULL);
    cgroup_leaf_birth(leaf, &b);
    assert_true(b.v2_procs_fd >= 0 || b.nv1 > 0);
    assert_true(b.v2_fd < 0 || b.v2_procs_fd >= 0);
    pid_t pid = spawn_in(leaf, argv);
    assert_int_equal(cgroup_leaf_pids(leaf, &pids), 1); /* before exec, so it is there now */
    assert_int_equal(pids[0], pid);
    free(pids);
    fixture_close(&f);
    fixture_assert_dead(pid);
}

static void ranks_that_share_write_themselves_into_the_one_cgroup(void **state)
{
    struct fixture f;
    pid_t *pids = NULL;
    char *argv[] = {"/bin/sleep", "600", NULL};
    fixture_open(&f, TRACK_STEP, NULL);
    spawn_in(fixture_leaf(&f, 0, NULL), argv);
    spawn_in(fixture_leaf(&f, 1, NULL), argv);
    assert_int_equal(at_pids(hierarchy_ranks(&f.tree->h[f.tree->track]), &pids), 2);
    free(pids);
    fixture_close(&f);
}

static int absent(struct cgroup_at d)
{
    errno = ENOENT;
    return -1;
}

static int cannot_freeze(struct cgroup_at d, int frozen)
{
    errno = ENOENT;
    return -1;
}

static void processes_are_killed_by_number(void **state)
{
    struct fixture f;
    struct kill_ladder ladder;
    char *argv[] = {"/bin/sleep", "600", NULL};
    fixture_open(&f, TRACK_RANK, NULL);
    struct cgroup_driver driver = *f.tree->h[f.tree->track].driver;
    driver.kill = absent;
    driver.freeze = cannot_freeze;
    pid_t pid = spawn_in(fixture_leaf(&f, 0, NULL), argv);
    kill_ladder_init(&ladder, hierarchy_ranks(&f.tree->h[f.tree->track]), &driver);
    int ms;
    while ((ms = kill_ladder_step(&ladder)) > 0)
        poll(NULL, 0, ms);
    assert_int_equal(ms, 0);
    int status = fixture_wait(pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_filter_works),
        cmocka_unit_test(a_rank_writes_itself_into_its_leaf),
        cmocka_unit_test(ranks_that_share_write_themselves_into_the_one_cgroup),
        cmocka_unit_test(processes_are_killed_by_number),
    };
    refuse_new_calls();
    return cmocka_run_group_tests_name("cgroup-refused", tests, NULL, NULL);
}
