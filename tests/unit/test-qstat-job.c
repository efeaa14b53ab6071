/* SPDX-License-Identifier: BSD-3-Clause */
/* test-qstat-job.c - jobs as three Grid Engines describe them, whole and damaged; the samples
 * are tests/fuzz/corpus/qstat-xml */
#include "rm-adapters/gridengine/qstat-job.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/files/fdio.h"

static char *sample(const char *name, size_t *ret_len)
{
    const char *source = getenv("MPRUN_SOURCE");
    char path[4096];
    snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/qstat-xml/%s", source ? source : ".", name);
    char *text = file_slurp_at(AT_FDCWD, path, 1 << 20, ret_len);
    if (!text)
        fail_msg("cannot read %s", path);
    return text;
}

static int parse(const char *text, uint32_t task, struct gridengine_job *job, struct error *err)
{
    return gridengine_job_parse(text, strlen(text), task, job, err);
}

static void must_parse(const char *name, uint32_t task, struct gridengine_job *job)
{
    struct error err;
    size_t n;
    char *text = sample(name, &n);
    if (gridengine_job_parse(text, n, task, job, &err) < 0)
        fail_msg("%s: %s", name, err.text);
    free(text);
}

/* "m_mem_free=512*1 ..." (name, value, consumable), then "host:slots ...", "name@host=amount(ids)"
 */
static void assert_job(const struct gridengine_job *job, const char *want)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    fprintf(f, "%u.%u %s %s %s", job->id, job->task, job->owner, job->name, job->pe);
    for (size_t i = 0; i < job->nrequests; i++)
        fprintf(f, " %s=%llu*%u/%u", job->requests[i].name,
                (unsigned long long)job->requests[i].value.whole, job->requests[i].consumable,
                job->requests[i].scope);
    for (size_t i = 0; i < job->hosts.allocation.nhosts; i++)
        fprintf(f, " %s:%u", job->hosts.allocation.hosts[i].name,
                job->hosts.allocation.hosts[i].slots.value);
    for (size_t i = 0; i < job->ngrants; i++)
        fprintf(f, " %s@%s=%llu(%s)", job->grants[i].name, job->grants[i].host,
                (unsigned long long)job->grants[i].amount.whole,
                job->grants[i].ids ? job->grants[i].ids : "-");
    fclose(f);
    assert_string_equal(text, want);
    free(text);
}

static void the_samples_say_what_they_say(void **state)
{
    static const struct {
        const char *name;
        uint32_t task;
        const char *want;
    } samples[] = {
        {"single.xml", 0, "19.1 gelabuser single "},
        {"parallel.xml", 0,
         "20.1 gelabuser parres lab h_rt=3600*0/0 h_vmem=2147483648*0/0 m_mem_free=536870912*1/0 "
         "nvidia_gpu=1*1/0 intel_phi=1*2/0"},
        {"array.xml", 1, "21.1 gelabuser arr  h_rt=600*0/0"},
        {"array.xml", 4, "21.4 gelabuser arr  h_rt=600*0/0"},
        {"array.xml", 7, "21.7 gelabuser arr  h_rt=600*0/0"},
        {"pending.xml", 0, "22.1 gelabuser pend lab h_rt=60*0/0 hostname=0*0/0"},
        {"interactive.xml", 0, "23.1 gelabuser inter  h_rt=100*0/0"},
        {"gridware.xml", 0,
         "47.1 alice gpujob make nvidia_gpu=1*1/0 h_vmem=2147483648*0/0 m_mem_free=8589934592*1/1 "
         "m_mem_free=1073741824*1/2 node2:3 node1:1 nvidia_gpu@node2=3(0 2 3) "
         "nvidia_gpu@node1=1(1)"},
        {"univa.xml", 30,
         "310145.30 bob phi & 'friends'  m_mem_free=3221225472*1/0 h_vmem=2147483648*0/0 "
         "standby_4h=1*0/0 h_rt=14400*0/0 n085:2 n086:1 m_mem_free@n085=6442450944(6.000G) "
         "m_mem_free@n086=3221225472(3.000G) intel_phi@n085=0(mic0 mic1)"},
    };
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct gridengine_job job;
        must_parse(samples[i].name, samples[i].task, &job);
        assert_job(&job, samples[i].want);
        gridengine_job_free(&job);
    }
}

