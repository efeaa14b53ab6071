/* SPDX-License-Identifier: BSD-3-Clause */
/* test-cache.c - contents kept on a host: hit, miss, eviction, writers at the same time, what
 * others have left there, a full file system */
#include "starter/preload/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char base[64], where[80];
static struct error err;

static int enter(void **state)
{
    strcpy(base, "/tmp/mprun-test-cache-XXXXXX");
    err = (struct error){0};
    if (sodium_init() < 0 || !mkdtemp(base))
        return -1;
    snprintf(where, sizeof(where), "%s/cache", base);
    return 0;
}

static int leave(void **state)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", base);
    return system(command) == 0 ? 0 : -1;
}

/* ---- helpers --------------------------------------------------------------------------------- */

/* n bytes of this letter */
static struct content content_of(char letter, size_t n)
{
    struct content c = {.size = n};
    char *data = malloc(n + 1);
    memset(data, letter, n);
    crypto_generichash(c.hash, CONTENT_HASH, (uint8_t *)data, n, NULL, 0);
    free(data);
    return c;
}

static struct cache *open_it(uint64_t limit)
{
    struct cache *c = cache_open(where, limit, &err);
    if (!c)
        print_error("%s\n", err.text);
    assert_non_null(c);
    return c;
}

static int write_it(struct cache_file *f, char letter, size_t n)
{
    char data[1000];
    memset(data, letter, sizeof(data));
    for (size_t part; n > 0; n -= part) {
        part = n < sizeof(data) ? n : sizeof(data);
        if (cache_write(f, data, part, &err) < 0)
            return -1;
    }
    return 0;
}

static void store(struct cache *c, char letter, size_t n)
{
    struct content what = content_of(letter, n);
    struct cache_file *f = cache_create(c, &what, &err);
    assert_non_null(f);
    assert_int_equal(write_it(f, letter, n), 0);
    int fd = cache_finish(f, &err);
    assert_true(fd >= 0);
    close(fd);
}

