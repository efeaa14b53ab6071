/* SPDX-License-Identifier: BSD-3-Clause */
/* test-options.c - what a table of options accepts, refuses, and prints as help */
#include "common/text/options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every use that was applied, in order: "n=4 tag x=A=1 " */
struct log {
    char text[256];
};

static void note(void *target, const char *name, const char *value)
{
    struct log *l = target;
    size_t n = strlen(l->text);
    snprintf(l->text + n, sizeof(l->text) - n, "%s%s%s ", name, value ? "=" : "",
             value ? value : "");
}

static int apply_n(void *target, const char *value, struct error *err)
{
    if (value[0] == '0')
        return error_set(err, EINVAL, "'%s' is too small", value);
    note(target, "n", value);
    return 0;
}

static int apply_x(void *target, const char *value, struct error *err)
{
    note(target, "x", value);
    return 0;
}

static int apply_dir(void *target, const char *value, struct error *err)
{
    note(target, "dir", value);
    return 0;
}

static int apply_tag(void *target, const char *value, struct error *err)
{
    assert_null(value);
    note(target, "tag", NULL);
    return 0;
}

static int apply_pair(void *target, const char *value, struct error *err)
{
    note(target, "pair", value);
    return 0;
}

static int apply_kill(void *target, const char *value, struct error *err)
{
    note(target, "kill", value);
    return 0;
}

static const struct option_def defs[] = {
    {"-n --np", "N", "Starting", "Start N ranks", OPTION_ONCE, .apply = apply_n},
    {"-x", "NAME", "Starting", "Set a variable", OPTION_APPEND, .apply = apply_x},
    {"--tag-output -l", NULL, "Output",
     "Begin each line of output with the rank that wrote it, which is long enough for two lines",
     OPTION_ONCE, .apply = apply_tag},
    {"--chdir -D --Directory", "DIR", "Starting", "Start in DIR", OPTION_ONCE, .apply = apply_dir},
    {"-v", "NAME[=VALUE]", "Starting", "Set a variable", OPTION_APPEND, .apply = apply_x},
    {"--pair", "NAME VALUE", "Starting", "Set two", OPTION_APPEND, .apply = apply_pair},
    {"--kill -K", "[=N]", "Output", "Kill", OPTION_ONCE, .apply = apply_kill},
    {.names = "--map-by -dirt", .help = "write '-n' instead"},
    {.names = NULL},
};

/* Words after the program's name, ended by NULL: what options_parse() returned. */
static int parse(struct log *log, struct error *err, const char *const words[])
{
    int argc = 0;
    log->text[0] = 0;
    while (words[argc])
        argc++;
    return options_parse(defs, argc, (char *const *)words, 0, log, err);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void every_spelling_of_a_value_is_the_same(void **state)
{
    static const char *const spellings[][3] = {
        {"-n", "4"}, {"-n4"}, {"-n=4"}, {"-np", "4"}, {"--np", "4"}, {"--np=4"}, {"-np=4", NULL},
    };
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        struct log log;
        struct error err;
        assert_true(parse(&log, &err, spellings[i]) > 0);
        assert_string_equal(log.text, "n=4 ");
    }
}

static void parsing_stops_at_the_program_at_a_colon_and_behind_two_dashes(void **state)
{
    struct log log;
    struct error err;
    assert_int_equal(parse(&log, &err, WORDS("-n", "4", "./a", "-l")), 2);
    assert_string_equal(log.text, "n=4 ");
    assert_int_equal(parse(&log, &err, WORDS("-l", ":", "-n", "4")), 1);
    assert_int_equal(parse(&log, &err, WORDS("-l", "--", "-n", "4")), 2);
    assert_string_equal(log.text, "tag ");
    assert_int_equal(parse(&log, &err, WORDS("-", "-l")), 0);
}

static void uses_are_applied_in_order_and_values_may_hold_anything(void **state)
{
    struct log log;
    struct error err;
    assert_int_equal(
        parse(&log, &err, WORDS("-vA=1", "-l", "-xB=", "-D/tmp", "-n", "2", "-x", "-y")), 8);
    assert_string_equal(log.text, "x=A=1 tag x=B= dir=/tmp n=2 x=-y ");
}

static void a_value_of_two_words_is_one_setting(void **state)
{
    struct log log;
    struct error err;
    assert_int_equal(parse(&log, &err, WORDS("--pair", "A", "-1=x", "-pair", "B", "", "./a")), 6);
    assert_string_equal(log.text, "pair=A=-1=x pair=B= ");
    assert_int_equal(parse(&log, &err, WORDS("--pair=A", "b", "./a")), 2);
    assert_string_equal(log.text, "pair=A=b ");
}

static void a_value_that_stands_behind_an_equals_sign_alone_leaves_the_next_word(void **state)
{
    struct log log;
    struct error err;
    assert_int_equal(parse(&log, &err, WORDS("-K", "./a")), 1);
    assert_string_equal(log.text, "kill ");
    assert_int_equal(parse(&log, &err, WORDS("--kill=1", "-K1", "-l", "./a")), 3);
    assert_string_equal(log.text, "kill=1 kill=1 tag ");
}

static void the_same_value_twice_is_fine_and_different_ones_are_not(void **state)
{
    struct log log;
    struct error err;
    assert_int_equal(parse(&log, &err, WORDS("-n", "4", "-np", "4", "a")), 4);
    assert_int_equal(parse(&log, &err, WORDS("-n", "4", "-np", "5", "a")), -1);
    assert_string_equal(err.text, "option '-np' is given twice, with '4' and with '5'; keep one");
    assert_int_equal(parse(&log, &err, WORDS("-x", "A", "-x", "B", "a")), 4);
}

