/* SPDX-License-Identifier: BSD-3-Clause */
/* test-cmdline.c - what mprun's command line gives, and that the manual page and --help list the
 * options there are (wrong lines are in tests/system/mistakes.txt) */
#include "launcher/cmdline/cmdline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/text/options.h"
#include "common/text/words.h"
#include "rm-adapters/adapter.h"
#include "tests/unit/option-names.h"

#define LINE(...) ((char *const[]){"mprun", __VA_ARGS__, NULL})

static int parse(struct cmdline *c, struct error *err, char *const argv[])
{
    int argc = 0;
    while (argv[argc])
        argc++;
    return cmdline_parse(argc, argv, c, err);
}

static void must_parse(struct cmdline *c, char *const argv[])
{
    struct error err;
    if (parse(c, &err, argv) < 0)
        fail_msg("%s", err.text);
}

static void without_options_everything_has_its_default(void **state)
{
    struct cmdline c;
    must_parse(&c, LINE("./a", "-n", "3"));
    assert_int_equal(c.napps, 1);
    assert_int_equal(c.apps[0].argc, 3);
    assert_string_equal(c.apps[0].argv[2], "3");
    assert_int_equal(c.nranks, 0);
    assert_int_equal(c.place.per_host, 0);
    assert_null(c.rm);
    assert_int_equal(c.links.transport, TRANSPORT_AUTO);
    assert_int_equal(c.links.security, 1);
    assert_int_equal(c.place.oversubscribe, -1);
    assert_int_equal(c.place.bind.policy, BIND_DEFAULT);
    assert_int_equal(c.step.pmi, PMI_KIND_PMIX | PMI_KIND_PMI1 | PMI_KIND_PMI2);
    assert_int_equal(c.step.stdin_target, STDIN_RANK);
    assert_int_equal(c.step.stdin_rank, 0);
    assert_true(c.step.kill_grace == 10 && c.timeout == 0);
    assert_false(c.step.containment.tracking_set);
    assert_false(c.step.rank_limits.memory.set || c.step.host_limits.memory.set);
    cmdline_free(&c);
}

static void every_option_reaches_its_place(void **state)
{
    struct cmdline c;
    must_parse(&c,
               LINE("-N", "2", "--rm", "local:4", "--transport=tcp", "--link-security", "none",
                    "--oversubscribe", "--bind-to", "core", "--report-bindings", "--mem-per-rank",
                    "1G", "--mem", "2G", "--containment=step,memory,pids", "--pmi", "none", "-l",
                    "--timestamp-output", "--stdin", "all", "--timeout", "1m", "--kill-grace", "0",
                    "--report", "usage", "--report-json", "-", "--dry-run", "-v", "./a"));
    assert_int_equal(c.place.per_host, 2);
    assert_ptr_equal(c.rm, &rm_adapter_local);
    assert_string_equal(c.hosts.argument, "4");
    assert_int_equal(c.links.transport, TRANSPORT_TCP);
    assert_int_equal(c.links.security, 0);
    assert_int_equal(c.place.oversubscribe, 1);
    assert_int_equal(c.place.bind.policy, BIND_TO);
    assert_true(c.report_bindings && c.output.lines.tag && c.output.lines.timestamp && c.dry_run &&
                c.report.usage);
    assert_true(c.step.rank_limits.memory.value == 1ULL << 30);
    assert_true(c.step.host_limits.memory.value == 2ULL << 30);
    assert_true(c.step.containment.tracking_set && c.step.containment.tracking == TRACK_STEP);
    assert_true(c.step.containment.memory && c.step.containment.pids);
    assert_false(c.step.containment.cpuset || c.step.containment.devices);
    assert_int_equal(c.step.pmi, 0);
    assert_int_equal(c.step.stdin_target, STDIN_ALL);
    assert_true(c.timeout == 60 && c.step.kill_grace == 0);
    assert_string_equal(c.report.json, "-");
    assert_int_equal(c.verbose, 1);
    cmdline_free(&c);
}