static int has(struct cache *c, char letter, size_t n)
{
    struct content what = content_of(letter, n);
    int fd = cache_find(c, &what);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static unsigned count_files(void)
{
    unsigned n = 0;
    DIR *d = opendir(where);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* Where the only file is. */
static void only_path(char *ret, size_t size)
{
    DIR *d = opendir(where);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.')
            snprintf(ret, size, "%s/%s", where, e->d_name);
    closedir(d);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void what_was_stored_is_found_and_nothing_else(void **state)
{
    struct cache *c = open_it(1 << 20);
    struct content what = content_of('a', 5000);
    struct stat st;
    char data[16];
    assert_false(has(c, 'a', 5000));
    store(c, 'a', 5000);
    int fd = cache_find(c, &what);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0400);
    assert_int_equal(read(fd, data, sizeof(data)), sizeof(data));
    assert_memory_equal(data, "aaaaaaaaaaaaaaaa", 16);
    close(fd);
    assert_false(has(c, 'b', 5000));
    what.executable = 1; /* another file: permissions are shared by all names */
    assert_int_equal(cache_find(c, &what), -1);
    what.executable = 0;
    what.size++;
    assert_int_equal(cache_find(c, &what), -1);
    cache_close(c);
}

static void another_user_of_the_directory_finds_it_too(void **state)
{
    struct cache *one = open_it(1 << 20), *other = open_it(1 << 20);
    store(one, 'a', 100);
    cache_close(one);
    assert_true(has(other, 'a', 100));
    cache_empty(other);
    assert_false(has(other, 'a', 100));
    assert_int_equal(count_files(), 0);
    cache_close(other);
}

static void what_was_not_used_for_longest_goes_first(void **state)
{
    struct cache *c = open_it(3000);
    store(c, 'a', 1000);
    store(c, 'b', 1000);
    store(c, 'c', 1000);
    assert_true(has(c, 'a', 1000)); /* used now */
    store(c, 'd', 1000);
    assert_false(has(c, 'b', 1000));
    assert_true(has(c, 'a', 1000));
    assert_true(has(c, 'c', 1000));
    assert_true(has(c, 'd', 1000));
    cache_close(c);
}

static void an_open_file_survives_its_eviction(void **state)
{
    struct cache *c = open_it(1000);
    struct content what = content_of('a', 1000);
    char data[1000];
    store(c, 'a', 1000);
    int fd = cache_find(c, &what);
    store(c, 'b', 1000);
    assert_false(has(c, 'a', 1000));
    assert_int_equal(read(fd, data, sizeof(data)), 1000);
    assert_int_equal(data[999], 'a');
    close(fd);
    cache_close(c);
}

static void one_that_is_larger_than_the_cache_is_usable_and_does_not_stay(void **state)
{
    struct cache *c = open_it(1000);
    struct content what = content_of('a', 5000);
    store(c, 'b', 500);
    struct cache_file *f = cache_create(c, &what, &err);
    assert_non_null(f);
    assert_int_equal(write_it(f, 'a', 5000), 0);
    int fd = cache_finish(f, &err);
    assert_true(fd >= 0);
    cache_trim(c, 0);
    assert_int_equal(count_files(), 0);
    assert_int_equal(lseek(fd, 0, SEEK_END), 5000);
    close(fd);
    cache_close(c);
}

static void another_content_than_announced_is_refused(void **state)
{
    struct cache *c = open_it(1 << 20);
    struct content what = content_of('a', 1000);
    struct cache_file *f = cache_create(c, &what, &err);
    assert_int_equal(write_it(f, 'b', 1000), 0);
    assert_int_equal(cache_finish(f, &err), -1);
    assert_int_equal(err.code, EBADMSG);
    f = cache_create(c, &what, &err); /* too short */
    assert_int_equal(write_it(f, 'a', 999), 0);
    assert_int_equal(cache_finish(f, &err), -1);
    f = cache_create(c, &what, &err); /* too long */
    assert_int_equal(write_it(f, 'a', 1000), 0);
    assert_int_equal(cache_write(f, "a", 1, &err), -1);
    cache_drop(f);
    assert_int_equal(count_files(), 0);
    assert_false(has(c, 'a', 1000));
    cache_close(c);
}

static void a_file_that_was_changed_is_not_believed(void **state)
{
    struct cache *c = open_it(1 << 20);
    char path[256];
    store(c, 'a', 1000);
    only_path(path, sizeof(path));
    assert_int_equal(chmod(path, 0600), 0);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "b", 1, 500), 1);
    fchmod(fd, 0400);
    close(fd);
    assert_false(has(c, 'a', 1000));
    assert_int_equal(count_files(), 0);
    store(c, 'a', 1000);
    assert_int_equal(truncate(path, 0), geteuid() == 0 ? 0 : -1);
    if (geteuid() == 0)
        assert_false(has(c, 'a', 1000));
    cache_close(c);
}

static void names_that_lead_elsewhere_are_not_followed(void **state)
{
    struct cache *c = open_it(1 << 20);
    char path[256], secret[100];
    struct stat st;
    snprintf(secret, sizeof(secret), "%s/secret", base);
    store(c, 'a', 1000);
    only_path(path, sizeof(path));
    assert_int_equal(rename(path, secret), 0);
    assert_int_equal(symlink(secret, path), 0); /* even to the right content */
    assert_false(has(c, 'a', 1000));
    assert_int_equal(lstat(path, &st), -1);
    assert_int_equal(stat(secret, &st), 0);
    assert_int_equal(mkfifo(path, 0400), 0); /* must not wait for a writer */
    assert_false(has(c, 'a', 1000));
    store(c, 'a', 1000);
    assert_true(has(c, 'a', 1000));
    cache_close(c);
}

static void other_files_are_left_alone(void **state)
{
    struct cache *c = open_it(1000);
    char path[256];
    static const char *const names[] = {"README", "new-", "..x", "0123", "new-0123"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", where, names[i]);
        close(open(path, O_WRONLY | O_CREAT, 0600));
    }
    store(c, 'a', 1000);
    store(c, 'b', 1000);
    cache_empty(c);
    assert_int_equal(count_files(), 4); /* one begins with a dot */
    cache_close(c);
}

