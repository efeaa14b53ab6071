/* SPDX-License-Identifier: BSD-3-Clause */
/* test-words.c - commands split as a shell does, and words that a shell takes as they are */
#include "common/text/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void splits_to(const char *text, const char *joined)
{
    struct error err = {.text = ""};
    char **words = words_split(text, &err), got[200] = "";
    if (!words)
        fail_msg("'%s': %s", text, err.text);
    for (size_t i = 0; words[i]; i++)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s[%s]", "", words[i]);
    assert_string_equal(got, joined);
    words_free(words);
}

static void words_are_split_at_blanks_and_quotes_hold_them_together(void **state)
{
    splits_to("ssh", "[ssh]");
    splits_to("  ssh \t-x\n", "[ssh][-x]");
    splits_to("a 'b c' \"d e\" f\\ g", "[a][b c][d e][f g]");
    splits_to("a'b'\"c\"d", "[abcd]");
    splits_to("'' \"\"", "[][]");
    splits_to("'\\' \"\\\\\" \"\\n\" \"\\\"\"", "[\\][\\][\\n][\"]");
    splits_to("$HOME *", "[$HOME][*]");
    splits_to("a\\", "[a\\]");
}

static void what_is_no_command_is_refused(void **state)
{
    static const char *const wrong[] = {"", "  ", "'a", "a \"b", "a 'b\" c"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct error err = {.text = ""};
        assert_null(words_split(wrong[i], &err));
        assert_true(strlen(err.text) > 0);
    }
}

static void a_shell_takes_a_quoted_word_as_it_is(void **state)
{
    static const char *const words[] = {
        "/usr/libexec/mprun/mpstarter",
        "",
        "a b",
        "it's",
        "$HOME",
        "`id`",
        "a\\b",
        "!x",
        "a!b",
        "\"",
        "*",
        "~",
        "=a",
        "%1",
        "a=b",
        "a;b&c|d>e",
        "-n",
        "a\tb",
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char command[200], got[100] = "";
        char *quoted = word_quote(words[i]);
        assert_non_null(quoted);
        snprintf(command, sizeof(command), "printf '%%s' %s", quoted);
        FILE *f = popen(command, "r");
        assert_non_null(f);
        got[fread(got, 1, sizeof(got) - 1, f)] = 0;
        assert_int_equal(pclose(f), 0);
        assert_string_equal(got, words[i]);
        char **split = words_split(quoted, NULL); /* and so do we */
        assert_string_equal(split[0], words[i]);
        assert_null(split[1]);
        words_free(split);
        free(quoted);
    }
    char *plain = word_quote("/opt/mprun-1.2/libexec/mpstarter");
    assert_string_equal(plain, "/opt/mprun-1.2/libexec/mpstarter");
    free(plain);
}

static void escapes_to(const char *text, size_t size, const char *shown, size_t taken)
{
    char got[80];
    assert_int_equal(text_escape(text, strlen(text), got, size), taken);
    assert_string_equal(got, shown);
}

static void foreign_text_is_shown_with_escapes(void **state)
{
    escapes_to("a b'\\n\xc3\xa9", 80, "a b'\\n\xc3\xa9", 8);
    escapes_to("\x07\b\t\n\v\f\r\x1b[2J\x7f\x01", 80, "\\a\\b\\t\\n\\v\\f\\r\\x1b[2J\\x7f\\x01",
               13);
    escapes_to("\xff\xc2\x9b\xc3", 80, "\\xff\\xc2\\x9b\\xc3", 4);
    escapes_to("abc\ndef", 8, "abc\\n", 4); /* an escape is whole or not there */
    escapes_to("", 1, "", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_split_at_blanks_and_quotes_hold_them_together),
        cmocka_unit_test(what_is_no_command_is_refused),
        cmocka_unit_test(a_shell_takes_a_quoted_word_as_it_is),
        cmocka_unit_test(foreign_text_is_shown_with_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
