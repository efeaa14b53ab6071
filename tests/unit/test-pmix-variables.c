/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/files/path.h"
#include "common/text/words.h"
#include "starter/pmi/pmix-variables.h"

static char top[64], library[128], mppmi[128], list[128];

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* The list beside mppmi, with the library as it is but for so many bytes. */
static void write_list(long long more, const char *variables)
{
    struct stat st;
    char text[1024];
    assert_int_equal(stat(library, &st), 0);
    snprintf(text, sizeof(text), "library %s %lld %lld\n%s", library, (long long)st.st_size + more,
             (long long)st.st_mtime, variables);
    write_file(list, text);
}

static char **foresee(void)
{
    return pmix_variables_foresee(mppmi, &(struct pmix_world){"name.of.it", "n1", "/dir", 4711});
}

static void assert_unknown(void)
{
    assert_null(foresee());
}

static int set_up(void **state)
{
    snprintf(top, sizeof(top), "/tmp/test-pmix-variables.XXXXXX");
    if (!mkdtemp(top))
        return -1;
    snprintf(library, sizeof(library), "%s/libpmix.so.2", top);
    snprintf(mppmi, sizeof(mppmi), "%s/mppmi", top);
    snprintf(list, sizeof(list), "%s/pmix-variables", top);
    setenv("HOME", top, 1);
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("LD_PRELOAD");
    write_file(library, "a library");
    write_list(0, "A=@NSPACE@ at @PORT@\nB=@DIRECTORY@/@HOST@/@\n");
    return 0;
}

static int tear_down(void **state)
{
    struct error err;
    return path_remove_tree(top, &err);
}

static void blanks_are_filled_in(void **state)
{
    char **v = foresee();
    assert_non_null(v);
    assert_string_equal(v[0], "A=name.of.it at 4711");
    assert_string_equal(v[1], "B=/dir/n1/@");
    assert_null(v[2]);
    words_free(v);
}

static void another_library_is_not_foreseen(void **state)
{
    write_list(1, "A=1\n");
    assert_unknown();
    unlink(library);
    assert_unknown();
}

static void a_library_that_goes_before_is_seen(void **state)
{
    char path[256], other[128], copy[192];
    snprintf(other, sizeof(other), "%s/other", top);
    mkdir(other, 0700);
    snprintf(path, sizeof(path), "/nonexistent:%s", other);
    setenv("LD_LIBRARY_PATH", path, 1);
    char **v = foresee();
    assert_non_null(v);
    words_free(v);
    snprintf(copy, sizeof(copy), "%s/libpmix.so.2", other);
    write_file(copy, "another");
    assert_unknown();
}

static void parameters_may_change_everything(void **state)
{
    char directory[128], file[160];
    setenv("PMIX_MCA_gds", "hash", 1);
    assert_unknown();
    unsetenv("PMIX_MCA_gds");
    setenv("LD_PRELOAD", "/lib/libpmix.so.2", 1);
    assert_unknown();
    unsetenv("LD_PRELOAD");
    snprintf(directory, sizeof(directory), "%s/.pmix", top);
    snprintf(file, sizeof(file), "%s/mca-params.conf", directory);
    mkdir(directory, 0700);
    write_file(file, "");
    assert_unknown();
}

static void files_that_may_not_grow_are_another_case(void **state)
{
    struct rlimit size, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &size), 0);
    small = (struct rlimit){1 << 20, size.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    char **v = foresee();
    setrlimit(RLIMIT_FSIZE, &size);
    assert_null(v);
}

static void a_list_that_is_missing_or_empty_says_nothing(void **state)
{
    write_list(0, "");
    assert_unknown();
    write_file(list, "");
    assert_unknown();
    write_file(list, "A=1\nB=2\n");
    assert_unknown();
    unlink(list);
    assert_unknown();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(blanks_are_filled_in),
        TEST(another_library_is_not_foreseen),
        TEST(a_library_that_goes_before_is_seen),
        TEST(parameters_may_change_everything),
        TEST(files_that_may_not_grow_are_another_case),
        TEST(a_list_that_is_missing_or_empty_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
