/* SPDX-License-Identifier: BSD-3-Clause */
/* test-usage.c - sums in which the unknown stays unknown */
#include "model/usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void known_fields_are_summed(void **state)
{
    struct usage sum = {0}, a = {0}, b = {0};
    usage_set(&a, USAGE_CPU_USER, 1500000);
    usage_set(&a, USAGE_CPU_SYSTEM, 0); /* known to be 0 */
    usage_set(&a, USAGE_MEMORY_PEAK, 100);
    usage_set(&b, USAGE_CPU_USER, 500000);
    usage_set(&b, USAGE_CPU_SYSTEM, 250000);
    usage_set(&b, USAGE_MEMORY_PEAK, 200);
    usage_add(&sum, &a);
    usage_add(&sum, &b);
    assert_int_equal(sum.value[USAGE_CPU_USER], 2000000);
    assert_int_equal(sum.value[USAGE_MEMORY_PEAK], 300);
    assert_true(usage_cpu_seconds(&sum) == 2.25);
}

static void what_one_side_does_not_know_the_sum_does_not_know(void **state)
{
    struct usage sum = {0}, a = {0}, b = {0};
    usage_set(&a, USAGE_CPU_USER, 1);
    usage_set(&a, USAGE_FAULTS_MINOR, 5);
    usage_set(&b, USAGE_CPU_USER, 2);
    usage_set(&b, USAGE_OOM_KILLS, 1);
    usage_add(&sum, &a);
    usage_add(&sum, &b);
    assert_true(usage_has(&sum, USAGE_CPU_USER));
    assert_false(usage_has(&sum, USAGE_FAULTS_MINOR));
    assert_false(usage_has(&sum, USAGE_OOM_KILLS));
    assert_int_equal(sum.value[USAGE_FAULTS_MINOR], 0);
    assert_true(usage_cpu_seconds(&sum) == -1);
}

static void an_empty_side_changes_nothing(void **state)
{
    struct usage sum = {0}, none = {0}, a = {0};
    usage_set(&a, USAGE_PROCESSES, 3);
    usage_add(&sum, &none);
    assert_int_equal(sum.known, 0);
    usage_add(&sum, &a);
    usage_add(&sum, &none);
    assert_true(usage_has(&sum, USAGE_PROCESSES));
    assert_int_equal(sum.value[USAGE_PROCESSES], 3);
    assert_true(usage_cpu_seconds(&none) == -1);
}

static void of_wall_times_and_largest_processes_the_larger_is_kept(void **state)
{
    struct usage sum = {0}, a = {0}, b = {0};
    usage_set(&a, USAGE_WALL, 10);
    usage_set(&b, USAGE_WALL, 7);
    usage_set(&a, USAGE_RSS_PEAK, 3);
    usage_set(&b, USAGE_RSS_PEAK, 4);
    usage_add(&sum, &a);
    usage_add(&sum, &b);
    assert_int_equal(sum.value[USAGE_WALL], 10);
    assert_int_equal(sum.value[USAGE_RSS_PEAK], 4);
}

static void sums_do_not_wrap_around(void **state)
{
    struct usage sum = {0}, a = {0};
    usage_set(&a, USAGE_READ_BYTES, UINT64_MAX - 1);
    usage_add(&sum, &a);
    usage_add(&sum, &a);
    assert_true(sum.value[USAGE_READ_BYTES] == UINT64_MAX);
}

static void a_peak_only_grows_and_the_first_sample_counts(void **state)
{
    struct usage u = {0};
    usage_max(&u, USAGE_ANON_PEAK, 0);
    assert_true(usage_has(&u, USAGE_ANON_PEAK));
    usage_max(&u, USAGE_ANON_PEAK, 9);
    usage_max(&u, USAGE_ANON_PEAK, 4);
    assert_int_equal(u.value[USAGE_ANON_PEAK], 9);
}

static void every_field_has_a_name_of_its_own(void **state)
{
    for (int i = 0; i < USAGE_FIELD_COUNT; i++) {
        const char *name = usage_field_name((enum usage_field)i);
        assert_non_null(name);
        assert_string_not_equal(name, "unknown");
        for (int k = 0; k < i; k++)
            assert_string_not_equal(name, usage_field_name((enum usage_field)k));
    }
    assert_string_equal(usage_field_name(USAGE_CPU_USER), "cpu_user_s");
    assert_string_equal(usage_field_name(USAGE_FIELD_COUNT), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_fields_are_summed),
        cmocka_unit_test(what_one_side_does_not_know_the_sum_does_not_know),
        cmocka_unit_test(an_empty_side_changes_nothing),
        cmocka_unit_test(of_wall_times_and_largest_processes_the_larger_is_kept),
        cmocka_unit_test(sums_do_not_wrap_around),
        cmocka_unit_test(a_peak_only_grows_and_the_first_sample_counts),
        cmocka_unit_test(every_field_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