static void which_tasks_run_is_known(void **state)
{
    struct gridengine_job job;
    must_parse("array.xml", 4, &job);
    assert_true(job.task_known && job.ntasks == 2);
    gridengine_job_free(&job);
    must_parse("array.xml", 7, &job);
    assert_true(!job.task_known);
    gridengine_job_free(&job);
    must_parse("single.xml", 0, &job);
    assert_true(job.task_known && job.ntasks == 1);
    gridengine_job_free(&job);
    must_parse("pending.xml", 0, &job);
    assert_true(!job.task_known);
    gridengine_job_free(&job);
}

#define HEAD "<detailed_job_info><djob_info><element><JB_job_number>5</JB_job_number>"
#define TAIL "</element></djob_info></detailed_job_info>"
#define HOST(lines)                                                                                \
    HEAD "<JB_ja_tasks><element><JAT_task_number>1</JAT_task_number>"                              \
         "<JAT_granted_destin_identifier_list><element>" lines "</element>"                        \
         "</JAT_granted_destin_identifier_list></element></JB_ja_tasks>" TAIL

static void what_cannot_be_is_refused_with_a_sentence(void **state)
{
    static const struct {
        const char *text, *says;
        int code;
    } refused[] = {
        {"<unknown_jobs >\n<ST_name>99</ST_name>\n</unknown_jobs>",
         "Grid Engine knows no job '99' (any more)", ESRCH},
        {"<unknown_jobs><><ST_name>a\x1b[31m</ST_name></></unknown_jobs>",
         "Grid Engine knows no job 'a\xef\xbf\xbd[31m' (any more)", ESRCH},
        {"<unknown_jobs></unknown_jobs>", "there is no job in it", ESRCH},
        {"<detailed_job_info><djob_info></djob_info></detailed_job_info>", "there is no job in it",
         ESRCH},
        {"<job_info></job_info>",
         "it is a <job_info>, not the <detailed_job_info> of qstat -xml -j", EBADMSG},
        {"<detailed_job_info><djob_info><element></element></djob_info></detailed_job_info>",
         "the job has no number", EBADMSG},
        {"<detailed_job_info><djob_info><element></element><element></element></djob_info>"
         "</detailed_job_info>",
         "there are 2 jobs in it; ask qstat for one", EBADMSG},
        {"<detailed_job_info><djob_info><element><JB_job_number>-1</JB_job_number>" TAIL,
         "<JB_job_number>: '-1' is too small; expected is a whole number from 0 to 4294967295",
         EBADMSG},
        {HEAD "<JB_ja_tasks><element></element></JB_ja_tasks>" TAIL,
         "a task of job 5 has no number", EBADMSG},
        {HOST("<JG_qhostname>$(id)</JG_qhostname><JG_slots>1</JG_slots>"),
         "<JG_qhostname>: '$(id)' is no name of a host", EBADMSG},
        {HOST("<JG_qhostname>-oProxyCommand=x</JG_qhostname><JG_slots>1</JG_slots>"),
         "<JG_qhostname>: '-oProxyCommand=x' is no name of a host", EBADMSG},
        {HOST("<JG_qhostname>a</JG_qhostname><JG_slots>99999999</JG_slots>"),
         "<JG_slots>: '99999999' is too large", EBADMSG},
        {HOST("<JG_qhostname>a</JG_qhostname><JG_slots>two</JG_slots>"),
         "<JG_slots>: 'two' is not a number", EBADMSG},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct gridengine_job job;
        struct error err = {.text = ""};
        assert_int_equal(parse(refused[i].text, 0, &job, &err), -1);
        if (strncmp(err.text, refused[i].says, strlen(refused[i].says)) != 0)
            fail_msg("'%s' says: %s", refused[i].text, err.text);
        assert_int_equal(err.code, refused[i].code);
    }
}

static void several_tasks_need_a_number(void **state)
{
    struct gridengine_job job;
    struct error err;
    size_t n;
    char *text = sample("array.xml", &n);
    assert_int_equal(gridengine_job_parse(text, n, 0, &job, &err), -1);
    assert_int_equal(err.code, EINVAL);
    assert_string_equal(err.text, "job 21 has 2 running tasks; give the number of one");
    free(text);
}

