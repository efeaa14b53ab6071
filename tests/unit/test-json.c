/* SPDX-License-Identifier: BSD-3-Clause */
/* test-json.c - documents as written, odd text and numbers, and files replaced in one go */
#include "common/files/json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/files/fdio.h"

static char directory[] = "/tmp/mprun-test-json.XXXXXX";
static char file[64];

static int make_directory(void **state)
{
    if (!mkdtemp(directory))
        return -1;
    snprintf(file, sizeof(file), "%s/report", directory);
    return 0;
}

static int remove_directory(void **state)
{
    unlink(file);
    return rmdir(directory); /* fails when a temporary file was left there */
}

/* Takes j. */
static void assert_written(struct json *j, const char *want)
{
    struct error err;
    assert_int_equal(json_write_file(j, file, &err), 0);
    char *text = file_slurp_at(AT_FDCWD, file, 1 << 20, NULL);
    assert_non_null(text);
    assert_string_equal(text, want);
    free(text);
}

static void a_document_keeps_its_order_and_types(void **state)
{
    struct json *j = json_new_object(), *list = json_new_array();
    json_put_string(j, "step", "a\"b");
    json_put_int(j, "bytes", 9007199254740993LL);
    json_put_real(j, "seconds", 0.5);
    json_put_bool(j, "ok", 1);
    json_put_bool(list, NULL, 0);
    json_put_int(list, NULL, -1);
    json_put(j, "list", list);
    assert_written(j, "{\n"
                      "  \"step\": \"a\\\"b\",\n"
                      "  \"bytes\": 9007199254740993,\n"
                      "  \"seconds\": 0.5,\n"
                      "  \"ok\": true,\n"
                      "  \"list\": [\n"
                      "    false,\n"
                      "    -1\n"
                      "  ]\n"
                      "}\n");
}

static void what_is_no_number_or_text_is_absent_and_null_in_a_list(void **state)
{
    struct json *j = json_new_object(), *list = json_new_array();
    json_put_real(j, "nan", NAN);
    json_put_string(j, "none", NULL);
    json_put_real(list, NULL, INFINITY);
    json_put(j, "list", list);
    assert_written(j, "{\n  \"list\": [\n    null\n  ]\n}\n");
}

static void bytes_that_are_no_utf8_are_replaced_one_by_one(void **state)
{
    struct json *j = json_new_array();
    json_put_string(j, NULL, "\xc3\xa4 \xf0\x9f\x98\x80"); /* valid */
    json_put_string(j, NULL, "a\xff\xc3");                 /* never valid; cut off at the end */
    json_put_string(j, NULL, "\xc0\xaf");                  /* overlong */
    json_put_string(j, NULL, "\xed\xa0\x80");              /* a surrogate */
    json_put_string(j, NULL, "\xf4\x90\x80\x80");          /* beyond Unicode */
#define BAD "\xef\xbf\xbd"
    assert_written(j, "[\n"
                      "  \"\xc3\xa4 \xf0\x9f\x98\x80\",\n"
                      "  \"a" BAD BAD "\",\n"
                      "  \"" BAD BAD "\",\n"
                      "  \"" BAD BAD BAD "\",\n"
                      "  \"" BAD BAD BAD BAD "\"\n"
                      "]\n");
}

static void an_old_file_is_replaced_and_a_link_is_followed(void **state)
{
    char link[80];
    struct stat before, after;
    struct error err;
    snprintf(link, sizeof(link), "%s/link", directory);
    assert_written(json_new_array(), "[]\n");
    assert_int_equal(stat(file, &before), 0);
    assert_int_equal(symlink("report", link), 0);
    struct json *j = json_new_object();
    assert_int_equal(json_write_file(j, link, &err), 0);
    assert_int_equal(lstat(link, &after), 0);
    assert_true(S_ISLNK(after.st_mode));
    assert_int_equal(stat(file, &after), 0);
    assert_true(after.st_ino != before.st_ino); /* a new file, moved there */
    assert_int_equal(after.st_size, 3);
    unlink(link);
}

static void a_device_is_written_to_and_stays(void **state)
{
    struct error err;
    struct stat st;
    struct json *j = json_new_object();
    assert_int_equal(json_write_file(j, "/dev/null", &err), 0);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

static void a_file_that_cannot_be_made_is_named_with_the_reason(void **state)
{
    struct error err;
    struct json *j = json_new_object();
    assert_int_equal(json_write_file(j, "/nonexistent/report", &err), -1);
    assert_int_equal(err.code, ENOENT);
    assert_non_null(strstr(err.text, "'/nonexistent/report"));
    assert_non_null(strstr(err.text, "No such file"));
    json_free(NULL);
    /* and that is known before */
    assert_int_equal(json_may_write("/nonexistent/report", &err), -1);
    assert_int_equal(err.code, ENOENT);
    assert_int_equal(json_may_write(directory, &err), -1);
    assert_int_equal(err.code, EISDIR);
    assert_int_equal(json_may_write("/dev/null", &err), 0);
    assert_int_equal(json_may_write("-", &err), 0);
    assert_int_equal(json_may_write("report", &err), 0);
    assert_int_equal(json_may_write(file, &err), 0);
}

int main(void)
{
    struct error err;
    if (json_available(&err) < 0) {
        printf("1..0 # SKIP %s\n", err.text);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_keeps_its_order_and_types),
        cmocka_unit_test(what_is_no_number_or_text_is_absent_and_null_in_a_list),
        cmocka_unit_test(bytes_that_are_no_utf8_are_replaced_one_by_one),
        cmocka_unit_test(an_old_file_is_replaced_and_a_link_is_followed),
        cmocka_unit_test(a_device_is_written_to_and_stays),
        cmocka_unit_test(a_file_that_cannot_be_made_is_named_with_the_reason),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