static void a_colon_separates_programs_with_options_of_their_own(void **state)
{
    struct cmdline c;
    must_parse(&c, LINE("-l", "-n", "1", "./m", "a:b", ":", "-np", "7", "-x", "A=1", "--wdir",
                        "/tmp", "./w", "-l"));
    assert_int_equal(c.napps, 2);
    assert_int_equal(c.nranks, 8);
    assert_int_equal(c.apps[0].argc, 2);
    assert_string_equal(c.apps[0].argv[1], "a:b");
    assert_null(c.apps[0].wdir);
    assert_int_equal(c.apps[0].nenv, 0);
    assert_int_equal(c.apps[1].nranks, 7);
    assert_int_equal(c.apps[1].argc, 2);
    assert_string_equal(c.apps[1].argv[1], "-l");
    assert_string_equal(c.apps[1].wdir, "/tmp");
    assert_string_equal(c.apps[1].env[0], "A=1");
    cmdline_free(&c);
}

static void help_and_version_need_no_program(void **state)
{
    struct cmdline c;
    must_parse(&c, LINE("--help"));
    assert_true(c.help);
    cmdline_free(&c);
    must_parse(&c, LINE("-n", "4", "-V"));
    assert_true(c.version);
    cmdline_free(&c);
}

static void a_failed_parse_leaves_nothing_to_free(void **state)
{
    struct cmdline c;
    struct error err;
    assert_int_equal(parse(&c, &err, LINE("-x", "A=1", "./a", ":", "-x", "B=1", "-q", "./b")), -1);
    assert_null(c.apps);
    assert_int_equal(c.napps, 0);
    cmdline_free(&c);
}

static void settings_replace_and_extend_the_environment(void **state)
{
    char *const base[] = {"A=old", "AB=kept", "odd", "C=", NULL};
    static const char *const want[] = {"A=new=x", "AB=kept",           "odd", "C=c",
                                       "D=",      "PMIX_MCA_gds=hash", NULL};
    struct cmdline c;
    must_parse(&c, LINE("-x", "A=new=x", "-x", "D=", "-x", "AB", "-x", "C=c", "-x", "E", "-x",
                        "D=", "-x", "PMIX_MCA_gds=hash", "./a"));
    char **envp = cmdline_app_environ(&c.apps[0], base);
    size_t i;
    for (i = 0; want[i]; i++) {
        assert_non_null(envp[i]);
        assert_string_equal(envp[i], want[i]);
        free(envp[i]);
    }
    assert_null(envp[i]);
    free(envp);
    cmdline_free(&c);
}

/* "A=1 B=2 ": what is set for one program of a line */
static void format_settings(const struct cmdline_app *app, char *buf, size_t n)
{
    buf[0] = 0;
    for (size_t i = 0; i < app->nenv; i++)
        snprintf(buf + strlen(buf), n - strlen(buf), "%s ", app->env[i]);
}

static void settings_in_the_words_of_other_launchers_are_the_same(void **state)
{
    struct cmdline c;
    char first[200], second[200];
    must_parse(&c, LINE("-genv", "A", "all", "-gmca", "pml", "ob1", "--export=ALL,E=1,F=,G",
                        "--mca", "btl", "self,tcp", "-n", "1", "-x", "B=b", "./a", ":", "-n", "1",
                        "-env", "A", "own", "./b"));
    format_settings(&c.apps[0], first, sizeof(first));
    format_settings(&c.apps[1], second, sizeof(second));
    assert_string_equal(first, "OMPI_MCA_btl=self,tcp B=b A=all OMPI_MCA_pml=ob1 E=1 F= G ");
    assert_string_equal(second, "A=own OMPI_MCA_pml=ob1 E=1 F= G ");
    cmdline_free(&c);
}

static void words_of_srun_for_cores_and_mpi_are_the_same(void **state)
{
    struct cmdline c;
    must_parse(&c, LINE("--cpu-bind=verbose,cores", "--mpi=pmix", "-u", "-K", "--exact", "./a"));
    assert_true(c.place.bind.policy == BIND_TO && c.report_bindings && c.step.pmi == PMI_KIND_PMIX);
    assert_int_equal(c.apps[0].argc, 1);
    cmdline_free(&c);
    must_parse(&c, LINE("--cpu-bind=q,none", "-Q", "-K1", "-genvall", "./a"));
    assert_true(c.place.bind.policy == BIND_NONE && !c.report_bindings && c.quiet);
    cmdline_free(&c);
    must_parse(&c, LINE("--cpu-bind", "v", "./a"));
    assert_true(c.place.bind.policy == BIND_DEFAULT && c.report_bindings);
    cmdline_free(&c);
}

