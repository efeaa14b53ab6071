/* SPDX-License-Identifier: BSD-3-Clause */
/* test-path.c - our directories in places that others can write: links, foreign owners, mounts */
#include "common/files/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY = 65534 };

static char base[64]; /* a new directory per test, and the current one */
static struct error err;

static int enter(void **state)
{
    strcpy(base, "/tmp/mprun-test-path-XXXXXX");
    err = (struct error){0};
    umask(022);
    return mkdtemp(base) && chdir(base) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", base);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void make(const char *path)
{
    assert_int_equal(mkdir(path, 0755), 0);
}

static void make_file(const char *path)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
    assert_true(fd >= 0);
    close(fd);
}

static int is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void assert_says(const char *part)
{
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
}

static void a_private_directory_is_new_and_closed_to_others(void **state)
{
    struct stat st;
    int fd = path_make_private("d", &err);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    assert_int_equal(path_make_private("d", &err), -1);
    assert_int_equal(err.code, EEXIST);
    assert_says("make directory 'd'");
    make("elsewhere");
    assert_int_equal(symlink("elsewhere", "link"), 0);
    assert_int_equal(path_make_private("link", &err), -1);
    assert_int_equal(err.code, EEXIST);
}

static void a_private_directory_that_cannot_be_opened_is_not_left(void **state)
{
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(path_make_private("unopened", &err), -1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_says("open the new directory 'unopened': Too many open files (ulimit -n)");
    assert_false(is_there("unopened"));
}

static void missing_parents_are_made_and_an_own_directory_is_used_again(void **state)
{
    struct stat st;
    int fd = path_ensure_private("a/b//c/", &err);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(stat("a/b", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    fd = path_ensure_private("a/b/c", &err);
    assert_true(fd >= 0);
    close(fd);
}

static void a_directory_open_to_others_or_behind_a_link_is_refused(void **state)
{
    make("open");
    assert_int_equal(path_ensure_private("open", &err), -1);
    assert_says("mode is 0755");
    assert_int_equal(mkdir("closed", 0700), 0);
    assert_int_equal(symlink("closed", "link"), 0);
    assert_int_equal(path_ensure_private("link", &err), -1);
    assert_says("not a directory");
    make_file("file");
    assert_int_equal(path_ensure_private("file", &err), -1);
    assert_says("not a directory");
    assert_int_equal(path_ensure_private("file/below", &err), -1);
}

static void somebody_elses_directory_is_refused(void **state)
{
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir("theirs", 0700), 0);
    assert_int_equal(chown("theirs", NOBODY, NOBODY), 0);
    assert_int_equal(path_ensure_private("theirs", &err), -1);
    assert_int_equal(err.code, EPERM);
    assert_says("belongs to user 65534");
}

static void what_is_not_there_is_removed_already(void **state)
{
    assert_int_equal(path_remove_tree("nothing", &err), 0);
    assert_int_equal(path_remove_tree("nothing/below/it", &err), 0);
    assert_int_equal(path_remove_tree("nothing", NULL), 0);
}

static void names_that_are_no_names_are_refused(void **state)
{
    assert_int_equal(path_remove_tree("/", &err), -1);
    assert_int_equal(path_remove_tree(".", &err), -1);
    make("d");
    assert_int_equal(path_remove_tree("d/..", &err), -1);
    assert_int_equal(path_remove_tree("d/.", &err), -1);
    assert_int_equal(path_remove_tree("", &err), -1);
    assert_true(is_there("d"));
}

static void a_tree_goes_with_files_links_and_pipes(void **state)
{
    make("t");
    make("t/deep");
    make("t/deep/er");
    make_file("t/deep/er/file");
    make_file("t/other");
    assert_int_equal(mkfifo("t/deep/pipe", 0600), 0);
    assert_int_equal(symlink("nowhere", "t/dangling"), 0);
    assert_int_equal(path_remove_tree("t/", &err), 0);
    assert_false(is_there("t"));
    make_file("single");
    char absolute[128];
    snprintf(absolute, sizeof(absolute), "%s/single", base);
    assert_int_equal(path_remove_tree(absolute, &err), 0);
    assert_false(is_there("single"));
}

static void links_are_removed_and_never_followed(void **state)
{
    make("victim");
    make_file("victim/precious");
    make("t");
    assert_int_equal(symlink("../victim", "t/link"), 0);
    char absolute[128];
    snprintf(absolute, sizeof(absolute), "%s/victim", base);
    assert_int_equal(symlink(absolute, "t/absolute"), 0);
    assert_int_equal(symlink("../victim/precious", "t/file"), 0);
    assert_int_equal(path_remove_tree("t", &err), 0);
    assert_false(is_there("t"));
    assert_true(is_there("victim/precious"));
    assert_int_equal(symlink("victim", "top"), 0);
    assert_int_equal(path_remove_tree("top", &err), 0); /* the link itself */
    assert_false(is_there("top"));
    assert_true(is_there("victim/precious"));
}

/* Run fn as an ordinary user: root may enter and change everything. */
static int as_nobody(int (*fn)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
            _exit(99);
        _exit(fn());
    }
    int status;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int remove_closed_directories(void)
{
    struct error e;
    if (mkdir("t", 0755) < 0 || mkdir("t/r", 0755) < 0 || mkdir("t/r/none", 0755) < 0)
        return 1;
    int fd = open("t/r/none/file", O_CREAT | O_WRONLY, 0400);
    if (fd < 0 || chmod("t/r/none", 0) < 0 || chmod("t/r", 0500) < 0 || chmod("t", 0500) < 0)
        return 2;
    return path_remove_tree("t", &e) < 0 ? 3 : is_there("t") ? 4 : 0;
}

static void own_directories_that_are_read_only_or_closed_go_too(void **state)
{
    assert_int_equal(chmod(".", 0777), 0);
    assert_int_equal(as_nobody(remove_closed_directories), 0);
}

static void what_others_own_stays_and_is_named(void **state)
{
    if (geteuid() != 0)
        skip();
    make("t");
    make("t/theirs");
    make_file("t/theirs/file");
    make_file("t/mine");
    assert_int_equal(chown("t/theirs", NOBODY, NOBODY), 0);
    assert_int_equal(chown("t/theirs/file", NOBODY, NOBODY), 0);
    assert_int_equal(path_remove_tree("t", &err), -1); /* root, but "we" are not NOBODY */
    assert_says("remove 't/theirs/file': it belongs to user 65534");
    assert_true(is_there("t/theirs/file"));
    assert_false(is_there("t/mine")); /* all that could go went */
    assert_int_equal(unlink("t/theirs/file"), 0);
    /* theirs lies in a directory of ours: it goes once it is empty */
    assert_int_equal(path_remove_tree("t", &err), 0);
    assert_false(is_there("t"));
}

static void a_top_that_others_own_is_refused(void **state)
{
    if (geteuid() != 0)
        skip();
    make("theirs");
    assert_int_equal(chown("theirs", NOBODY, NOBODY), 0);
    assert_int_equal(path_remove_tree("theirs", &err), -1);
    assert_says("belongs to user 65534");
    assert_true(is_there("theirs"));
}

/* In a mount namespace of its own: 77 when we may not have one. */
static int remove_over_mounts(int bind)
{
    struct error e = {0};
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return 77;
    if (mkdir("t", 0755) < 0 || mkdir("t/mnt", 0755) < 0 || mkdir("real", 0755) < 0)
        return 1;
    if (mount(bind ? "real" : "none", "t/mnt", bind ? NULL : "tmpfs", bind ? MS_BIND : 0, NULL) < 0)
        return 77;
    close(open("t/mnt/precious", O_CREAT | O_WRONLY, 0644));
    if (path_remove_tree("t", &e) == 0 || !is_there("t/mnt/precious"))
        return 2;
    if (!strstr(e.text, "remove 't/mnt': another file system is mounted there"))
        return 3;
    if (path_remove_tree("t/mnt", &e) == 0 || !is_there("t/mnt/precious"))
        return 4; /* named as the top: not entered either */
    return 0;
}

static void assert_mounts_are_kept(int bind)
{
    fflush(NULL);
    pid_t pid = fork();
    int status;
    if (pid == 0)
        _exit(remove_over_mounts(bind));
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void another_file_system_is_not_entered(void **state)
{
    assert_mounts_are_kept(0);
}

static void a_bind_mount_of_the_same_file_system_is_not_entered(void **state)
{
    assert_mounts_are_kept(1);
}

static void very_deep_trees_are_refused_without_running_out(void **state)
{
    make("t");
    int fd = open("t", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 400; i++) {
        assert_int_equal(mkdirat(fd, "d", 0755), 0);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
        close(fd);
        fd = next;
    }
    close(fd);
    assert_int_equal(path_remove_tree("t", &err), -1);
    assert_says("nested too deep");
}

static void a_helper_is_found_beside_this_program_or_at_the_fallback(void **state)
{
    char *own = path_own_directory(&err);
    assert_non_null(own);
    assert_int_equal(own[0], '/');
    const char *const beside[] = {"no-such-program", "test-path", NULL};
    char *found = path_find_helper(beside, NULL, &err);
    assert_non_null(found);
    assert_int_equal(strncmp(found, own, strlen(own)), 0);
    free(found);
    const char *const nowhere[] = {"no-such-program", NULL};
    found = path_find_helper(nowhere, "/bin/sh", &err);
    assert_string_equal(found, "/bin/sh");
    free(found);
    assert_null(path_find_helper(nowhere, "/etc/passwd", &err)); /* not executable */
    assert_says("find 'no-such-program'");
    free(own);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)

/* ---- beneath --------------------------------------------------------------------------------- */

static void names_that_lead_elsewhere_are_none_beneath(void **state)
{
    static const char *const good[] = {"a", "a/b", "...", "a/..b", ".a/b.", "a b/\n"};
    static const char *const bad[] = {"",   "/",    "/a",  "a/",   "a//b",   ".",
                                      "..", "../a", "a/.", "a/..", "a/../b", "./a"};
    char longest[300];
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_true(path_is_beneath(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(path_is_beneath(bad[i]));
    memset(longest, 'a', 256);
    longest[256] = 0;
    assert_false(path_is_beneath(longest));
    assert_true(path_is_beneath(longest + 1));
}

static void directories_are_made_beneath_and_links_are_not_followed(void **state)
{
    const char *last;
    struct stat st;
    int dir = open(".", O_RDONLY | O_DIRECTORY);
    int fd = path_make_beneath(dir, "a/b/file", &last, &err);
    assert_true(fd >= 0);
    assert_string_equal(last, "file");
    assert_int_equal(stat("a/b", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    close(fd);
    fd = path_make_beneath(dir, "file", &last, &err);
    assert_true(fd >= 0);
    close(fd);
    make("elsewhere");
    assert_int_equal(symlink("../elsewhere", "a/link"), 0);
    assert_int_equal(path_make_beneath(dir, "a/link/file", &last, &err), -1);
    assert_int_equal(path_make_beneath(dir, "a/link/b/file", &last, &err), -1);
    assert_int_equal(stat("elsewhere/b", &st), -1);
    assert_int_equal(path_make_beneath(dir, "../file", &last, &err), -1);
    close(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_private_directory_is_new_and_closed_to_others),
        TEST(a_private_directory_that_cannot_be_opened_is_not_left),
        TEST(missing_parents_are_made_and_an_own_directory_is_used_again),
        TEST(a_directory_open_to_others_or_behind_a_link_is_refused),
        TEST(somebody_elses_directory_is_refused),
        TEST(what_is_not_there_is_removed_already),
        TEST(names_that_are_no_names_are_refused),
        TEST(a_tree_goes_with_files_links_and_pipes),
        TEST(links_are_removed_and_never_followed),
        TEST(own_directories_that_are_read_only_or_closed_go_too),
        TEST(what_others_own_stays_and_is_named),
        TEST(a_top_that_others_own_is_refused),
        TEST(another_file_system_is_not_entered),
        TEST(a_bind_mount_of_the_same_file_system_is_not_entered),
        TEST(very_deep_trees_are_refused_without_running_out),
        cmocka_unit_test(a_helper_is_found_beside_this_program_or_at_the_fallback),
        cmocka_unit_test(names_that_lead_elsewhere_are_none_beneath),
        TEST(directories_are_made_beneath_and_links_are_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
