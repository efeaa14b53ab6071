/* SPDX-License-Identifier: BSD-3-Clause */
/* test-first-failure.c - which end explains a step, and mprun's exit code for it */
#include "launcher/outcome/exit-code.h"
#include "launcher/outcome/first-failure.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define T0 UINT64_C(1700000000000000000)

static int exit_code_of(const struct rank_end *first)
{
    static const struct verdict ranks_decide = {.exit_code = -1};
    return step_exit_code(&ranks_decide, first);
}

struct outcome_case {
    const char *name;
    struct rank_end ends[4]; /* times are milliseconds here */
    size_t n;
    int first; /* index, or -1 */
    int exit_code;
};

#define END(r, c, value, ms)                                                                       \
    {                                                                                              \
        .name = {.rank = (r)}, .cause = (c), .code = (value), .time_ns = (ms)                      \
    }
#define END_IN(w, r, c, value, ms)                                                                 \
    {                                                                                              \
        .name = {.world = (w), .rank = (r)}, .cause = (c), .code = (value), .time_ns = (ms)        \
    }

static const struct outcome_case cases[] = {
    {"no ranks", {END(0, END_OK, 0, 0)}, 0, -1, 0},
    {"all well", {END(0, END_OK, 0, 5), END(1, END_OK, 0, 1)}, 2, -1, 0},
    {"one code", {END(0, END_OK, 0, 0), END(1, END_CODE, 3, 5)}, 2, 1, 3},
    {"what our ladder killed never counts",
     {END(0, END_KILLED, SIGKILL, 0), END(1, END_CODE, 3, 5)},
     2,
     1,
     3},
    {"only killed by us", {END(0, END_KILLED, SIGTERM, 0)}, 1, -1, 0},
    {"segmentation fault", {END(0, END_SIGNAL, SIGSEGV, 0)}, 1, 0, 139},
    {"memory limit", {END(0, END_LIMIT, SIGKILL, 0)}, 1, 0, 137},
    {"no init", {END(0, END_OK, 0, 0), END(1, END_NO_INIT, 0, 7)}, 2, 1, 1},
    {"no finalize", {END(0, END_OK, 0, 0), END(1, END_NO_FINALIZE, 0, 7)}, 2, 1, 1},
    {"not found", {END(0, END_NOT_STARTED, 127, 0)}, 1, 0, 127},
    {"cannot execute", {END(0, END_NOT_STARTED, 126, 0)}, 1, 0, 126},
    {"abort", {END(0, END_ABORT, 42, 0)}, 1, 0, 42},
    {"abort with 0 has that code", {END(0, END_ABORT, 0, 0)}, 1, 0, 0},
    {"abort with 256 is a failure", {END(0, END_ABORT, 256, 0)}, 1, 0, 1},
    {"abort with -1", {END(0, END_ABORT, -1, 0)}, 1, 0, 255},
    {"a rank may choose 99", {END(0, END_CODE, 99, 0)}, 1, 0, 99},
    {"a signal within the window explains a code before it",
     {END(0, END_CODE, 1, 0), END(1, END_SIGNAL, SIGSEGV, 99)},
     2,
     1,
     139},
    {"the window's last moment",
     {END(0, END_CODE, 1, 0), END(1, END_SIGNAL, SIGSEGV, 100)},
     2,
     1,
     139},
    {"beyond the window the earlier one counts",
     {END(0, END_CODE, 1, 0), END(1, END_SIGNAL, SIGSEGV, 101)},
     2,
     0,
     1},
    {"the window begins with the first failure, not with a good end",
     {END(0, END_OK, 0, 0), END(1, END_CODE, 5, 150), END(2, END_SIGNAL, SIGBUS, 240)},
     3,
     2,
     128 + SIGBUS},
    {"the window does not move on from failure to failure",
     {END(0, END_CODE, 4, 0), END(1, END_CODE, 5, 90), END(2, END_SIGNAL, SIGBUS, 180)},
     3,
     0,
     4},
    {"our ladder's victims open no window",
     {END(0, END_KILLED, SIGTERM, 0), END(1, END_CODE, 7, 300), END(2, END_ABORT, 6, 390)},
     3,
     2,
     6},
    {"limit before signal",
     {END(0, END_SIGNAL, SIGSEGV, 0), END(1, END_LIMIT, SIGKILL, 50)},
     2,
     1,
     137},
    {"signal before abort", {END(0, END_ABORT, 3, 0), END(1, END_SIGNAL, SIGFPE, 1)}, 2, 1, 136},
    {"abort before code", {END(0, END_CODE, 3, 0), END(1, END_ABORT, 9, 20)}, 2, 1, 9},
    {"code before no finalize", {END(0, END_NO_FINALIZE, 0, 0), END(1, END_CODE, 2, 3)}, 2, 1, 2},
    {"lowest rank, not the earliest",
     {END(3, END_CODE, 3, 0), END(1, END_CODE, 1, 60), END(2, END_CODE, 2, 30)},
     3,
     1,
     1},
    {"lowest world before lowest rank",
     {END_IN(1, 0, END_CODE, 3, 0), END_IN(0, 5, END_CODE, 4, 60)},
     2,
     1,
     4},
};