/* Elements of the same name elsewhere are not the job's. */
static void only_what_is_in_its_place_counts(void **state)
{
    struct gridengine_job job;
    assert_int_equal(
        parse("<detailed_job_info><djob_info><element><JB_job_number>5</JB_job_number>"
              "<JB_env_list><job_sublist><JB_job_number>6</JB_job_number>"
              "<JB_hard_resource_list><x><CE_name>h_vmem</CE_name></x></JB_hard_resource_list>"
              "</job_sublist></JB_env_list>"
              "<JB_soft_resource_list><x><CE_name>h_vmem</CE_name></x></JB_soft_resource_list>"
              "<JB_ja_tasks><t><JAT_task_number>1</JAT_task_number><JAT_task_list><p>"
              "<JAT_granted_destin_identifier_list><e><JG_qhostname>x</JG_qhostname>"
              "<JG_slots>1</JG_slots></e></JAT_granted_destin_identifier_list>"
              "</p></JAT_task_list></t></JB_ja_tasks>"
              "</element></djob_info>"
              "<messages><element><JB_job_number>7</JB_job_number></element></messages>"
              "</detailed_job_info>",
              0, &job, NULL),
        0);
    assert_job(&job, "5.1   ");
    gridengine_job_free(&job);
}

/* A text for what a value is gives one; CE_doubleval gives it where the text gives none. */
static void a_value_is_its_text_or_its_number(void **state)
{
    struct gridengine_job job;
    assert_int_equal(parse(HEAD "<JB_hard_resource_list>"
                                "<x><CE_name>a</CE_name><CE_stringval>2G</CE_stringval>"
                                "<CE_doubleval>0.000000</CE_doubleval></x>"
                                "<x><CE_name>b</CE_name><CE_stringval>odd</CE_stringval>"
                                "<CE_doubleval>3.000000</CE_doubleval></x>"
                                "<x><CE_name>c</CE_name><CE_doubleval>4.000000</CE_doubleval></x>"
                                "</JB_hard_resource_list>" TAIL,
                           0, &job, NULL),
                     0);
    assert_job(&job, "5.1    a=2147483648*0/0 b=3*0/0 c=4*0/0");
    gridengine_job_free(&job);
}

/* Every shorter text is an error: never a job with less than it has. */
static void no_part_of_a_job_is_taken_for_it(void **state)
{
    static const char *const names[] = {"parallel.xml", "gridware.xml", "univa.xml"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t n;
        char *text = sample(names[i], &n);
        while (n > 0 && text[n - 1] == '\n')
            n--;
        for (size_t cut = 0; cut < n; cut++) {
            struct gridengine_job job;
            struct error err = {.text = ""};
            if (gridengine_job_parse(text, cut, 30, &job, &err) == 0)
                fail_msg("%s: %zu of %zu bytes were taken", names[i], cut, n);
            assert_true(err.text[0]);
        }
        free(text);
    }
}

/* One byte after the other is wrong: an error or a job, and no more than that. */
static void damaged_bytes_do_no_harm(void **state)
{
    static const char wrong[] = {'\xff', 0, '<', '&', '>', '\x80'};
    size_t n;
    char *text = sample("gridware.xml", &n);
    for (size_t at = 0; at < n; at += 3) {
        for (size_t i = 0; i < sizeof(wrong); i++) {
            struct gridengine_job job;
            struct error err = {.text = ""};
            char was = text[at];
            text[at] = wrong[i];
            if (gridengine_job_parse(text, n, 1, &job, &err) == 0)
                gridengine_job_free(&job);
            else
                assert_true(err.text[0]);
            text[at] = was;
        }
    }
    free(text);
}

/* ---- qstat -g t ------------------------------------------------------------------------------ */

static void assert_tasks(const char *text, uint32_t id, uint32_t task, const char *want)
{
    struct hostlist hosts;
    struct error err;
    char got[256] = "";
    if (gridengine_tasks_parse(text, strlen(text), id, task, &hosts, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < hosts.allocation.nhosts; i++)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s:%u", i ? " " : "",
                 hosts.allocation.hosts[i].name, hosts.allocation.hosts[i].slots.value);
    assert_string_equal(got, want);
    hostlist_free(&hosts);
}

