/* SPDX-License-Identifier: BSD-3-Clause */
/* test-rank-gpus.c - the user's choice of GPUs against those that the job has on a host */
#include "starter/ranks/rank-gpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char *given[] = {"OTHER", "CUDA_VISIBLE_DEVICES", NULL};

static void a_choice_is_within_outside_or_cannot_be_checked(void **state)
{
    static const struct {
        const char *named, *granted;
        enum gpus_verdict verdict;
    } rows[] = {
        {"", "0,1", GPUS_WITHIN},
        {"-1", "0,1", GPUS_WITHIN},
        {"1", "0,1", GPUS_WITHIN},
        {"1, 0", "0,1", GPUS_WITHIN},
        {"0,-1,7", "0,1", GPUS_WITHIN}, /* programs use what is before it */
        {"0,,7", "0,1", GPUS_WITHIN},
        {"1,GPU-2", "1,GPU-2", GPUS_WITHIN},
        {"0", "1,10", GPUS_OUTSIDE},
        {"1,0", "1,10", GPUS_OUTSIDE},
        {" 0", "1,10", GPUS_OUTSIDE},
        {"01", "1", GPUS_OUTSIDE},
        {"0,GPU-8f2b", "1", GPUS_OUTSIDE},
        {"GPU-8f2b,0", "1", GPUS_OUTSIDE},
        {"0", "GPU-8f2b", GPUS_OUTSIDE},
        {"GPU-8f2b", "0,1", GPUS_UNCHECKED},
        {"GPU-8f", "GPU-8f2b", GPUS_UNCHECKED}, /* the beginning of it may do */
        {"MIG-GPU-8f2b/1/0", "0,1", GPUS_UNCHECKED},
        {"0,MIG-8f2b", "0", GPUS_UNCHECKED},
        {"-2", "0", GPUS_UNCHECKED},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (gpus_check(rows[i].named, rows[i].granted) != rows[i].verdict)
            fail_msg("'%s' of '%s'", rows[i].named, rows[i].granted);
}

static const char *choice(const struct app *app, const char *ids, bool is_launcher_host)
{
    static struct rank_gpus g;
    g = (struct rank_gpus){.ids = ids, .is_launcher_host = is_launcher_host};
    return rank_gpus(app, "CUDA_VISIBLE_DEVICES", &g);
}

static void only_what_was_given_for_the_ranks_is_a_choice(void **state)
{
    char *one[] = {"A=b", "CUDA_VISIBLE_DEVICES=1", NULL},
         *seven[] = {"CUDA_VISIBLE_DEVICES=7", NULL};
    char *none[] = {NULL};
    assert_string_equal(choice(&(struct app){.envp = one, .given_env = none}, "0,1", 0), "0,1");
    assert_string_equal(choice(&(struct app){.envp = one, .given_env = given + 2}, "0,1", 0),
                        "0,1");
    assert_null(choice(&(struct app){.envp = one, .given_env = given}, "0,1", 0));
    assert_string_equal(choice(&(struct app){.envp = seven, .given_env = given}, "0,1", 0), "0,1");
    assert_string_equal(choice(&(struct app){.envp = none, .given_env = given + 2}, "2", 0), "2");
    /* nothing was granted: as any variable */
    assert_null(choice(&(struct app){.envp = seven, .given_env = given}, "", 0));
    /* ranks where mprun is: its own value means the same GPUs */
    assert_null(choice(&(struct app){.envp = one, .given_env = none}, "0,1", 1));
    assert_string_equal(choice(&(struct app){.envp = seven, .given_env = none}, "0,1", 1), "0,1");
    assert_string_equal(choice(&(struct app){.envp = none, .given_env = none}, "0,1", 1), "0,1");
    assert_string_equal(choice(&(struct app){.envp = seven, .given_env = given}, "0,1", 1), "0,1");
    assert_null(choice(&(struct app){.envp = one, .given_env = none}, "", 0));
}

static void ranks_with_gpus_of_their_own_have_what_the_user_gives_or_these(void **state)
{
    char *one[] = {"CUDA_VISIBLE_DEVICES=1", NULL}, *none[] = {NULL};
    const struct app users = {.envp = one, .given_env = given},
                     inherited = {.envp = one, .given_env = none};
    const struct rank_gpus g = {.ids = "0", .is_ranks_own = true, .is_launcher_host = true};
    const struct rank_gpus no = {.ids = "", .is_ranks_own = true};
    assert_null(rank_gpus(&users, given[1], &g));
    assert_string_equal(rank_gpus(&inherited, given[1], &g), "0");
    assert_string_equal(rank_gpus(&inherited, given[1], &no), "");
}

static void each_vendors_variable_has_ids_that_it_understands(void **state)
{
    static const struct {
        const char *ids, *gpu_env;
        unsigned kinds;
        const char *want[5];
    } rows[] = {
        {"0,2",
         "",
         7,
         {"CUDA_VISIBLE_DEVICES=0,2", "ROCR_VISIBLE_DEVICES=0,2", "ZE_AFFINITY_MASK=0,2"}},
        {"GPU-1,2", "", 7, {"CUDA_VISIBLE_DEVICES=GPU-1,2", "ROCR_VISIBLE_DEVICES=GPU-1,2"}},
        {"0.1", "", 1u << GPU_INTEL, {"ZE_AFFINITY_MASK=0.1"}},
        {"0,1", "G", 1u << GPU_AMD, {"ROCR_VISIBLE_DEVICES=0,1", "G=0 1"}},
        {"", "G", 7, {NULL}},
    };
    char *none[] = {NULL}, ret[1 + GPU_KINDS][RANK_VARIABLE_SIZE];
    const struct app app = {.envp = none, .given_env = none};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct rank_gpus g = {.ids = rows[i].ids, .kinds = rows[i].kinds};
        struct step s = {.gpu_env = ""};
        size_t n = 0;
        strcpy(s.gpu_env, rows[i].gpu_env);
        while (rows[i].want[n])
            n++;
        assert_int_equal(rank_gpu_variables(&app, &s, &g, ret), n);
        while (n-- > 0)
            assert_string_equal(ret[n], rows[i].want[n]);
    }
}

