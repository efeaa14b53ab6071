/* SPDX-License-Identifier: BSD-3-Clause */
/* test-complex-value.c - values of complexes, and how many times slots they are */
#include "rm-adapters/gridengine/complex-value.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

struct example {
    const char *text;
    uint64_t times, want;
};

static void values_are_exact_and_rounded_up_at_the_end(void **state)
{
    static const struct example examples[] = {
        {"0", 1, 0},
        {"1", 20, 20},
        {"2G", 1, 2147483648},
        {"2g", 1, 2000000000},
        {"2G", 20, 42949672960},
        {"1.5M", 1, 1572864},
        {"512K", 2, 1048576},
        {"512k", 2, 1024000},
        {"1T", 1, 1099511627776},
        {"1E", 7, 8070450532247928832},
        {"0x10", 2, 32},
        {"0X1f", 1, 31},
        {"3600", 1, 3600},
        {"1:0:0", 1, 3600},
        {"1::", 1, 3600},
        {"5:30", 1, 330},
        {"24:00:00", 1, 86400},
        {"TRUE", 1, 1},
        {"true", 3, 3},
        {"FALSE", 5, 0},
        {"536870912.000000", 2, 1073741824},
        {"2.000G", 1, 2147483648},
        {"0.1G", 1, 107374183}, /* 107374182.4 */
        {"0.1G", 3, 322122548}, /* 322122547.2: rounded once, not three times */
        {"0.1G", 10, 1073741824},
        {"0.3333333", 3, 2}, /* 1.0000002: what is below a millionth counts up */
        {"9223372036854775807", 1, INT64_MAX},
        {"1", 0, 0},
    };
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        const struct example *e = &examples[i];
        struct gridengine_value v;
        uint64_t got = 0;
        if (gridengine_value_parse(e->text, &v) < 0 ||
            gridengine_value_times(&v, e->times, &got) < 0 || got != e->want)
            fail_msg("%s x %" PRIu64 " is %" PRIu64 ", not %" PRIu64, e->text, e->times, got,
                     e->want);
    }
}

static void what_is_no_value_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        " 1",
        "1 ",
        "-1",
        "+1",
        "G",
        "2GG",
        "2GB",
        "2x",
        "1.G.",
        "1e3",
        "0x",
        "0xg",
        "1:2:3:4",
        ":1",
        "1:-1",
        "$(id)",
        "none",
        "undefined",
        "mic0",
        "9223372036854775808",
        "8E",
        "0x8000000000000000",
        "99999999999999999999999999999999999999999999999999",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct gridengine_value v = {.whole = 7};
        if (gridengine_value_parse(texts[i], &v) == 0)
            fail_msg("'%s' was taken", texts[i]);
        assert_int_equal(v.whole, 7);
    }
}

static void without_a_limit_or_too_large_there_is_no_product(void **state)
{
    struct gridengine_value v;
    uint64_t got = 7;
    static const char *const words[] = {"INFINITY", "infinity", "inf"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_int_equal(gridengine_value_parse(words[i], &v), 0);
        assert_true(v.set && v.infinite);
        assert_int_equal(gridengine_value_times(&v, 1, &got), -1);
    }
    assert_int_equal(gridengine_value_parse("1E", &v), 0);
    assert_int_equal(gridengine_value_times(&v, 8, &got), -1);
    assert_int_equal(gridengine_value_times(&v, UINT64_MAX, &got), -1);
    v = (struct gridengine_value){.set = 0, .whole = 1};
    assert_int_equal(gridengine_value_times(&v, 1, &got), -1);
    assert_int_equal(got, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_exact_and_rounded_up_at_the_end),
        cmocka_unit_test(what_is_no_value_is_refused),
        cmocka_unit_test(without_a_limit_or_too_large_there_is_no_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
