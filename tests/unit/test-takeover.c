/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process of mprund cannot do that somebody has taken over: have processes moved that did
 * not ask, fill another's table of descriptors, be root in a namespace of its own, or stop another
 * process of its user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "containment/mprund-protocol.h"
#include "node-daemon/lib/records.h"
#include "node-daemon/lib/syscalls.h"
#include "node-daemon/mover/mover.h"

/* ---- who is to be moved ---------------------------------------------------------------------- */

/* A listener at this name in the current directory, with a client: both ends. */
static void connect_at(const char *name, int *ret_client, int *ret_accepted)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0), client = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", name);
    (void)unlink(name);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
    *ret_client = client;
    *ret_accepted = accept(listener, NULL, NULL);
    assert_true(*ret_accepted >= 0);
    close(listener);
    assert_int_equal(unlink(name), 0);
}

/* GRANT_SOCKET is a name in the current directory here. */
static void test_only_who_connected_to_mprund(void **state)
{
    static const struct {
        const char *name;
        int accepted, client;
    } cases[] = {{GRANT_SOCKET, 0, -1}, {"another.sock", -1, -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int client, accepted, pair[2];
        struct error e;
        struct identity who = {.proc = -1};
        connect_at(cases[i].name, &client, &accepted);
        assert_int_equal(identity_of_socket(accepted, &who, &e), cases[i].accepted);
        identity_close(&who);
        assert_int_equal(identity_of_socket(client, &who, &e), cases[i].client); /* the server */
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
        assert_int_equal(identity_of_socket(pair[0], &who, &e), -1);
        close(client);
        close(accepted);
        close(pair[0]);
        close(pair[1]);
    }
}

/* In a namespace of its own, with its own /proc, where its child is 2. */
static int show_own_proc(int to)
{
    struct record_head head = record_head(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) < 0)
        return 1;
    if (fork() > 0)
        return wait(NULL) < 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fork() == 0)
        pause();
    int fd = mount("proc", "/proc", "proc", 0, NULL) < 0 ? -1 : open("/proc/2", O_RDONLY);
    if (record_send(to, &head, sizeof(head), fd) == 0)
        pause();
    return 0;
}