static void the_list_of_tasks_gives_the_hosts(void **state)
{
    size_t n;
    char *text = sample("tasks.xml", &n);
    assert_tasks(text, 20, 1, "gelab3:2 gelab1:1 gelab2:1"); /* as its PE_HOSTFILE has it */
    assert_tasks(text, 21, 1, "");
    assert_tasks(text, 20, 2, "");
    free(text);
}

#define LINE(id, more, queue)                                                                      \
    "<job_list><JB_job_number>" id "</JB_job_number>" more "<queue_name>" queue "</queue_name>"    \
    "</job_list>"
#define MASTER     "<master>MASTER</master>"
#define SLAVE      "<master>SLAVE</master>"
#define GRANTED(n) "<granted_pe name=\"p\">" n "</granted_pe>"

static void lines_are_added_up_whoever_counts_the_master_task(void **state)
{
    /* job_is_first_task TRUE: as many SLAVE lines as slots, but for the master task's */
    assert_tasks("<job_info><queue_info>" LINE("7", MASTER GRANTED("3"), "a.q@n1")
                     LINE("7", SLAVE GRANTED("3"), "a.q@n1")
                         LINE("7", SLAVE GRANTED("3"), "b.q@n2") "</queue_info></job_info>",
                 7, 1, "n1:2 n2:1");
    /* FALSE */
    assert_tasks("<job_info><queue_info>" LINE("7", SLAVE GRANTED("3"), "b.q@n2")
                     LINE("7", MASTER GRANTED("3"), "a.q@n1")
                         LINE("7", SLAVE GRANTED("3"), "a.q@n1")
                             LINE("7", SLAVE GRANTED("3"), "c.q@n1") "</queue_info></job_info>",
                 7, 1, "n1:2 n2:1");
    assert_tasks("<job_info><queue_info>" LINE("7", MASTER, "a.q@n1")
                     LINE("8", MASTER, "a.q@n2") "</queue_info></job_info>",
                 8, 1, "n2:1");
    /* tasks of an array; those that wait are a range */
    assert_tasks("<job_info><queue_info>" LINE("7", MASTER "<tasks>1</tasks>", "a.q@n1")
                     LINE("7", MASTER "<tasks>4</tasks>", "a.q@n2") "</queue_info><job_info>" LINE(
                         "7", MASTER "<tasks>7-10:3</tasks>", "") "</job_info></job_info>",
                 7, 4, "n2:1");
}

static void a_list_of_tasks_that_cannot_be_is_refused(void **state)
{
    static const char *const texts[] = {
        "<detailed_job_info></detailed_job_info>",
        "<job_info><queue_info>" LINE("7", MASTER GRANTED("1"), "a.q@n1")
            LINE("7", SLAVE GRANTED("1"), "a.q@n2") "</queue_info></job_info>",
        "<job_info><queue_info>" LINE("7", MASTER GRANTED("1"),
                                      "a.q@-x") "</queue_info></job_info>",
        "<job_info>",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct hostlist hosts;
        struct error err = {.text = ""};
        assert_int_equal(gridengine_tasks_parse(texts[i], strlen(texts[i]), 7, 1, &hosts, &err),
                         -1);
        assert_true(err.text[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_samples_say_what_they_say),
        cmocka_unit_test(which_tasks_run_is_known),
        cmocka_unit_test(what_cannot_be_is_refused_with_a_sentence),
        cmocka_unit_test(several_tasks_need_a_number),
        cmocka_unit_test(only_what_is_in_its_place_counts),
        cmocka_unit_test(a_value_is_its_text_or_its_number),
        cmocka_unit_test(no_part_of_a_job_is_taken_for_it),
        cmocka_unit_test(damaged_bytes_do_no_harm),
        cmocka_unit_test(the_list_of_tasks_gives_the_hosts),
        cmocka_unit_test(lines_are_added_up_whoever_counts_the_master_task),
        cmocka_unit_test(a_list_of_tasks_that_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
