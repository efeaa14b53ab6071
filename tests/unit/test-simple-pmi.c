/* SPDX-License-Identifier: BSD-3-Clause */
#include <search.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pmix-server/simple-pmi/fields.h"
#include "pmix-server/simple-pmi/kvs.h"

static void a_line_is_cut_into_fields(void **state)
{
    char text[] = "cmd=put kvsname=world-0  key=a value=b=c";
    struct pmi_fields l;
    assert_int_equal(pmi1_cut(text, &l), 0);
    assert_int_equal(l.n, 4);
    assert_string_equal(pmi_field(&l, "cmd"), "put");
    assert_string_equal(pmi_field(&l, "value"), "b=c");
    assert_null(pmi_field(&l, "val"));
}

static void damaged_lines_are_refused(void **state)
{
    static const char *const bad[] = {"", " ", "cmd", "cmd=put key", "=put", "cmd=a =b"};
    struct pmi_fields l;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%s", bad[i]);
        if (pmi1_cut(text, &l) == 0)
            fail_msg("'%s' was taken", bad[i]);
    }
    char many[PMI_FIELDS_MAX * 4 + 8] = "";
    for (int i = 0; i < PMI_FIELDS_MAX; i++)
        strcat(many, "a=b ");
    char too_many[sizeof(many)];
    snprintf(too_many, sizeof(too_many), "%sa=b", many);
    assert_int_equal(pmi1_cut(many, &l), 0);
    assert_int_equal(pmi1_cut(too_many, &l), -1);
}

static void a_message_of_pmi2_is_cut_and_its_semicolons_are_single(void **state)
{
    char text[] = "cmd=kvs-put;key=a;value=b;;c=;;;empty=;";
    struct pmi_fields m;
    assert_int_equal(pmi2_cut(text, &m), 0);
    assert_int_equal(m.n, 4);
    assert_string_equal(pmi_field(&m, "cmd"), "kvs-put");
    assert_string_equal(pmi_field(&m, "value"), "b;c=;");
    assert_string_equal(pmi_field(&m, "empty"), "");
    static const char *const bad[] = {"",        ";",        "cmd",       "cmd=a",
                                      "cmd=a;b", "cmd=a;b;", "cmd=a;=b;", "cmd=a;;"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char copy[64];
        snprintf(copy, sizeof(copy), "%s", bad[i]);
        if (pmi2_cut(copy, &m) == 0)
            fail_msg("'%s' was taken", bad[i]);
    }
}

static void numbers_are_whole_and_bounded(void **state)
{
    char text[] = "a=7 b=-7 c=7x d= e=1001 f=- g=99999999999999999999";
    struct pmi_fields l;
    int n = 0;
    assert_int_equal(pmi1_cut(text, &l), 0);
    assert_int_equal(pmi_number(&l, "a", 1000, &n), 0);
    assert_int_equal(n, 7);
    assert_int_equal(pmi_number(&l, "b", 1000, &n), 0);
    assert_int_equal(n, -7);
    assert_int_equal(pmi_number(&l, "c", 1000, &n), -1);
    assert_int_equal(pmi_number(&l, "d", 1000, &n), -1);
    assert_int_equal(pmi_number(&l, "e", 1000, &n), -1);
    assert_int_equal(pmi_number(&l, "f", 1000, &n), -1);
    assert_int_equal(pmi_number(&l, "g", 1000, &n), -1);
    assert_int_equal(pmi_number(&l, "none", 1000, &n), -1);
}

static void values_are_found_and_replaced(void **state)
{
    struct kvs k = {.root = NULL};
    assert_null(kvs_get(&k, "a"));
    for (int i = 0; i < 1000; i++) {
        char key[16], value[16];
        snprintf(key, sizeof(key), "key-%d", i);
        snprintf(value, sizeof(value), "%d", i * 7);
        assert_int_equal(kvs_put(&k, key, value), 0);
    }
    assert_string_equal(kvs_get(&k, "key-999"), "6993");
    assert_int_equal(kvs_put(&k, "key-999", "new"), 0);
    assert_string_equal(kvs_get(&k, "key-999"), "new");
    assert_string_equal(kvs_get(&k, "key-0"), "0");
    tdestroy(k.root, free);
}

static void pairs_travel_between_hosts(void **state)
{
    struct buffer b = {.data = NULL};
    struct kvs k = {.root = NULL};
    assert_int_equal(kvs_pack(&b, "one", "1"), 0);
    assert_int_equal(kvs_pack(&b, "empty", ""), 0);
    assert_int_equal(kvs_pack(&b, "two", "2"), 0);
    assert_int_equal(kvs_put_packed(&k, buffer_ptr(&b), buffer_len(&b)), 0);
    assert_string_equal(kvs_get(&k, "one"), "1");
    assert_string_equal(kvs_get(&k, "empty"), "");
    assert_string_equal(kvs_get(&k, "two"), "2");
    assert_int_equal(kvs_put_packed(&k, NULL, 0), 0);
    for (size_t cut = 1; cut < 4; cut++)
        assert_int_equal(kvs_put_packed(&k, buffer_ptr(&b), cut), -1);
    assert_int_equal(kvs_put_packed(&k, buffer_ptr(&b), buffer_len(&b) - 1), -1);
    buffer_free(&b);
    tdestroy(k.root, free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_cut_into_fields),
        cmocka_unit_test(damaged_lines_are_refused),
        cmocka_unit_test(a_message_of_pmi2_is_cut_and_its_semicolons_are_single),
        cmocka_unit_test(numbers_are_whole_and_bounded),
        cmocka_unit_test(values_are_found_and_replaced),
        cmocka_unit_test(pairs_travel_between_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