static void words_of_mpirun_for_places_are_the_same(void **state)
{
    struct cmdline c;
    must_parse(&c, LINE("--map-by", "ppr:2:node:PE=4", "-N", "2", "./a"));
    assert_true(c.place.per_host == 2 && c.place.bind.cores == 4);
    cmdline_free(&c);
    must_parse(&c, LINE("-map-by", "core", "--byslot", "--cpus-per-task=3", "./a"));
    assert_true(c.place.per_host == 0 && c.place.bind.cores == 3);
    cmdline_free(&c);
    must_parse(&c, LINE("--map-by=slot:pe=2", "./a"));
    assert_true(c.place.per_host == 0 && c.place.bind.cores == 2 && !c.place.turn);
    cmdline_free(&c);
    must_parse(&c, LINE("--map-by", "node:PE=2", "./a"));
    assert_true(c.place.turn == 1 && c.place.bind.cores == 2);
    cmdline_free(&c);
    must_parse(&c, LINE("-bynode", "./a"));
    assert_true(c.place.turn == 1);
    cmdline_free(&c);
    must_parse(&c, LINE("--distribution=cyclic", "./a"));
    assert_true(c.place.turn == 1);
    cmdline_free(&c);
    must_parse(&c, LINE("--distribution", "block", "./a"));
    assert_int_equal(c.place.turn, 0);
    cmdline_free(&c);
}

static void a_dialect_gives_words_the_meaning_of_its_launcher(void **state)
{
    struct cmdline c;
    must_parse(&c, LINE("--as", "srun", "-N", "2", "-n8", "-c4", "-m", "cyclic", "-x", "n1,n2",
                        "--mem=64000", "-t", "1-2:30", "-p", "debug", "--account=x", "-s", "./a"));
    assert_true(c.dialect == DIALECT_SRUN && c.place.nodes_min == 2 && c.place.nodes_max == 2);
    assert_true(c.nranks == 8 && c.place.bind.cores == 4 && c.place.turn == 1 &&
                c.place.per_host == 0);
    assert_string_equal(c.place.excluded[0], "n1,n2");
    assert_true(c.step.host_limits.memory.value == 64000ULL << 20);
    assert_true(c.timeout == 86400 + 2 * 3600 + 30 * 60);
    assert_string_equal(c.for_job, "'-p', '--account', '-s'");
    cmdline_free(&c);
    must_parse(&c, (char *const[]){"/opt/bin/srun", "-t", "5", "-N", "2-4", "./a", NULL});
    assert_true(c.timeout == 300 && c.place.nodes_min == 2 && c.place.nodes_max == 4 &&
                c.nranks == 0);
    cmdline_free(&c);
    must_parse(&c, (char *const[]){"mpirun", "-c", "4", "-N", "2", "-s", "./a", NULL});
    assert_true(c.nranks == 4 && c.place.per_host == 2 && c.preload.binary);
    cmdline_free(&c);
    must_parse(&c, LINE("--as=mpiexec", "-s", "all", "-genv", "A=1", "-f", "hosts", "./a"));
    assert_true(c.step.stdin_target == STDIN_ALL && c.hosts.nfiles == 1);
    assert_string_equal(c.apps[0].env[0], "A=1");
    cmdline_free(&c);
}

static void names_that_are_given_values_are_known(void **state)
{
    static const char *const want[] = {"A", "D", "C", NULL};
    struct cmdline c;
    must_parse(&c, LINE("-n", "1", "-x", "A=new=x", "-x", "D=", "-x", "AB", "--env", "C=c", "./a",
                        ":", "-n", "1", "./b"));
    char **given = cmdline_app_given(&c.apps[0]), **none = cmdline_app_given(&c.apps[1]);
    size_t i;
    for (i = 0; want[i]; i++) {
        assert_string_equal(given[i], want[i]);
        free(given[i]);
    }
    assert_null(given[i]);
    assert_null(none[0]);
    free(given);
    free(none);
    cmdline_free(&c);
}