static void the_table_of_causes_holds(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rank_end ends[4];
        memcpy(ends, cases[i].ends, sizeof(ends));
        for (size_t k = 0; k < cases[i].n; k++)
            ends[k].time_ns = T0 + ends[k].time_ns * MS;
        const struct rank_end *first = outcome_first_failure(ends, cases[i].n);
        int index = first ? (int)(first - ends) : -1;
        if (index != cases[i].first)
            fail_msg("%s: first failure is %d, not %d", cases[i].name, index, cases[i].first);
        if (exit_code_of(first) != cases[i].exit_code)
            fail_msg("%s: exit code %d, not %d", cases[i].name, exit_code_of(first),
                     cases[i].exit_code);
    }
}

static void the_order_in_which_ends_arrive_does_not_matter(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rank_end ends[4];
        size_t n = cases[i].n;
        for (size_t k = 0; k < n; k++) {
            ends[n - 1 - k] = cases[i].ends[k];
            ends[n - 1 - k].time_ns = T0 + cases[i].ends[k].time_ns * MS;
        }
        const struct rank_end *first = outcome_first_failure(ends, n);
        int index = first ? (int)(n - 1) - (int)(first - ends) : -1;
        if (index != cases[i].first)
            fail_msg("%s, backwards: first failure is %d", cases[i].name, index);
    }
}

static void our_own_codes_are_never_99_or_100(void **state)
{
    for (int cause = 0; cause <= END_KILLED; cause++) {
        if (cause == END_CODE || cause == END_ABORT)
            continue; /* the rank's own choice */
        for (int signo = 1; signo <= 64; signo++) {
            struct rank_end e = {.cause = (enum end_cause)cause, .code = signo};
            if (cause == END_NOT_STARTED)
                e.code = signo & 1 ? EXIT_CODE_NOT_FOUND : EXIT_CODE_CANNOT_EXEC;
            int code = exit_code_of(&e);
            assert_true(code >= 0 && code <= 255);
            assert_true(code != 99 && code != 100);
        }
    }
}

static void names_of_ranks_are_short(void **state)
{
    char buf[RANK_NAME_TEXT];
    assert_string_equal(rank_name_format((struct rank_name){0, 7, 0}, buf), "7");
    assert_string_equal(rank_name_format((struct rank_name){1, 7, 0}, buf), "1.7");
    assert_string_equal(rank_name_format((struct rank_name){0, 7, 2}, buf), "0.7.2");
    const uint32_t most = UINT32_MAX;
    assert_string_equal(rank_name_format((struct rank_name){most, most, most}, buf),
                        "4294967295.4294967295.4294967295");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_causes_holds),
        cmocka_unit_test(the_order_in_which_ends_arrive_does_not_matter),
        cmocka_unit_test(our_own_codes_are_never_99_or_100),
        cmocka_unit_test(names_of_ranks_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
