/* SPDX-License-Identifier: BSD-3-Clause */
/* test-host-name-list.c - names of hosts that count up, and lists of them for messages */
#include "common/text/host-name-list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LIST(size, ...)                                                                            \
    list((const char *const[]){__VA_ARGS__},                                                       \
         sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), size)

static const char *list(const char *const *names, size_t n, size_t size)
{
    static char buf[4096];
    memset(buf, '#', sizeof(buf));
    name_run_list(names, n, buf, size);
    assert_true(strlen(buf) < size);
    return buf;
}

static void the_number_counts_up_and_keeps_its_width(void **state)
{
    char buf[32];
    assert_int_equal(name_run_at("n098.cluster", 12, 2, buf, sizeof(buf)), 12);
    assert_string_equal(buf, "n100.cluster");
    name_run_at("n9", 2, 1, buf, sizeof(buf));
    assert_string_equal(buf, "n10");
    name_run_at("r1c2-ib", 7, 1, buf, sizeof(buf));
    assert_string_equal(buf, "r1c3-ib");
    assert_int_equal(name_run_at("node", 4, 1, buf, sizeof(buf)), -1);
    assert_int_equal(name_run_at("n098.cluster", 12, 1, buf, 12), -1);
}

static void three_or_more_that_count_up_are_one_word(void **state)
{
    assert_string_equal(LIST(400, "n2"), "n2");
    assert_string_equal(LIST(400, "n2", "n3"), "n2, n3");
    assert_string_equal(LIST(400, "n2", "n5", "n6", "n7"), "n2, n[5-7]");
    assert_string_equal(LIST(400, "n08", "n09", "n10", "m1", "node", "node"),
                        "n[08-10], m1, node, node");
    assert_string_equal(LIST(400, "n1.x", "n2.x", "n3.y", "n4.y", "n5.y"), "n1.x, n2.x, n[3-5].y");
    assert_string_equal(LIST(400, "vm-99-ib.x.1", "vm-100-ib.x.1", "vm-101-ib.x.1"),
                        "vm-[99-101]-ib.x.1");
    assert_string_equal(list(NULL, 0, 400), "");
    char *word = name_run_word((const char *const[]){"n2", "n5", "n6", "n7", "m1"}, 5);
    assert_string_equal(word, "n2,n[5-7],m1");
    free(word);
}

static void what_does_not_fit_is_counted(void **state)
{
    static char texts[1000][32];
    const char *names[1000];
    for (int i = 0; i < 1000; i++) {
        snprintf(texts[i], sizeof(texts[i]), "node%d", 2 * i);
        names[i] = texts[i];
    }
    const char *text = list(names, 1000, NAME_RUN_TEXT);
    int named = 1, others;
    for (const char *p = text; (p = strstr(p, ", ")); p++)
        named++;
    assert_int_equal(sscanf(strstr(text, " and "), " and %d others", &others), 1);
    assert_int_equal(named + others, 1000);
    assert_true(strlen(text) > NAME_RUN_TEXT - 60);
    char longest[256];
    memset(longest, 'x', 255);
    longest[255] = 0;
    assert_string_equal(LIST(NAME_RUN_TEXT, longest), longest);
    text = LIST(NAME_RUN_TEXT, longest, longest);
    assert_string_equal(text + 255, " and 1 other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_number_counts_up_and_keeps_its_width),
        cmocka_unit_test(three_or_more_that_count_up_are_one_word),
        cmocka_unit_test(what_does_not_fit_is_counted),
    };
    return cmocka_run_group_tests_name("name-run", tests, NULL, NULL);
}