/* ---- the table, the manual page and --help --------------------------------------------------- */

/* What advice says in place of a value, and a value. */
static const char *value_for(const char *word)
{
    static const char *const values[][2] = {
        {"N", "2"},
        {"K", "2"},
        {"TIME", "10"},
        {"SIZE", "1G"},
        {"LIST", "0"},
        {"HOSTS", "n1"},
        {"HOW", "node"},
        {"CMD", "ssh"},
        {"NAME=VALUE", "A=1"},
        {"LOW-HIGH", "9000-9010"},
        {"OMP_NUM_THREADS=N", "OMP_NUM_THREADS=2"},
        {"ppr:K:socket", "ppr:2:socket"},
        {"map_cpu:LIST", "map_cpu:0"},
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (strcmp(word, values[i][0]) == 0)
            return values[i][1];
    return word;
}

/* Is "-n N" valid in this dialect, or "mprun -n 1 ./a" in mprun's own? */
static void must_be_valid(const char *text, enum dialect d, const char *of)
{
    char *argv[64] = {"mprun", "--as", (char *)(uintptr_t)dialect_words[d]};
    int argc = 3;
    struct cmdline c;
    struct error err;
    char **words = words_split(text, &err);
    assert_non_null(words);
    bool whole = strcmp(words[0], "mprun") == 0;
    if (whole || strcmp(words[0], "--as") == 0)
        argc = 1;
    if (d == DIALECT_FLUX && argc == 3 && !strstr(text, "--np")) { /* it has one rank otherwise */
        argv[argc++] = "-n";
        argv[argc++] = "4";
    }
    for (int i = whole; words[i]; i++)
        argv[argc++] = (char *)(uintptr_t)value_for(words[i]);
    if (!whole)
        argv[argc++] = "./a";
    if (cmdline_parse(argc, argv, &c, &err) < 0)
        fail_msg("'%s' says to write '%s' to %s: %s", of, text, dialect_words[d], err.text);
    cmdline_free(&c);
    words_free(words);
}

/* Is the option about the same in this dialect as in mprun's own? */
static bool is_same(const char *text, enum dialect d)
{
    size_t len = strcspn(text, " ");
    struct option_def *own = dialect_options(cmdline_options(), NULL, DIALECT_MPRUN),
                      *defs = dialect_options(cmdline_options(), cmdline_peer_options(), d);
    const struct option_def *a = options_find(own, text, len), *b = options_find(defs, text, len);
    bool same = a && b &&
                ((a->apply == b->apply && a->kind == b->kind && a->member == b->member) ||
                 (a->group && b->group && strcmp(a->group, b->group) == 0));
    /* with values in other words there, but these */
    if ((d == DIALECT_FLUX && strncmp(text, "--env ", 6) == 0) ||
        (d == DIALECT_MPIEXEC &&
         (strncmp(text, "--bind-to ", 10) == 0 || strcmp(text, "--outfile-pattern out.%r") == 0 ||
          strcmp(text, "--errfile-pattern err.%r") == 0)))
        same = true;
    free(own);
    free(defs);
    return same;
}

/* Each text in quotes that begins with an option, or is a line of mprun. */
static int try_advice(const struct option_def *refused, enum dialect d)
{
    int tried = 0;
    for (const char *at = refused->help; (at = strchr(at, '\'')); at++) {
        if (strncmp(at, "'-", 2) != 0 && strncmp(at, "'mprun ", 7) != 0)
            continue;
        char *text = strndup(at + 1, strcspn(at + 1, "'"));
        must_be_valid(text, d, refused->names);
        if (text[0] == '-' && strncmp(text, "--as ", 5) != 0 && !is_same(text, d))
            fail_msg("'%s' says to write '%s' to %s, where it means something else", refused->names,
                     text, dialect_words[d]);
        free(text);
        at += strcspn(at + 1, "'") + 1;
        tried++;
    }
    return tried;
}

static void what_a_refusal_says_to_write_is_an_option_there(void **state)
{
    int tried = 0, refused = 0;
    for (int d = 0; d < DIALECTS; d++) {
        struct option_def *defs =
            dialect_options(cmdline_options(), cmdline_peer_options(), (enum dialect)d);
        for (const struct option_def *o = defs; o->names; o++)
            if (!o->apply && !o->kind) {
                refused++;
                tried += try_advice(o, (enum dialect)d);
            }
        free(defs);
    }
    if (refused < 60 * DIALECTS || tried < 60 * DIALECTS)
        fail_msg("only %d entries with %d texts", refused, tried);
}

/* Is this word, or for "ppr:" something behind it, a value of the option? */
static bool is_value(const struct option_def *o, const char *word, enum dialect d)
{
    static const char *const behind[] = {"2:core", "0x1", "2", "1G"};
    size_t len = strlen(word), n = strchr(":=", word[len - 1]) ? 4 : 1;
    bool is_valid = false;
    for (size_t i = 0; i < n && !is_valid; i++) {
        char option[256], name[32];
        struct cmdline c;
        struct error err;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(o->names, " "), o->names);
        snprintf(option, sizeof(option), "%s%s", word, n > 1 ? behind[i] : "");
        char *const argv[] = {
            "mprun",
            "--as",
            (char *)(uintptr_t)(strcmp(name, "--as") == 0 ? word : dialect_words[d]),
            name,
            option,
            "./a"};
        is_valid = cmdline_parse(6, argv, &c, &err) == 0;
        if (is_valid)
            cmdline_free(&c);
    }
    return is_valid;
}

