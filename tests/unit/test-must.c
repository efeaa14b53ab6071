/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of common/must.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/log.h"
#include "common/must.h"
#include "model/rank-end.h"

static void returns_what_there_is(void **state)
{
    int one;
    assert_ptr_equal(must(&one), &one);
    must_do(0);
}

/* A process whose address space has this limit (0: none) finds no memory: its standard error. */
static void end_without_memory(rlim_t limit, char *said, size_t size)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        log_open("mprun", LOG_NOTE);
        if (limit)
            setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit});
        must(NULL);
        _exit(0);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], said, size - 1);
    said[n > 0 ? n : 0] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_CODE_MPRUN);
}

static void says_what_is_missing_and_ends(void **state)
{
    char said[200];
    struct rlimit l;
    end_without_memory((rlim_t)1 << 47, said, sizeof(said));
    assert_string_equal(
        said, "mprun: out of memory; its address space is limited to 134217728 MiB (ulimit -v)\n");
    if (getrlimit(RLIMIT_AS, &l) < 0 || l.rlim_cur != RLIM_INFINITY)
        skip();
    end_without_memory(0, said, sizeof(said));
    assert_string_equal(said, "mprun: out of memory\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_what_there_is),
        cmocka_unit_test(says_what_is_missing_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
