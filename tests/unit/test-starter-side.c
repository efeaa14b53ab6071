/* SPDX-License-Identifier: BSD-3-Clause */
/* test-starter-side.c - a Grid Engine task's group, in a spool directory of the test's own */
#include "rm-adapters/starter-side/starter-side.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { GROUP = 65432, OTHER = 65433, USER = 65534 };

static char spool[64];

static void write_group(const char *text)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/addgrpid", spool);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static int set_up(void **state)
{
    strcpy(spool, "/tmp/mprun-test-spool.XXXXXX");
    return mkdtemp(spool) && chmod(spool, 0755) == 0 && setenv("SGE_JOB_SPOOL_DIR", spool, 1) == 0
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/addgrpid", spool);
    unlink(path);
    return rmdir(spool);
}

/* What an ordinary user's process with this group is told: 0, 1, or 2 for another sentence. */
static int asked_with(gid_t group)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        char text[160] = "";
        if (setgroups(1, &group) < 0 || setuid(USER) < 0)
            _exit(9);
        int found = rm_starter_side_is_tracked(text, sizeof(text));
        _exit(found && !strstr(text, "by their group 65432") ? 2 : found);
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_group_is_evidence(void **state)
{
    if (getuid() != 0)
        skip();
    write_group("65432\n");
    assert_int_equal(asked_with(GROUP), 1);
    assert_int_equal(asked_with(OTHER), 0);
}

static void what_a_user_can_write_is_none(void **state)
{
    if (getuid() != 0)
        skip();
    write_group("65432\n");
    assert_return_code(chown(spool, USER, (gid_t)-1), errno);
    assert_int_equal(asked_with(GROUP), 0);
}

static void nothing_is_made_of_nothing(void **state)
{
    char text[160];
    assert_false(rm_starter_side_is_tracked(text, sizeof(text))); /* no file */
    static const char *const bad[] = {"", "\n", "0\n", "-5\n", "1e3\n", "99999999999999999999\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        write_group(bad[i]);
        assert_false(rm_starter_side_is_tracked(text, sizeof(text)));
    }
    unsetenv("SGE_JOB_SPOOL_DIR");
    assert_false(rm_starter_side_is_tracked(text, sizeof(text)));
    setenv("SGE_JOB_SPOOL_DIR", "relative", 1);
    assert_false(rm_starter_side_is_tracked(text, sizeof(text)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_group_is_evidence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_user_can_write_is_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_made_of_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