static void the_words_that_completion_offers_are_values(void **state)
{
    int tried = 0;
    for (int d = 0; d < DIALECTS; d++) {
        struct option_def *defs = dialect_options(cmdline_options(), NULL, (enum dialect)d);
        for (const struct option_def *o = defs; o->names; o++)
            for (size_t i = 0; o->words && o->words[i]; i++, tried++)
                if (!is_value(o, o->words[i], (enum dialect)d))
                    fail_msg("'%s' is no value of '%s'", o->words[i], o->names);
        free(defs);
    }
    assert_true(tried > 50 * DIALECTS);
}

static void the_manual_page_lists_the_options_there_are(void **state)
{
    struct option_def *own = dialect_options(cmdline_options(), NULL, DIALECT_MPRUN);
    assert_manual_lists(own, "mprun.1");
    free(own);
}

static void help_lists_the_options_there_are(void **state)
{
    struct option_def *own = dialect_options(cmdline_options(), NULL, DIALECT_MPRUN);
    for (size_t width = 60; width <= 120; width += 20) {
        char *text = cmdline_help("mprun", HELP_ALL, width);
        assert_help_lists(own, text);
        free(text);
    }
    free(own);
}

/* A name that two entries have would only ever mean the first. */
static void no_name_has_two_meanings_in_a_dialect(void **state)
{
    for (int d = -1; d < DIALECTS; d++)
        assert_names_are_unique(cmdline_options(), cmdline_peer_options(), d < 0 ? 0 : 1U << d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_options_everything_has_its_default),
        cmocka_unit_test(every_option_reaches_its_place),
        cmocka_unit_test(a_colon_separates_programs_with_options_of_their_own),
        cmocka_unit_test(help_and_version_need_no_program),
        cmocka_unit_test(a_failed_parse_leaves_nothing_to_free),
        cmocka_unit_test(settings_replace_and_extend_the_environment),
        cmocka_unit_test(settings_in_the_words_of_other_launchers_are_the_same),
        cmocka_unit_test(words_of_srun_for_cores_and_mpi_are_the_same),
        cmocka_unit_test(words_of_mpirun_for_places_are_the_same),
        cmocka_unit_test(a_dialect_gives_words_the_meaning_of_its_launcher),
        cmocka_unit_test(names_that_are_given_values_are_known),
        cmocka_unit_test(the_words_that_completion_offers_are_values),
        cmocka_unit_test(what_a_refusal_says_to_write_is_an_option_there),
        cmocka_unit_test(the_manual_page_lists_the_options_there_are),
        cmocka_unit_test(help_lists_the_options_there_are),
        cmocka_unit_test(no_name_has_two_meanings_in_a_dialect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
