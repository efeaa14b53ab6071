/* SPDX-License-Identifier: BSD-3-Clause */
/* test-job-resources.c - limits times slots, once, for every kind of request and of job */
#include "rm-adapters/gridengine/job-resources.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a job asks for and has, as its document: requests "NAME VALUE CONSUMABLE[/SCOPE]", hosts
 * "NAME SLOTS" in the order of their queues, grants "NAME HOST AMOUNT [IDS]". */
struct job_words {
    const char *requests[6], *hosts[6], *grants[6];
};

static void put_request(FILE *f, const char *words)
{
    char name[64], value[64];
    unsigned consumable = 0, scope = 0;
    assert_true(sscanf(words, "%63s %63s %u/%u", name, value, &consumable, &scope) >= 3);
    fprintf(f,
            "<s><JRS_scope>%u</JRS_scope><JRS_hard_resource_list><q><CE_name>%s</CE_name>"
            "<CE_stringval>%s</CE_stringval><CE_consumable>%u</CE_consumable></q>"
            "</JRS_hard_resource_list></s>",
            scope, name, value, consumable);
}

static void put_grant(FILE *f, const char *words)
{
    char name[64], host[64], amount[64];
    int ids = 0;
    assert_int_equal(sscanf(words, "%63s %63s %63s %n", name, host, amount, &ids), 3);
    fprintf(f, "<g><GRU_name>%s</GRU_name><GRU_host>%s</GRU_host><GRU_amount>%s</GRU_amount>", name,
            host, amount);
    if (words[ids])
        fprintf(f,
                "<GRU_resource_map_list><i><RESL_value>%s</RESL_value></i></GRU_resource_map_list>",
                words + ids);
    fputs("</g>", f);
}

static void make_job(const struct job_words *w, struct gridengine_job *job)
{
    char *text = NULL, host[64];
    size_t n = 0;
    unsigned slots;
    struct error err;
    FILE *f = open_memstream(&text, &n);
    fputs("<detailed_job_info><djob_info><element><JB_job_number>5</JB_job_number>"
          "<JB_request_set_list>",
          f);
    for (size_t i = 0; w->requests[i]; i++)
        put_request(f, w->requests[i]);
    fputs("</JB_request_set_list><JB_ja_tasks><t><JAT_task_number>1</JAT_task_number>"
          "<JAT_granted_resources_list>",
          f);
    for (size_t i = 0; w->grants[i]; i++)
        put_grant(f, w->grants[i]);
    fputs("</JAT_granted_resources_list><JAT_granted_destin_identifier_list>", f);
    for (size_t i = 0; w->hosts[i]; i++) {
        assert_int_equal(sscanf(w->hosts[i], "%63s %u", host, &slots), 2);
        fprintf(f, "<h><JG_qhostname>%s</JG_qhostname><JG_slots>%u</JG_slots></h>", host, slots);
    }
    fputs("</JAT_granted_destin_identifier_list></t></JB_ja_tasks></element></djob_info>"
          "</detailed_job_info>",
          f);
    fclose(f);
    if (gridengine_job_parse(text, n, 0, job, &err) < 0)
        fail_msg("%s in %s", err.text, text);
    free(text);
}

static void put_amount(FILE *f, const struct resource_amount *a)
{
    if (a->set)
        fprintf(f, "%llu", (unsigned long long)a->value);
    else
        fputc('-', f);
}

static void put_devices(FILE *f, const struct resource_devices *d)
{
    put_amount(f, &d->count);
    if (d->ids)
        fprintf(f, "(%s)", d->ids);
}

/* "n1:2 mem/vmem/gpu/phi n2:1 ...; runtime slot-vmem standby" */
static char *text_of(const struct resources *r)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    for (size_t i = 0; i < r->nhosts; i++) {
        const struct resource_host *h = &r->hosts[i];
        fprintf(f, "%s%s:%u ", i ? " " : "", h->name, h->slots);
        put_amount(f, &h->memory);
        fputc('/', f);
        put_amount(f, &h->virtual_memory);
        fputc('/', f);
        put_devices(f, &h->gpu);
        fputc('/', f);
        put_devices(f, &h->phi);
    }
    fclose(f);
    return text;
}

#define G 1073741824

