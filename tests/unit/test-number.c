/* SPDX-License-Identifier: BSD-3-Clause */
/* test-number.c - counts, sizes and times: what is read, what is refused, and how they print */
#include "common/text/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void a_number_is_the_whole_string_and_in_range(void **state)
{
    static const struct {
        const char *text;
        int64_t min, max, want;
    } cases[] = {
        {"0", 0, 10, 0},
        {"10", 0, 10, 10},
        {"007", 0, 10, 7},
        {"-3", -5, 5, -3},
        {"9223372036854775807", 0, INT64_MAX, INT64_MAX},
        {"-9223372036854775807", INT64_MIN, 0, -INT64_MAX},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t v = 42;
        struct error err;
        assert_int_equal(number_parse(cases[i].text, NULL, cases[i].min, cases[i].max, &v, &err),
                         0);
        assert_true(v == cases[i].want);
    }
}

static void a_bad_number_is_quoted_with_the_reason_and_the_range(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "'' is empty; expected is a whole number from 1 to 100"},
        {"four", "'four' is not a number"},
        {"4x", "'4x' is not a number"},
        {"4.0", "'4.0' is not a number"},
        {"1e1", "'1e1' is not a number"},
        {"0x10", "'0x10' is not a number"},
        {" 4", "' 4' is not a number"},
        {"4 ", "'4 ' is not a number"},
        {"+4", "'+4' is not a number"},
        {"-", "'-' is not a number"},
        {"0", "'0' is too small; expected is a whole number from 1 to 100"},
        {"-4", "'-4' is too small"},
        {"101", "'101' is too large"},
        {"18446744073709551616", "'18446744073709551616' is too large"},
        {"-18446744073709551616", "' is too small"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t v = 42;
        struct error err;
        assert_int_equal(number_parse(cases[i].text, NULL, 1, 100, &v, &err), -1);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_int_equal(v, 42);
    }
}

static void what_is_named_stands_before_the_sentence(void **state)
{
    int64_t v;
    struct error err;
    assert_int_equal(number_parse("x", "slots of n1", 1, INT64_MAX, &v, &err), -1);
    assert_string_equal(
        err.text, "slots of n1: 'x' is not a number; expected is a whole number of at least 1");
}

static void a_size_is_exact_and_rounded_up_to_a_byte(void **state)
{
    static const struct {
        const char *text;
        uint64_t want;
    } cases[] = {
        {"1", 1},
        {"1048576", 1048576},
        {"512B", 512},
        {"1k", 1024},
        {"200M", 200ULL << 20},
        {"4gb", 4ULL << 30},
        {"1.5g", 3ULL << 29},
        {"3.8GiB", 4080218932ULL}, /* 4080218931.2 */
        {"0.0001K", 1},
        {"1.5", 2},
        {"1T", 1ULL << 40},
        {"8191P", 8191ULL << 50},
        {"0.3333333333333333333333333333333M", 349526},
        {"9223372036854775807", INT64_MAX},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t v = 0;
        struct error err;
        assert_int_equal(size_parse(cases[i].text, NULL, &v, &err), 0);
        assert_true(v == cases[i].want);
    }
}

static void a_bad_size_is_quoted_with_the_reason(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "'' is empty"},
        {"M", "'M' is not a size"},
        {".5G", "'.5G' is not a size"},
        {"5.G", "'5.G' is not a size"},
        {"1.2.3G", "'1.2.3G' is not a size"},
        {"5 G", "'5 G' is not a size"},
        {"5X", "'5X' is not a size"},
        {"5Gi", "'5Gi' is not a size"},
        {"5GiBs", "'5GiBs' is not a size"},
        {"-5G", "'-5G' is negative"},
        {"0", "'0' is zero"},
        {"0.0G", "'0.0G' is zero"},
        {"8192P", "'8192P' is too large"},
        {"99999999999999999999", "is too large"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t v = 42;
        struct error err;
        assert_int_equal(size_parse(cases[i].text, NULL, &v, &err), -1);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_true(v == 42);
    }
}

