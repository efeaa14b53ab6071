/* SPDX-License-Identifier: BSD-3-Clause */
/* test-idset.c - sets of small numbers: their text, and what is refused */
#include "common/text/idset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_set(const struct idset *s, const char *want)
{
    char *text = idset_format(s);
    assert_string_equal(text, want);
    free(text);
}

static void text_survives_a_round_trip(void **state)
{
    static const struct {
        const char *in, *out;
        size_t count;
    } cases[] = {
        {"", "", 0},
        {"0", "0", 1},
        {"0-3,7", "0-3,7", 5},
        {"7,0-3", "0-3,7", 5},
        {"1,2,3", "1-3", 3},
        {"5-5", "5", 1},
        {"62-65", "62-65", 4},
        {"3,3,3", "3", 1},
        {"007", "7", 1},
        {"63,64,127,128", "63-64,127-128", 4},
        {"1048575", "1048575", 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct idset s = {0};
        struct error err;
        assert_int_equal(idset_parse(cases[i].in, &s, &err), 0);
        assert_set(&s, cases[i].out);
        assert_int_equal(idset_count(&s), cases[i].count);
        idset_free(&s);
    }
}

static void bad_text_is_refused_by_its_bad_part_and_changes_nothing(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"a", "'a'"},
        {"1,,2", "''"},
        {"1,", "''"},
        {",1", "''"},
        {" 1", "' 1'"},
        {"1 ", "'1 '"},
        {"0,3-1", "range '3-1' descends"},
        {"-1", "'-1'"},
        {"1-", "'1-'"},
        {"1-2-3", "'1-2-3'"},
        {"+1", "'+1'"},
        {"0x1", "'0x1'"},
        {"1048576", "'1048576'"},
        {"0-99999999999999999999", "'0-99999999999999999999'"},
        {"1\n", "'1\n'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct idset s = {0};
        struct error err = {0};
        idset_add(&s, 42);
        assert_int_equal(idset_parse(cases[i].text, &s, &err), -1);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_set(&s, "42");
        idset_free(&s);
    }
}

static void members_are_added_and_found(void **state)
{
    struct idset s = {0};
    assert_int_equal(idset_next(&s, 0), -1);
    assert_false(idset_has(&s, 0));
    idset_add(&s, 3);
    idset_add(&s, 200);
    assert_true(idset_has(&s, 3));
    assert_false(idset_has(&s, 4));
    assert_false(idset_has(&s, 100000));
    assert_int_equal(idset_next(&s, 0), 3);
    assert_int_equal(idset_next(&s, 3), 3);
    assert_int_equal(idset_next(&s, 4), 200);
    assert_int_equal(idset_next(&s, 201), -1);
    assert_set(&s, "3,200");
    idset_free(&s);
    assert_set(&s, "");
}

static void ids_beyond_the_bound_ask_for_no_memory(void **state)
{
    struct idset s = {0};
    assert_int_equal(idset_add_range(&s, IDSET_MAX, IDSET_MAX), -1);
    assert_int_equal(idset_add_range(&s, 0, UINT32_MAX), -1);
    assert_int_equal(idset_add_range(&s, 5, 4), -1);
    assert_null(s.words);
    idset_add(&s, IDSET_MAX - 1);
    assert_int_equal(idset_next(&s, 1), IDSET_MAX - 1);
    idset_free(&s);
}

static void sets_of_different_size_are_combined(void **state)
{
    struct idset a = {0}, b = {0}, c = {0};
    struct error err;
    idset_parse("0-3,300", &a, &err);
    idset_parse("2-5", &b, &err);
    idset_copy(&c, &a);
    assert_true(idset_equal(&a, &c));
    idset_intersect(&c, &b);
    assert_set(&c, "2-3");
    assert_false(idset_equal(&a, &c));
    idset_copy(&c, &a);
    idset_subtract(&c, &b);
    assert_set(&c, "0-1,300");
    idset_copy(&c, &b);
    idset_subtract(&c, &a);
    assert_set(&c, "4-5");
    idset_free(&a);
    idset_parse("4-5", &a, &err);
    idset_add(&c, 900);
    idset_intersect(&c, &a);
    assert_true(idset_equal(&a, &c)); /* whatever room each has */
    idset_copy(&c, &c);
    assert_set(&c, "4-5");
    idset_free(&a);
    idset_free(&b);
    idset_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_survives_a_round_trip),
        cmocka_unit_test(bad_text_is_refused_by_its_bad_part_and_changes_nothing),
        cmocka_unit_test(members_are_added_and_found),
        cmocka_unit_test(ids_beyond_the_bound_ask_for_no_memory),
        cmocka_unit_test(sets_of_different_size_are_combined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