static const struct {
    const char *what;
    struct job_words job;
    const char *want;
} limits[] = {
    {"serial", {{"m_mem_free 2G 1"}, {"n1 1"}, {NULL}}, "n1:1 2147483648/-/-/-"},
    {"threaded: 20 cores on one host, 40 GiB and not 80",
     {{"m_mem_free 2G 1"}, {"n1 20"}, {NULL}},
     "n1:20 42949672960/-/-/-"},
    {"one slot on each of three hosts",
     {{"m_mem_free 2G 1", "h_vmem 3G 1"}, {"n1 1", "n2 1", "n3 1"}, {NULL}},
     "n1:1 2147483648/3221225472/-/- n2:1 2147483648/3221225472/-/- "
     "n3:1 2147483648/3221225472/-/-"},
    {"the same slots on each of two hosts",
     {{"m_mem_free 512M 1"}, {"n1 4", "n2 4"}, {NULL}},
     "n1:4 2147483648/-/-/- n2:4 2147483648/-/-/-"},
    {"different slots on each host",
     {{"m_mem_free 512M 1", "nvidia_gpu 1 1"}, {"n1 2", "n2 1", "n3 5"}, {NULL}},
     "n1:2 1073741824/-/2/- n2:1 536870912/-/1/- n3:5 2684354560/-/5/-"},
    {"two queues on one host are one host",
     {{"m_mem_free 512M 1"}, {"n1 1", "n2 1", "n1 2"}, {NULL}},
     "n1:3 1610612736/-/-/- n2:1 536870912/-/-/-"},
    {"counted by job: once, on the master task's host",
     {{"m_mem_free 2G 2", "intel_phi 1 2"}, {"n1 4", "n2 4"}, {NULL}},
     "n1:4 2147483648/-/-/1 n2:4 -/-/-/-"},
    {"counted by host: once on each",
     {{"m_mem_free 2G 3"}, {"n1 4", "n2 2"}, {NULL}},
     "n1:4 2147483648/-/-/- n2:2 2147483648/-/-/-"},
    {"not consumable: a limit of each slot all the same",
     {{"h_vmem 2G 0"}, {"n1 2", "n2 1"}, {NULL}},
     "n1:2 -/4294967296/-/- n2:1 -/2147483648/-/-"},
    {"more memory than virtual memory is not lost",
     {{"m_mem_free 4G 1", "h_vmem 1G 1"}, {"n1 2"}, {NULL}},
     "n1:2 8589934592/2147483648/-/-"},
    {"nothing asked for", {{"h_rt 60 0"}, {"n1 2"}, {NULL}}, "n1:2 -/-/-/-"},
    {"no limit is none", {{"h_vmem INFINITY 0"}, {"n1 2"}, {NULL}}, "n1:2 -/-/-/-"},
    {"what was granted on a host is not multiplied again",
     {{"m_mem_free 2G 1"}, {"n1 20", "n2 4"}, {"m_mem_free n1 40G", "m_mem_free n2 8.000G"}},
     "n1:20 42949672960/-/-/- n2:4 8589934592/-/-/-"},
    {"and where it names some hosts, the others have none",
     {{"nvidia_gpu 1 2"}, {"n1 2", "n2 2"}, {"nvidia_gpu n2 1 GPU-7"}},
     "n1:2 -/-/-/- n2:2 -/-/1(GPU-7)/-"},
    {"host names are the same in any case",
     {{"nvidia_gpu 1 1"}, {"N1.example 1"}, {"nvidia_gpu n1.EXAMPLE 1 0"}},
     "N1.example:1 -/-/1(0)/-"},
    {"the master task's request and the others'",
     {{"m_mem_free 8G 1/1", "m_mem_free 1G 1/2"}, {"n1 3", "n2 2"}, {NULL}},
     "n1:3 10737418240/-/-/- n2:2 2147483648/-/-/-"},
    {"fractions are rounded up once",
     {{"m_mem_free 0.1G 1"}, {"n1 3"}, {NULL}},
     "n1:3 322122548/-/-/-"},
};

static void limits_are_multiplied_exactly_once(void **state)
{
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct gridengine_job job;
        struct resources r;
        struct error err;
        make_job(&limits[i].job, &job);
        if (resources_of_job(&job, &resource_names_default, &r, &err) < 0)
            fail_msg("%s: %s", limits[i].what, err.text);
        char *got = text_of(&r);
        if (strcmp(got, limits[i].want) != 0)
            fail_msg("%s: %s, not %s", limits[i].what, got, limits[i].want);
        free(got);
        resources_free(&r);
        gridengine_job_free(&job);
    }
}

