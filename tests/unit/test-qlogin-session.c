/* SPDX-License-Identifier: BSD-3-Clause */
/* test-qlogin-session.c - what a session takes from its job's environment; who is its shepherd
 */
#include "rm-adapters/gridengine/qlogin-session.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* As in a login shell; what the test itself has from its environment stays. */
static void forget_job(void)
{
    static const char *const names[] = {"JOB_ID", "JOB_IDS", "XJOB_ID", "SGE_TASK_ID",
                                        "PE",     "TMPDIR",  "SGE_",    "PE_HOSTFILE"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    setenv("HOME", "/here", 1);
    unsetenv("LD_PRELOAD");
}

static size_t adopt(const char *text)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    size_t n = gridengine_session_adopt(copy);
    free(copy);
    return n;
}

static void the_variables_of_the_job_are_taken(void **state)
{
    forget_job();
    assert_int_equal(adopt("PATH=/job\nHOME=/job\nJOB_ID=12\nSGE_TASK_ID=undefined\nPE=lab\n"
                           "PE_HOSTFILE=/spool/a=b\nTMPDIR=/tmp/12.1.lab.q\nLD_PRELOAD=/job.so"),
                     5);
    assert_string_equal(getenv("JOB_ID"), "12");
    assert_string_equal(getenv("SGE_TASK_ID"), "undefined");
    assert_string_equal(getenv("PE_HOSTFILE"), "/spool/a=b");
    assert_string_equal(getenv("TMPDIR"), "/tmp/12.1.lab.q");
    assert_string_not_equal(getenv("PATH"), "/job");
    assert_string_equal(getenv("HOME"), "/here");
    assert_null(getenv("LD_PRELOAD"));
}

static void what_is_there_stays(void **state)
{
    forget_job();
    setenv("TMPDIR", "/mine", 1);
    assert_int_equal(adopt("TMPDIR=/tmp/12.1.lab.q\nJOB_ID=12\n"), 1);
    assert_string_equal(getenv("TMPDIR"), "/mine");
}

static void no_line_of_a_job_is_none(void **state)
{
    forget_job();
    assert_int_equal(adopt(""), 0);
    assert_int_equal(adopt("\n=\n=x\nSGE_\nSGE_=x\nJOB_ID\nJOB_IDS=1\nXJOB_ID=1\n"), 0);
    assert_null(getenv("JOB_ID"));
}

/* A process of the shepherd's program with this name, and a child that asks. */
static unsigned job_below(const char *name)
{
    int status = 0;
    char command[512], dir[] = "/tmp/mprun-test-shepherd-XXXXXX";
    assert_non_null(mkdtemp(dir));
    /* the shell waits for the other one, which asks as its child */
    snprintf(command, sizeof(command),
             "ln -s /bin/bash %s/sge_shepherd; (exec -a '%s' %s/sge_shepherd -c '\"$0\" ask; exit "
             "$?' \"$0\"); code=$?; rm -r %s; exit $code",
             dir, name, dir, dir);
    pid_t pid = fork();
    if (pid == 0) {
        char self[256];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
        self[n > 0 ? n : 0] = 0;
        execl("/bin/bash", "bash", "-c", command, self, NULL);
        _exit(127);
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return (unsigned)WEXITSTATUS(status);
}

static void the_shepherd_names_the_job(void **state)
{
    assert_int_equal(job_below("sge_shepherd-42"), 42);
    assert_int_equal(job_below("sge_shepherd-"), 0);
    assert_int_equal(job_below("my_shepherd-42"), 0);
}

int main(int argc, char **argv)
{
    pid_t shepherd;
    if (argc > 1)
        return (int)gridengine_session_job(&shepherd);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_variables_of_the_job_are_taken),
        cmocka_unit_test(what_is_there_stays),
        cmocka_unit_test(no_line_of_a_job_is_none),
        cmocka_unit_test(the_shepherd_names_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