static void a_mistake_is_told_precisely(void **state)
{
    static const struct {
        const char *words[4];
        const char *says;
    } cases[] = {
        {{"-n"}, "option '-n' needs a value: '-n N'"},
        {{"-n", ":"}, "option '-n' needs a value: '-n N'"},
        {{"-n", "-l"}, "option '-n' needs a value ('-n N'), but the option '-l' follows"},
        {{"--np", "--what"},
         "option '--np' needs a value ('--np N'), but the option '--what' "
         "follows"},
        {{"--np=0"}, "option '--np': '0' is too small"},
        {{"--tag-output=yes"}, "option '--tag-output' takes no value, but has 'yes'"},
        {{"--tagoutput"}, "unknown option '--tagoutput'; the nearest is '--tag-output'"},
        {{"--pair", "A"}, "option '--pair' needs a value: '--pair NAME VALUE'"},
        {{"--pair", "A", "-l"},
         "option '--pair' needs a value ('--pair NAME VALUE'), but the option '-l' follows"},
        {{"--pair", "A=1", "b"}, "option '--pair': 'A=1' is no name; write '--pair NAME VALUE'"},
        {{"--chidr=x"}, "unknown option '--chidr=x'; the nearest is '--chdir'"},
        {{"--tag"}, "unknown option '--tag'; the nearest is '--tag-output'"},
        {{"--frobnicate"}, "unknown option '--frobnicate'; no option is like it"},
        {{"-z"}, "unknown option '-z'; no option is like it"},
        {{"-np4"}, "unknown option '-np4'; a value is a word of its own: '-np 4'"},
        {{"-Dircetory"}, "unknown option '-Dircetory'; the nearest is '--Directory'"},
        {{"-vml"}, "unknown option '-vml'; no option is like it"},
        {{"-nolocal"}, "unknown option '-nolocal'; no option is like it"},
        {{"-lx"}, "unknown option '-lx'; options do not share a dash: write '-l -x'"},
        {{"--map-by", "core"}, "option '--map-by': write '-n' instead"},
        {{"-map-by=core"}, "option '-map-by': write '-n' instead"},
        /* an exact name comes before a letter with its value, and before one that lacks a dash */
        {{"-dirt"}, "option '-dirt': write '-n' instead"},
        {{"--map-bx"}, "unknown option '--map-bx'; if '--map-by' is meant: write '-n' instead"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct log log;
        struct error err;
        assert_int_equal(parse(&log, &err, cases[i].words), -1);
        assert_string_equal(err.text, cases[i].says);
        assert_string_equal(log.text, "");
    }
}

static void very_long_words_are_cut_in_messages(void **state)
{
    struct log log;
    struct error err;
    char *word = malloc(100001);
    memset(word, '-', 100000);
    word[100000] = 0;
    assert_int_equal(parse(&log, &err, WORDS(word)), -1);
    assert_true(strlen(err.text) < 200);
    free(word);
}

static void the_nearest_word_is_a_small_slip_away(void **state)
{
    static const char *const words[] = {"rank", "step", "memory", "devices", NULL};
    static const char *const all = "valid: rank, step, memory, devices";
    static const struct {
        const char *word, *nearest;
    } cases[] = {{"memroy", "memory"}, {"ranks", "rank"}, {"device", "devices"}, {"tree", NULL}};
    struct error err;
    char want[200];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *word = cases[i].word, *nearest = cases[i].nearest;
        if (nearest)
            snprintf(want, sizeof(want), "unknown word '%s', the nearest is '%s'; %s", word,
                     nearest, all);
        else
            snprintf(want, sizeof(want), "unknown word '%s'; %s", word, all);
        assert_int_equal(option_word(word, strlen(word), words, &err), -1);
        assert_string_equal(err.text, want);
    }
    snprintf(want, sizeof(want), "a word is missing; %s", all);
    assert_int_equal(option_word("", 0, words, &err), -1);
    assert_string_equal(err.text, want);
    assert_int_equal(option_word("step,rank", 4, words, &err), 1);
}

static void help_lists_each_group_once_and_wraps(void **state)
{
    char *help = options_help(defs, 70);
    assert_string_equal(help,
                        "Starting:\n"
                        "  -n, --np N                Start N ranks\n"
                        "  -x NAME                   Set a variable\n"
                        "  --chdir, -D, --Directory DIR\n"
                        "                            Start in DIR\n"
                        "  -v NAME[=VALUE]           Set a variable\n"
                        "  --pair NAME VALUE         Set two\n"
                        "\n"
                        "Output:\n"
                        "  --tag-output, -l          Begin each line of output with the rank\n"
                        "                            that wrote it, which is long enough for\n"
                        "                            two lines\n"
                        "  --kill, -K[=N]            Kill\n");
    free(help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_of_a_value_is_the_same),
        cmocka_unit_test(parsing_stops_at_the_program_at_a_colon_and_behind_two_dashes),
        cmocka_unit_test(uses_are_applied_in_order_and_values_may_hold_anything),
        cmocka_unit_test(a_value_of_two_words_is_one_setting),
        cmocka_unit_test(a_value_that_stands_behind_an_equals_sign_alone_leaves_the_next_word),
        cmocka_unit_test(the_same_value_twice_is_fine_and_different_ones_are_not),
        cmocka_unit_test(a_mistake_is_told_precisely),
        cmocka_unit_test(very_long_words_are_cut_in_messages),
        cmocka_unit_test(the_nearest_word_is_a_small_slip_away),
        cmocka_unit_test(help_lists_each_group_once_and_wraps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
