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
#include "pmix-server/simple-pmi/spawn-request.h"

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
        kvs_put(&k, key, value);
    }
    assert_string_equal(kvs_get(&k, "key-999"), "6993");
    kvs_put(&k, "key-999", "new");
    assert_string_equal(kvs_get(&k, "key-999"), "new");
    assert_string_equal(kvs_get(&k, "key-0"), "0");
    tdestroy(k.root, free);
}

static void pairs_travel_between_hosts(void **state)
{
    struct buffer b = {.data = NULL};
    struct kvs k = {.root = NULL};
    kvs_pack(&b, "one", "1");
    kvs_pack(&b, "empty", "");
    kvs_pack(&b, "two", "2");
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

/* ---- requests for further worlds ------------------------------------------------------------- */

static bool says(const ProtobufCBinaryData *b, const char *text)
{
    return b->len == strlen(text) && memcmp(b->data, text, b->len) == 0;
}

static void a_spawn_has_programs_with_arguments_keys_and_pairs(void **state)
{
    static const char *const fields[][2] = {
        {"ppkey0", "port"},  {"ppval0", "a b"},      {"subcmd", "./one"},     {"maxprocs", "2"},
        {"argc", "2"},       {"argv0", "x y"},       {"argv1", ""},           {"infokey0", "wdir"},
        {"infoval0", "/t"},  {"subcmd", "two"},      {"maxprocs", "3"},       {"argc", "0"},
        {"argvector", "no"}, {"info_key_0", "host"}, {"info_val_0", "n1,n2"}, {"unknown", "u"},
    };
    struct spawn_request *r = spawn_request_create();
    assert_non_null(r);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (strcmp(fields[i][0], "subcmd") == 0)
            spawn_request_begin_program(r);
        assert_int_equal(spawn_request_take(r, fields[i][0], fields[i][1]), 0);
    }
    const Mprun__Spawn *m = spawn_request_finish(r);
    assert_non_null(m);
    assert_int_equal(m->n_apps, 2);
    assert_int_equal(m->apps[0]->count, 2);
    assert_int_equal(m->apps[0]->n_argv, 3);
    assert_true(says(&m->apps[0]->argv[0], "./one"));
    assert_true(says(&m->apps[0]->argv[1], "x y"));
    assert_true(says(&m->apps[0]->argv[2], ""));
    assert_int_equal(m->apps[0]->n_keys, 1);
    assert_string_equal(m->apps[0]->keys[0]->name, "wdir");
    assert_true(says(&m->apps[0]->keys[0]->value, "/t"));
    assert_int_equal(m->apps[1]->count, 3);
    assert_int_equal(m->apps[1]->n_argv, 1);
    assert_string_equal(m->apps[1]->keys[0]->name, "host");
    assert_int_equal(m->preput.len, sizeof("port\0a b"));
    assert_memory_equal(m->preput.data, "port\0a b", m->preput.len);
    spawn_request_destroy(r);
}

/* How a request for one rank of "true" takes this field. */
static int takes(const char *name, const char *value)
{
    struct spawn_request *r = spawn_request_create();
    assert_non_null(r);
    spawn_request_begin_program(r);
    assert_int_equal(spawn_request_take(r, "maxprocs", "1"), 0);
    assert_int_equal(spawn_request_take(r, "subcmd", "true"), 0);
    int rc = spawn_request_take(r, name, value);
    if (rc == 0 && !spawn_request_finish(r))
        rc = 1;
    spawn_request_destroy(r);
    return rc;
}

static void a_spawn_that_cannot_be_is_refused(void **state)
{
    assert_int_equal(takes("argv0", "1"), 0);
    assert_int_equal(takes("subcmd", "again"), -1);
    assert_int_equal(takes("maxprocs", "many"), -1);
    assert_int_equal(takes("maxprocs", "-1"), -1);
    assert_int_equal(takes("maxprocs", "99999999999"), -1);
    assert_int_equal(takes("maxprocs", "0"), 1);
    assert_int_equal(takes("infoval0", "without a key"), -1);
    assert_int_equal(takes("ppval0", "without a key"), -1);
    char *large = malloc(PMI_SPAWN_MAX + 1);
    assert_non_null(large);
    memset(large, 'x', PMI_SPAWN_MAX);
    large[PMI_SPAWN_MAX] = 0;
    assert_int_equal(takes("argv0", large), -1);
    free(large);
    struct spawn_request *r = spawn_request_create();
    assert_non_null(r);
    assert_null(spawn_request_finish(r));
    assert_int_equal(spawn_request_take(r, "maxprocs", "1"), -1);
    for (int i = 0; i < PMI_SPAWN_MAX; i++) /* programs without end */
        spawn_request_begin_program(r);
    assert_true(r->message->n_apps <= PMI_SPAWN_MAX / sizeof(Mprun__Spawn__App));
    assert_null(spawn_request_finish(r));
    spawn_request_destroy(r);
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
        cmocka_unit_test(a_spawn_has_programs_with_arguments_keys_and_pairs),
        cmocka_unit_test(a_spawn_that_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
