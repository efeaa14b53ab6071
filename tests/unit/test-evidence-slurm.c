/* SPDX-License-Identifier: BSD-3-Clause */
/* test-evidence-slurm.c - which job of Slurm a process is in, from the sockets of its slurmstepd */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-daemon/reader/evidence-sources.h"

enum { USER = 64000, OTHER = 64001 };

static char spool[64];
static struct conf conf = {.slurm_spool = spool};

/* A step: its processes' numbers. The stepd is in a process group of its own. */
struct step {
    pid_t stepd, process;
};

static void listen_at(const char *name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", spool, name);
    if (fd < 0 || bind(fd, (void *)&a, sizeof(a)) < 0 || chmod(a.sun_path, 0777) < 0 ||
        listen(fd, 5) < 0)
        _exit(1);
}

static void become(uid_t uid)
{
    if (setresuid(uid, uid, uid) < 0)
        _exit(1);
}

/* The task has become its user when its process is known. */
static void be_task(uid_t task, uid_t user, int said)
{
    int is_user[2];
    pid_t process;
    if (pipe(is_user) < 0 || (process = fork()) < 0)
        _exit(1);
    close(is_user[process == 0 ? 0 : 1]);
    if (process == 0) {
        become(user);
        close(is_user[1]);
        return;
    }
    become(task);
    char none;
    if (read(is_user[0], &none, 1) != 0 || write(said, &process, sizeof(process)) < 0)
        _exit(1);
}

/* A stepd that listens there as the user `daemon`, its task of the user `task`, and below that a
 * process of `user`. They end with the test. */
static struct step start_step(const char *name, uid_t daemon, uid_t task, uid_t user)
{
    struct step s;
    int said[2];
    assert_int_equal(pipe(said), 0);
    s.stepd = fork();
    if (s.stepd == 0) {
        setpgid(0, 0);
        close(said[0]);
        if (!freopen("/dev/null", "w", stdout) || setresuid(daemon, daemon, 0) < 0)
            _exit(1);
        listen_at(name);
        if (setresuid(0, 0, 0) < 0)
            _exit(1);
        if (fork() == 0)
            be_task(task, user, said[1]);
        for (;;)
            pause();
    }
    close(said[1]);
    assert_int_equal(read(said[0], &s.process, sizeof(s.process)), sizeof(s.process));
    close(said[0]);
    return s;
}

static void end_step(const struct step *s)
{
    assert_int_equal(kill(-s->stepd, SIGKILL), 0);
    assert_int_equal(waitpid(s->stepd, NULL, 0), s->stepd);
}

static void needs_root(void)
{
    if (geteuid() != 0)
        skip();
}

static int prove(pid_t pid, uid_t uid, struct task_evidence *ret)
{
    struct error e;
    struct asker who = {.pid = pid, .uid = uid};
    return evidence_slurm.prove(&conf, &who, ret, &e);
}

static void who_is_below_a_listener_of_roots_is_in_its_job(void **state)
{
    struct task_evidence t;
    needs_root();
    struct step s = start_step("n1_12.0", 0, USER, USER);
    assert_int_equal(prove(s.process, USER, &t), 0);
    assert_string_equal(t.evidence.name, "12");
    assert_int_equal(t.evidence.uid, USER);
    assert_int_equal(evidence_slurm.is_known(&conf, "12"), 1);
    assert_int_equal(evidence_slurm.is_known(&conf, "1"), 0);
    /* others, and the step's daemon itself */
    assert_int_equal(prove(s.process, OTHER, &t), -1);
    assert_int_equal(prove(getpid(), 0, &t), -1);
    assert_int_equal(prove(s.stepd, 0, &t), -1);
    end_step(&s);
    assert_int_equal(prove(s.process, USER, &t), -1);
}

static void who_has_become_another_user_is_not_in_the_job(void **state)
{
    struct task_evidence t;
    needs_root();
    struct step s = start_step("n1_13.batch", 0, OTHER, USER);
    end_step(&s);
    s = start_step("n1_13.4294967291", 0, OTHER, USER);
    assert_int_equal(prove(s.process, USER, &t), -1);
    end_step(&s);
}

static void a_listener_of_a_users_is_no_evidence(void **state)
{
    struct task_evidence t;
    needs_root();
    assert_int_equal(chown(spool, USER, -1), 0);
    struct step s = start_step("n1_14.0", USER, USER, USER);
    assert_int_equal(chown(spool, 0, -1), 0);
    assert_int_equal(prove(s.process, USER, &t), -1);
    end_step(&s);
}

static void a_directory_where_others_write_is_none(void **state)
{
    struct task_evidence t;
    needs_root();
    struct step s = start_step("n1_15.0.1", 0, USER, USER);
    assert_int_equal(prove(s.process, USER, &t), 0);
    assert_int_equal(chmod(spool, 0777), 0);
    assert_int_equal(prove(s.process, USER, &t), -1);
    assert_int_equal(evidence_slurm.is_known(&conf, "15"), -1);
    assert_int_equal(chmod(spool, 0755), 0);
    end_step(&s);
}

/* Of a job that is not among those that were read nobody can say that it is not there. */
static void a_directory_with_too_many_entries_says_of_no_job_that_it_has_gone(void **state)
{
    char name[100];
    needs_root();
    for (int remove = 0; remove < 2; remove++) {
        for (int i = 0; i < 4200; i++) {
            snprintf(name, sizeof(name), "%s/file%d", spool, i);
            int fd = remove ? unlink(name) : creat(name, 0600);
            assert_true(fd >= 0);
            if (!remove)
                close(fd);
        }
        assert_int_equal(evidence_slurm.is_known(&conf, "16"), remove ? 0 : -1);
    }
}

static int make_spool(void **state)
{
    snprintf(spool, sizeof(spool), "/tmp/mprun-test.XXXXXX");
    return mkdtemp(spool) && chmod(spool, 0755) == 0 ? 0 : -1;
}

static int remove_spool(void **state)
{
    char command[100];
    snprintf(command, sizeof(command), "rm -r %s", spool);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_below_a_listener_of_roots_is_in_its_job),
        cmocka_unit_test(who_has_become_another_user_is_not_in_the_job),
        cmocka_unit_test(a_listener_of_a_users_is_no_evidence),
        cmocka_unit_test(a_directory_where_others_write_is_none),
        cmocka_unit_test(a_directory_with_too_many_entries_says_of_no_job_that_it_has_gone),
    };
    return cmocka_run_group_tests(tests, make_spool, remove_spool);
}