static void what_a_killed_writer_left_goes(void **state)
{
    struct cache *c = open_it(1 << 20);
    struct content what = content_of('b', 1000);
    static const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    char dead[256], live[256];
    struct stat st;
    snprintf(dead, sizeof(dead), "%s/new-1234567812345678", where);
    close(open(dead, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(utimensat(AT_FDCWD, dead, old, 0), 0);
    struct cache_file *f = cache_create(c, &what, &err); /* looks at all that is there */
    assert_int_equal(lstat(dead, &st), -1);
    only_path(live, sizeof(live));
    assert_int_equal(utimensat(AT_FDCWD, live, old, 0), 0);
    cache_trim(c, 0); /* this one is being written */
    assert_int_equal(lstat(live, &st), 0);
    cache_drop(f);
    assert_int_equal(count_files(), 0);
    cache_close(c);
}

static void write_in_a_child(char letter)
{
    struct cache *c = cache_open(where, 1 << 20, &err);
    struct content what = content_of(letter, 100000);
    int fd = -1;
    for (int i = 0; c && i < 20; i++) {
        struct cache_file *f = cache_create(c, &what, &err);
        fd = f && write_it(f, letter, 100000) == 0 ? cache_finish(f, &err) : -1;
        if (fd < 0 || lseek(fd, 0, SEEK_END) != 100000)
            _exit(1);
        close(fd);
        if (i % 5 == 4)
            cache_empty(c);
    }
    _exit(fd < 0);
}

static void writers_at_the_same_time_get_what_they_wrote(void **state)
{
    pid_t pids[6];
    struct cache *c = open_it(1 << 20);
    for (int i = 0; i < 6; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            write_in_a_child(i < 4 ? 'a' : 'b');
    }
    for (int i = 0; i < 6; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    cache_empty(c);
    assert_int_equal(count_files(), 0); /* nobody left a half */
    cache_close(c);
}

static void a_directory_that_others_may_enter_is_refused(void **state)
{
    assert_int_equal(mkdir(where, 0700), 0);
    assert_int_equal(chmod(where, 0755), 0);
    assert_null(cache_open(where, 1000, &err));
    assert_non_null(strstr(err.text, "others must not enter it"));
    assert_int_equal(rmdir(where), 0);
    assert_int_equal(symlink("/tmp", where), 0);
    assert_null(cache_open(where, 1000, &err));
}

/* ---- a full file system ---------------------------------------------------------------------- */

static int fill(void)
{
    struct cache *c = cache_open(where, 1 << 30, &err);
    struct content small = content_of('a', 600000), large = content_of('b', 900000),
                   huge = content_of('c', 2000000);
    struct cache_file *f;
    if (!c || !(f = cache_create(c, &small, &err)) || write_it(f, 'a', 600000) < 0)
        return 1;
    close(cache_finish(f, &err));
    /* there is room for it when the other one goes */
    if (!(f = cache_create(c, &large, &err)) || write_it(f, 'b', 900000) < 0)
        return 2;
    close(cache_finish(f, &err));
    if (has(c, 'a', 600000) || !has(c, 'b', 900000))
        return 3;
    if (cache_create(c, &huge, &err) || err.code != ENOSPC || !strstr(err.text, where))
        return 4;
    return count_files() == 0 ? 0 : 5;
}

static void a_full_file_system_is_an_error_and_nothing_stays(void **state)
{
    if (geteuid() != 0)
        skip();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mkdir(where, 0700) < 0 || mount("cache", where, "tmpfs", 0, "size=1m,mode=700") < 0)
            _exit(77);
        _exit(fill());
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(what_was_stored_is_found_and_nothing_else),
        TEST(another_user_of_the_directory_finds_it_too),
        TEST(what_was_not_used_for_longest_goes_first),
        TEST(an_open_file_survives_its_eviction),
        TEST(one_that_is_larger_than_the_cache_is_usable_and_does_not_stay),
        TEST(another_content_than_announced_is_refused),
        TEST(a_file_that_was_changed_is_not_believed),
        TEST(names_that_lead_elsewhere_are_not_followed),
        TEST(other_files_are_left_alone),
        TEST(what_a_killed_writer_left_goes),
        TEST(writers_at_the_same_time_get_what_they_wrote),
        TEST(a_directory_that_others_may_enter_is_refused),
        TEST(a_full_file_system_is_an_error_and_nothing_stays),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