static void the_job_has_a_runtime_a_slot_limit_and_a_class(void **state)
{
    static const struct {
        const char *requests[4];
        int runtime, slot_vmem, standby;
    } cases[] = {
        {{"h_rt 1:00:00 0", "h_vmem 2G 1", "standby 1 0"}, 3600, 1, 1},
        {{"standby_4h TRUE 0"}, 0, 0, 1},
        {{"standby FALSE 0", "h_rt INFINITY 0"}, 0, 0, 0},
        {{"m_mem_free 1G 1"}, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_words w = {.hosts = {"n1 4"}};
        struct gridengine_job job;
        struct resources r;
        memcpy(w.requests, cases[i].requests, sizeof(cases[i].requests));
        make_job(&w, &job);
        assert_int_equal(resources_of_job(&job, &resource_names_default, &r, NULL), 0);
        assert_int_equal(r.max_runtime.set ? r.max_runtime.value : 0, cases[i].runtime);
        assert_int_equal(r.slot_virtual_memory.set, cases[i].slot_vmem);
        assert_int_equal(r.slot_virtual_memory.set ? r.slot_virtual_memory.value : 0,
                         cases[i].slot_vmem ? 2LL * G : 0);
        assert_int_equal(r.standby, cases[i].standby);
        resources_free(&r);
        gridengine_job_free(&job);
    }
}

static void a_site_has_its_own_names(void **state)
{
    struct resource_names names = resource_names_default;
    struct job_words w = {{"gpu 1 1", "nvidia_gpu 4 1"}, {"n1 2"}, {NULL}};
    struct gridengine_job job;
    struct resources r;
    names.gpu = "gpu";
    make_job(&w, &job);
    assert_int_equal(resources_of_job(&job, &names, &r, NULL), 0);
    assert_int_equal(r.hosts[0].gpu.count.value, 2);
    resources_free(&r);
    gridengine_job_free(&job);
}

static void what_cannot_be_is_refused(void **state)
{
    static const struct {
        struct job_words job;
        const char *says;
        int code;
    } refused[] = {
        {{{"m_mem_free 4E 1"}, {"n1 2"}, {NULL}},
         "'m_mem_free' on host 'n1': the value times the slots is too large",
         ERANGE},
        {{{"m_mem_free 3E 1"}, {"n1 2"}, {NULL}}, NULL, 0},
        {{{NULL}, {"n1 1"}, {"nvidia_gpu n1 1 $(id)"}},
         "'nvidia_gpu' on host 'n1': '$(id)' is no name of a device",
         EBADMSG},
        {{{NULL}, {"n1 1"}, {"nvidia_gpu n1 1 -x"}},
         "'nvidia_gpu' on host 'n1': '-x' is no name of a device",
         EBADMSG},
        {{{NULL}, {"n1 1"}, {"intel_phi n1 1 mic0;x"}},
         "'intel_phi' on host 'n1': 'mic0;x' is no name of a device",
         EBADMSG},
        {{{NULL}, {"n1 1"}, {"intel_phi n1 1 *"}},
         "'intel_phi' on host 'n1': '*' is no name of a device",
         EBADMSG},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct gridengine_job job;
        struct resources r = {.hosts = NULL};
        struct error err = {.text = ""};
        make_job(&refused[i].job, &job);
        int failed = resources_of_job(&job, &resource_names_default, &r, &err) < 0;
        assert_int_equal(failed, refused[i].says != NULL);
        if (failed && strncmp(err.text, refused[i].says, strlen(refused[i].says)) != 0)
            fail_msg("says: %s", err.text);
        if (failed)
            assert_int_equal(err.code, refused[i].code);
        resources_free(&r);
        gridengine_job_free(&job);
    }
}

static void a_host_is_found_by_its_name_or_the_first_part_of_it(void **state)
{
    static const struct {
        const char *name, *want;
    } names[] = {
        {"n1.a.org", "n1.a.org"},
        {"N1.A.ORG", "n1.a.org"},
        {"n1.b.org", "n1.b.org"},
        {"n1", NULL},
        {"n2", "n2"},
        {"n2.a.org", "n2"},
        {"n3", "n3.a.org"},
        {"n3.b.org", NULL},
        {"n", NULL},
        {"", NULL},
        {"10.0.0.1", "10.0.0.1"},
        {"10.0.0.2", NULL},
        {"10", NULL},
    };
    struct job_words w = {
        {NULL}, {"n1.a.org 1", "n1.b.org 1", "n2 1", "n3.a.org 1", "10.0.0.1 1"}, {NULL}};
    struct gridengine_job job;
    struct resources r;
    make_job(&w, &job);
    assert_int_equal(resources_of_job(&job, &resource_names_default, &r, NULL), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct resource_host *h = resources_host(&r, names[i].name);
        if ((h != NULL) != (names[i].want != NULL) || (h && strcmp(h->name, names[i].want) != 0))
            fail_msg("'%s' is %s", names[i].name, h ? h->name : "none");
    }
    resources_free(&r);
    gridengine_job_free(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_multiplied_exactly_once),
        cmocka_unit_test(the_job_has_a_runtime_a_slot_limit_and_a_class),
        cmocka_unit_test(a_site_has_its_own_names),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_host_is_found_by_its_name_or_the_first_part_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
