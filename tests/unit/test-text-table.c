/* SPDX-License-Identifier: BSD-3-Clause */
/* test-text-table.c - alignment, unknown values, and columns nobody knows anything for */
#include "common/text/text-table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const headings[] = {"HOST", ">RANKS", "ENERGY", ">CPU", NULL};

static void assert_prints(const struct text_table *t, const char *indent, const char *want)
{
    char *text = text_table_format(t, indent);
    assert_string_equal(text, want);
    free(text);
}

static struct text_table *two_rows(void)
{
    struct text_table *t = text_table_create(headings);
    text_table_cell(t, "n%d", 1);
    text_table_cell(t, "%d", 128);
    text_table_text(t, NULL);
    text_table_cell(t, "0.5 s");
    text_table_cell(t, "longname");
    text_table_cell(t, "4");
    text_table_text(t, NULL);
    text_table_text(t, NULL);
    return t;
}

static void columns_are_aligned_and_lines_have_no_trailing_blanks(void **state)
{
    struct text_table *t = two_rows();
    assert_prints(t, "",
                  "HOST      RANKS  ENERGY    CPU\n"
                  "n1          128  -       0.5 s\n"
                  "longname      4  -           -\n");
    text_table_destroy(t);
}

static void a_column_without_any_known_value_can_be_dropped(void **state)
{
    struct text_table *t = two_rows();
    text_table_drop_unknown(t);
    assert_prints(t, "# ",
                  "# HOST      RANKS    CPU\n"
                  "# n1          128  0.5 s\n"
                  "# longname      4      -\n");
    text_table_destroy(t);
}

static void an_empty_table_is_its_headings_and_a_short_row_is_filled_up(void **state)
{
    struct text_table *t = text_table_create(headings);
    text_table_drop_unknown(t);
    assert_prints(t, "", "HOST  RANKS  ENERGY  CPU\n");
    text_table_cell(t, "n1");
    assert_prints(t, "", "HOST  RANKS  ENERGY  CPU\nn1                      \n");
    text_table_destroy(t);
}

static void characters_count_and_not_bytes(void **state)
{
    struct text_table *t = text_table_create((const char *const[]){"A", ">B", NULL});
    text_table_cell(t, "\xc3\xa4\xc3\xb6");
    text_table_cell(t, "1");
    text_table_cell(t, "xyz");
    text_table_cell(t, "22");
    assert_prints(t, "",
                  "A     B\n"
                  "\xc3\xa4\xc3\xb6    1\n"
                  "xyz  22\n");
    text_table_destroy(t);
}

static void many_rows_keep_their_order(void **state)
{
    struct text_table *t = text_table_create((const char *const[]){">N", NULL});
    for (int i = 0; i < 1000; i++)
        text_table_cell(t, "%d", i);
    char *text = text_table_format(t, ""), *at = text + 4;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(strtol(at, &at, 10), i);
    free(text);
    text_table_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned_and_lines_have_no_trailing_blanks),
        cmocka_unit_test(a_column_without_any_known_value_can_be_dropped),
        cmocka_unit_test(an_empty_table_is_its_headings_and_a_short_row_is_filled_up),
        cmocka_unit_test(characters_count_and_not_bytes),
        cmocka_unit_test(many_rows_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