static void a_size_prints_short_and_never_as_1024(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *want;
    } cases[] = {
        {0, "0 B"},
        {512, "512 B"},
        {1023, "1023 B"},
        {1024, "1 KiB"},
        {1536, "1.5 KiB"},
        {4080218931ULL, "3.8 GiB"},
        {(1ULL << 20) - 1, "1.0 MiB"},
        {1ULL << 40, "1 TiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char buf[16];
        assert_string_equal(size_format(cases[i].bytes, buf, sizeof(buf)), cases[i].want);
        assert_true(strlen(buf) <= 12);
    }
}

static void a_time_is_seconds_units_or_a_clock(void **state)
{
    static const struct {
        const char *text;
        double want;
    } cases[] = {
        {"0", 0},          {"90", 90},     {"1.5", 1.5},    {"90s", 90},     {"2m", 120},
        {"1h30m", 5400},   {"1.5h", 5400}, {"2d", 172800},  {"250ms", 0.25}, {"1m250ms", 60.25},
        {"1:30:00", 5400}, {"5:00", 300},  {"90:00", 5400}, {"0:01.5", 1.5}, {"100:00:00", 360000},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        double v = -1;
        struct error err;
        assert_int_equal(duration_parse(cases[i].text, NULL, &v, &err), 0);
        assert_true(v > cases[i].want - 1e-9 && v < cases[i].want + 1e-9);
    }
}

static void a_bad_time_is_quoted_with_the_reason(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "'' is empty"},
        {"-5", "'-5' is negative"},
        {"soon", "'soon' is not a time"},
        {"5 m", "'5 m' is not a time"},
        {"5min", "'5min' is not a time"},
        {"30m1h", "'30m1h' is not a time"},
        {"1h1h", "'1h1h' is not a time"},
        {"1h30", "'1h30' is not a time"},
        {"1:60", "'1:60' is not a time"},
        {"1:", "'1:' is not a time"},
        {"1:2:3:4", "'1:2:3:4' is not a time"},
        {"1.5:00", "'1.5:00' is not a time"},
        {"1:2.5:00", "'1:2.5:00' is not a time"},
        {"inf", "'inf' is not a time"},
        {"1000000001", "'1000000001' is too large"},
        {"99999999999999999999s", "is too large"},
        {"1h18446744073709551617s", "is not a time"}, /* 1 modulo 2^64 */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        double v = 42;
        struct error err;
        assert_int_equal(duration_parse(cases[i].text, NULL, &v, &err), -1);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_true(v == 42);
    }
}

static void a_time_prints_as_people_write_it(void **state)
{
    char buf[32];
    assert_string_equal(duration_format(0.52, buf, sizeof(buf)), "0.52 s");
    assert_string_equal(duration_format(59.9, buf, sizeof(buf)), "59.90 s");
    assert_string_equal(duration_format(59.999, buf, sizeof(buf)), "0:01:00.0");
    assert_string_equal(duration_format(83.44, buf, sizeof(buf)), "0:01:23.4");
    assert_string_equal(duration_format(3722.96, buf, sizeof(buf)), "1:02:03.0");
    assert_string_equal(duration_format(300, buf, sizeof(buf)), "0:05:00");
    assert_string_equal(duration_format(3723, buf, sizeof(buf)), "1:02:03");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_the_whole_string_and_in_range),
        cmocka_unit_test(a_bad_number_is_quoted_with_the_reason_and_the_range),
        cmocka_unit_test(what_is_named_stands_before_the_sentence),
        cmocka_unit_test(a_size_is_exact_and_rounded_up_to_a_byte),
        cmocka_unit_test(a_bad_size_is_quoted_with_the_reason),
        cmocka_unit_test(a_size_prints_short_and_never_as_1024),
        cmocka_unit_test(a_time_is_seconds_units_or_a_clock),
        cmocka_unit_test(a_bad_time_is_quoted_with_the_reason),
        cmocka_unit_test(a_time_prints_as_people_write_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