static void what_is_told_is_told_of_programs_that_are_here(void **state)
{
    char *mig[] = {"CUDA_VISIBLE_DEVICES=MIG-1", NULL}, *seven[] = {"CUDA_VISIBLE_DEVICES=7", NULL};
    struct rank_cycle pairs[] = {{.first = 0, .stride = 1, .count = 2},
                                 {.first = 2, .stride = 1, .count = 2},
                                 {.first = 0, .stride = 3, .count = 2}};
    struct app apps[] = {{.envp = mig, .given_env = given, .ranks = {&pairs[0], 1}},
                         {.envp = seven, .given_env = given, .ranks = {&pairs[1], 1}}};
    const struct step s = {.apps = apps, .napps = 2};
    const struct placement first = {.ranks = {&pairs[0], 1}}, second = {.ranks = {&pairs[1], 1}},
                           both = {.ranks = {&pairs[2], 1}};
    char text[400], tiny[8];
    rank_gpus_sentence(&s, &first, "0", GPUS_UNCHECKED, text, sizeof(text));
    assert_non_null(strstr(text, "MIG-1"));
    rank_gpus_sentence(&s, &first, "0", GPUS_OUTSIDE, text, sizeof(text));
    assert_string_equal(text, "");
    rank_gpus_sentence(&s, &second, "0", GPUS_UNCHECKED, text, sizeof(text));
    assert_string_equal(text, "");
    rank_gpus_sentence(&s, &second, "0", GPUS_OUTSIDE, text, sizeof(text));
    assert_non_null(strstr(text, "=7 "));
    assert_non_null(strstr(text, "'0'"));
    rank_gpus_sentence(&s, &both, "0", GPUS_OUTSIDE, text, sizeof(text));
    assert_non_null(strstr(text, "=7 "));
    rank_gpus_sentence(&s, &both, "7", GPUS_OUTSIDE, text, sizeof(text));
    assert_string_equal(text, "");
    rank_gpus_sentence(&s, &both, "", GPUS_OUTSIDE, text, sizeof(text));
    assert_string_equal(text, "");
    rank_gpus_sentence(&s, &both, "0", GPUS_OUTSIDE, tiny, sizeof(tiny));
    assert_int_equal(strlen(tiny), sizeof(tiny) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_choice_is_within_outside_or_cannot_be_checked),
        cmocka_unit_test(only_what_was_given_for_the_ranks_is_a_choice),
        cmocka_unit_test(ranks_with_gpus_of_their_own_have_what_the_user_gives_or_these),
        cmocka_unit_test(each_vendors_variable_has_ids_that_it_understands),
        cmocka_unit_test(what_is_told_is_told_of_programs_that_are_here),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
