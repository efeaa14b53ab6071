/* SPDX-License-Identifier: BSD-3-Clause */
/* test-mprsrc.c - mprsrc's command line, and that the manual page and --help list the options there
 * are */
#include "tools/mprsrc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/option-names.h"

#define LINE(...) ((char *[]){(char *)"mprsrc", __VA_ARGS__, NULL})

static int parse(struct mprsrc_options *o, char **argv, struct error *err)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    *o = mprsrc_defaults();
    return tool_parse(&mprsrc_tool, argc, argv, o, err);
}

static struct mprsrc_options must_parse(char **argv)
{
    struct mprsrc_options o;
    struct error err;
    if (parse(&o, argv, &err) < 0)
        fail_msg("%s", err.text);
    return o;
}

static void without_options_everything_has_its_default(void **state)
{
    struct mprsrc_options o = must_parse((char *[]){(char *)"mprsrc", NULL});
    assert_true(o.mode == MODE_USERENV && !o.job && !o.task && !o.only && !o.host && !o.json);
    assert_true(o.timeout == 60);
    assert_string_equal(o.names.memory, "m_mem_free");
    assert_string_equal(o.names.virtual_memory, "h_vmem");
    assert_string_equal(o.names.gpu, "nvidia_gpu");
    assert_string_equal(o.names.phi, "intel_phi");
}

static void the_spellings_of_the_document_are_understood(void **state)
{
    assert_int_equal(must_parse(LINE("-m", "prolog")).mode, MODE_PROLOG);
    assert_int_equal(must_parse(LINE("--mode=epilog")).mode, MODE_EPILOG);
    assert_int_equal(must_parse(LINE("--mode", "userenv")).mode, MODE_USERENV);
    assert_int_equal(must_parse(LINE("-p")).mode, MODE_PROLOG);
    assert_int_equal(must_parse(LINE("--prolog", "-m", "prolog")).mode, MODE_PROLOG);
    assert_int_equal(must_parse(LINE("-e")).mode, MODE_EPILOG);
    assert_int_equal(must_parse(LINE("--epilog")).mode, MODE_EPILOG);
    assert_true(must_parse(LINE("-o")).only && must_parse(LINE("--only")).only);
    assert_string_equal(must_parse(LINE("-H", "n1")).host, "n1");
    assert_string_equal(must_parse(LINE("--host=n1")).host, "n1");
    assert_int_equal(must_parse(LINE("-j", "23")).job, 23);
    assert_int_equal(must_parse(LINE("-j23")).job, 23);
    assert_int_equal(must_parse(LINE("--jobid=23")).job, 23);
    assert_true(must_parse(LINE("-h")).request.help && must_parse(LINE("--help")).request.help);
}

static void a_task_stands_alone_or_behind_the_job(void **state)
{
    struct mprsrc_options o = must_parse(LINE("-j", "23.4"));
    assert_true(o.job == 23 && o.task == 4);
    o = must_parse(LINE("-j", "23", "4"));
    assert_true(o.job == 23 && o.task == 4);
    o = must_parse(LINE("4", "-j", "23", "-p"));
    assert_true(o.job == 23 && o.task == 4 && o.mode == MODE_PROLOG);
    assert_int_equal(must_parse(LINE("undefined")).task, 1);
    assert_int_equal(must_parse(LINE("-j", "23.4", "4")).task, 4);
}

static void complexes_have_the_names_of_the_site(void **state)
{
    struct mprsrc_options o =
        must_parse(LINE("--complex", "gpu=gpus", "--complex", "memory=mem_free"));
    assert_string_equal(o.names.gpu, "gpus");
    assert_string_equal(o.names.memory, "mem_free");
    assert_string_equal(o.names.phi, "intel_phi");
}

static void what_is_wrong_is_named(void **state)
{
    static char *const lines[][6] = {
        {(char *)"mprsrc", (char *)"-m", (char *)"both"},
        {(char *)"mprsrc", (char *)"-p", (char *)"-e"},
        {(char *)"mprsrc", (char *)"-m", (char *)"epilog", (char *)"-p"},
        {(char *)"mprsrc", (char *)"-o", (char *)"-H", (char *)"n1"},
        {(char *)"mprsrc", (char *)"-H", (char *)""},
        {(char *)"mprsrc", (char *)"-j", (char *)"0"},
        {(char *)"mprsrc", (char *)"-j", (char *)"23.0"},
        {(char *)"mprsrc", (char *)"-j", (char *)"23."},
        {(char *)"mprsrc", (char *)"-j", (char *)"-1"},
        {(char *)"mprsrc", (char *)"-j", (char *)"4294967296"},
        {(char *)"mprsrc", (char *)"-j", (char *)"1;id"},
        {(char *)"mprsrc", (char *)"-j", (char *)"23.4", (char *)"5"},
        {(char *)"mprsrc", (char *)"1", (char *)"2"},
        {(char *)"mprsrc", (char *)"x"},
        {(char *)"mprsrc", (char *)"--complex", (char *)"gpus=x"},
        {(char *)"mprsrc", (char *)"--complex", (char *)"gpu="},
        {(char *)"mprsrc", (char *)"--complex", (char *)"gpu"},
        {(char *)"mprsrc", (char *)"--timeout", (char *)"soon"},
        {(char *)"mprsrc", (char *)"--hots", (char *)"n1"},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct mprsrc_options o;
        struct error err = {.text = ""};
        if (parse(&o, (char **)lines[i], &err) == 0)
            fail_msg("line %zu was taken", i);
        assert_true(strlen(err.text) > 10);
    }
}

static void the_manual_page_lists_the_options_there_are(void **state)
{
    assert_manual_lists(mprsrc_tool.options, "mprsrc.1");
}

static void help_lists_the_options_there_are(void **state)
{
    for (size_t width = 60; width <= 120; width += 20) {
        char *text = tool_help(&mprsrc_tool, width);
        assert_help_lists(mprsrc_tool.options, text);
        free(text);
    }
}

static void no_name_is_in_the_table_twice(void **state)
{
    assert_names_are_unique(mprsrc_tool.options, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_options_everything_has_its_default),
        cmocka_unit_test(the_spellings_of_the_document_are_understood),
        cmocka_unit_test(a_task_stands_alone_or_behind_the_job),
        cmocka_unit_test(complexes_have_the_names_of_the_site),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(the_manual_page_lists_the_options_there_are),
        cmocka_unit_test(help_lists_the_options_there_are),
        cmocka_unit_test(no_name_is_in_the_table_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