static void test_no_process_of_another_namespace(void **state)
{
    int link[2], dir, own = open("/proc/self", O_RDONLY);
    struct record_head head;
    struct error e;
    struct identity who = {.proc = -1};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(show_own_proc(link[1]));
    close(link[1]);
    int got = record_receive(link[0], &head, sizeof(head), &dir);
    if (got == 1 && dir >= 0) {
        assert_int_equal(identity_of_directory(dir, &who, &e), -1);
        assert_int_equal(e.code, EINVAL);
        close(dir);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(link[0]);
    assert_int_equal(identity_of_directory(own, &who, &e), 0);
    assert_int_equal(who.pid, getpid());
    identity_close(&who);
    close(own);
    if (got != 1 || dir < 0)
        skip();
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void test_a_record_brings_one_descriptor_at_most(void **state)
{
    int link[2], got, next;
    struct record_head head = record_head(0, 0);
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec data = {&head, sizeof(head)};
    struct msghdr m = {.msg_iov = &data,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    *c = (struct cmsghdr){CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memset(CMSG_DATA(c), 0, 2 * sizeof(int)); /* standard input, twice */
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
    int free_before = dup(link[0]);
    close(free_before);
    assert_int_equal(sendmsg(link[0], &m, 0), sizeof(head));
    assert_int_equal(record_receive(link[1], &head, sizeof(head), &got), 1);
    if (got >= 0)
        close(got);
    next = dup(link[0]);
    assert_int_equal(next, free_before);
    close(next);
    close(link[0]);
    close(link[1]);
}

/* ---- namespaces ------------------------------------------------------------------------------ */

static int errno_of(long rc)
{
    return rc < 0 ? errno : 0;
}

/* 0: it cannot have a namespace. */
static int try_namespaces(enum role role)
{
    struct error e;
    if (syscalls_restrict_all(&e) < 0 || syscalls_restrict(role, &e) < 0)
        return 1;
    if (errno_of(unshare(CLONE_NEWUSER)) != EPERM)
        return 2;
    if (errno_of(syscall(SYS_clone3, NULL, 0)) != ENOSYS)
        return 3;
#ifndef __s390__
    if (errno_of(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)) != EPERM)
        return 4;
#endif
#ifdef __NR_mount_setattr /* it would make what is mounted read-only writable again */
    if (errno_of(syscall(__NR_mount_setattr, -1, "", 0, NULL, 0)) != EPERM)
        return 6;
#endif
    if (role != ROLE_SIGNER && fork() == 0)
        _exit(0);
    return role != ROLE_SIGNER && wait(NULL) < 0 ? 5 : 0;
}

/* In a child: the code of `try_it`. */
static int tried(int (*try_it)(enum role), enum role role)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        _exit(try_it(role));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_no_namespace_of_its_own(void **state)
{
    static const enum role roles[] = {ROLE_SIGNER, ROLE_READER, ROLE_WATCH, ROLE_FRONT};
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
        assert_int_equal(tried(try_namespaces, roles[i]), 0);
}

/* ---- others of its user ---------------------------------------------------------------------- */

/* 0: it can do nothing to its parent, which has its uid. */
static int touch_parent(void)
{
    struct rlimit is;
    struct sched_param idle = {.sched_priority = 0};
    pid_t parent = getppid();
    if (errno_of(kill(parent, 0)) != EPERM || errno_of(kill(-1, 0)) != EPERM)
        return 2;
    if (errno_of(syscall(SYS_tgkill, parent, parent, 0)) != EPERM)
        return 3;
    if (errno_of(syscall(SYS_pidfd_send_signal, -1, 0, NULL, 0)) != EPERM)
        return 4;
    if (errno_of(setpriority(PRIO_PROCESS, (id_t)parent, 19)) != EPERM ||
        errno_of(sched_setscheduler(parent, SCHED_IDLE, &idle)) != EPERM)
        return 5;
    if (errno_of(prlimit(parent, RLIMIT_NOFILE, NULL, &is)) != EPERM)
        return 6;
    return prlimit(0, RLIMIT_NOFILE, NULL, &is) < 0 ? 7 : 0; /* its own are its own */
}

static int try_parent(enum role role)
{
    struct error e;
    return syscalls_restrict(role, &e) < 0 ? 1 : touch_parent();
}

/* What the reader starts, once it runs. */
static int try_parent_as_qstat(enum role role)
{
    struct error e;
    return syscalls_restrict(role, &e) < 0 || syscalls_keep_to_self(&e) < 0 ? 1 : touch_parent();
}

static void test_no_signal_to_others_of_its_user(void **state)
{
    assert_int_equal(tried(try_parent, ROLE_SIGNER), 0);
    assert_int_equal(tried(try_parent, ROLE_WATCH), 0);
    assert_int_equal(tried(try_parent, ROLE_FRONT), 0);
    assert_int_equal(tried(try_parent_as_qstat, ROLE_READER), 0);
    assert_int_equal(tried(try_parent, ROLE_READER), 2); /* it ends qstat */
}

/* ---- what it may enter ----------------------------------------------------------------------- */

#define JOB "site-1-00000000"

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* A job's directory is a plain one here: what enters it is written into cgroup.procs. */
static void test_only_who_belongs_into_a_job_enters_it(void **state)
{
    static const char *const dirs[] = {JOB, JOB "/task", JOB "/u", JOB "/u/home"};
    struct stat st;
    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
        assert_int_equal(mkdir(dirs[i], 0700), 0);
    make_file(JOB "/task/cgroup.procs");
    make_file(JOB "/u/home/cgroup.procs");
    (void)!chown(JOB, (uid_t)-1, 1001); /* whose job it is */
    assert_int_equal(stat(JOB, &st), 0);
    const uid_t owner = st.st_gid, other = owner + 1;
    const struct {
        uid_t uid;
        bool is_connection;
        enum mover_part part;
        bool may;
    } rows[] = {
        {owner, true, PART_HOME, true},   {other, true, PART_HOME, false},
        {0, true, PART_HOME, false},      {0, true, PART_TASK, true},
        {owner, true, PART_TASK, false},  {owner, false, PART_TASK, true},
        {0, false, PART_TASK, true},      {other, false, PART_TASK, false},
        {owner, false, PART_HOME, false},
    };
    struct ground g = {.n = 1, .cgroup = "/nowhere", .v2_cgroup = "/nowhere"};
    g.part[0] = (struct ground_part){.driver = &cgroup_driver_v2, .path = "."};
    g.part[0].fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct identity who = {.pid = getpid(),
                           .proc = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error e = {.code = 0};
        who.uid = who.real_uid = rows[i].uid;
        int rc = enter_job(&g, &who, rows[i].is_connection, JOB, rows[i].part, &e);
        if (rc != (rows[i].may ? 0 : -1) || e.code != (rows[i].may ? 0 : EPERM))
            fail_msg("row %zu: %d %s", i, rc, rc < 0 ? e.text : "");
    }
    if (chown(JOB, (uid_t)-1, 0) == 0) { /* nobody's: not even a process of root's is its user's */
        who.uid = who.real_uid = 0;
        assert_int_equal(enter_job(&g, &who, true, JOB, PART_HOME, NULL), -1);
    }
    close(g.part[0].fd);
    close(who.proc);
    unlink(JOB "/task/cgroup.procs");
    unlink(JOB "/u/home/cgroup.procs");
    for (size_t i = sizeof(dirs) / sizeof(dirs[0]); i-- > 0;)
        assert_int_equal(rmdir(dirs[i]), 0);
}

static int go_elsewhere(void **state)
{
    static char dir[] = "/tmp/test-takeover.XXXXXX";
    *state = mkdtemp(dir);
    return *state ? chdir(dir) : -1;
}

static int come_back(void **state)
{
    return chdir("/") < 0 ? -1 : rmdir(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_who_connected_to_mprund),
        cmocka_unit_test(test_no_process_of_another_namespace),
        cmocka_unit_test(test_a_record_brings_one_descriptor_at_most),
        cmocka_unit_test(test_only_who_belongs_into_a_job_enters_it),
        cmocka_unit_test(test_no_namespace_of_its_own),
        cmocka_unit_test(test_no_signal_to_others_of_its_user),
    };
    return cmocka_run_group_tests(tests, go_elsewhere, come_back);
}
