/* SPDX-License-Identifier: BSD-3-Clause */
/* What an execd wrote about a task: whose it is, and its limits, multiplied once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-daemon/ge-config.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static int parse(const char *more, struct ge_config *ret, struct error *err)
{
    char text[4096];
    snprintf(text, sizeof(text), "add_grp_id=65434\nh_fsize=INFINITY\njob_owner=user\n%s", more);
    return ge_config_parse(text, ret, err);
}

/* One row a kind of job; what the bytes are multiplied by is here and nowhere else. */
static const struct {
    const char *what, *text;
    uint64_t memory; /* 0: no limit */
} table[] = {
    {"serial", "h_vmem=2G\nhost_slots=1\n", 2 * GIB},
    {"serial, slots not said", "h_vmem=2G\n", 2 * GIB},
    {"threaded, 20 slots on one host", "h_vmem=2G\nhost_slots=20\npe_slots=20\n", 40 * GIB},
    {"parallel, one slot here", "h_vmem=700M\nhost_slots=1\npe_slots=6\n", 700 * MIB},
    {"parallel, n slots here", "h_vmem=700M\nhost_slots=4\npe_slots=6\n", 2800 * MIB},
    {"parallel, other slots elsewhere", "h_vmem=200M\nhost_slots=2\npe_slots=512\n", 400 * MIB},
    {"two queues on this host: host_slots is of both", "h_vmem=1G\nhost_slots=5\nqueue=a.q\n",
     5 * GIB},
    {"asked for the job and not for a slot",
     "h_vmem=3G\nh_vmem_is_consumable_job=1\nhost_slots=4\n", 3 * GIB},
    {"the same word with 0", "h_vmem=3G\nh_vmem_is_consumable_job=0\nhost_slots=4\n", 12 * GIB},
    {"no limit", "h_vmem=INFINITY\nhost_slots=4\n", 0},
    {"not defined", "h_vmem=UNDEFINED\nh_rss=NONE\nhost_slots=4\n", 0},
    {"resident memory is the better measure", "h_vmem=8G\nh_rss=512M\nhost_slots=2\n", GIB},
    {"a resident limit above the virtual one is not lost", "h_vmem=1G\nh_rss=2G\nhost_slots=2\n",
     4 * GIB},
    {"resident memory for the job", "h_rss=512M\nh_rss_is_consumable_job=1\nhost_slots=2\n",
     512 * MIB},
    {"bytes", "h_vmem=734003200\nhost_slots=2\n", 1400 * MIB},
    {"powers of 1000", "h_vmem=700m\nhost_slots=2\n", 1400000000},
    {"kilobytes", "h_vmem=20480K\nhost_slots=2\n", 40960 * KIB},
    {"a fraction", "h_vmem=1.5G\nhost_slots=2\n", 3 * GIB},
    {"more than there can be", "h_vmem=9999999999T\nhost_slots=2\n", 0},
    {"no size", "h_vmem=1GG\nhost_slots=2\n", 0},
    {"less than nothing", "h_vmem=-1G\nhost_slots=2\n", 0},
    {"more than there can be, times slots", "h_vmem=2000000T\nhost_slots=1000000\n", 0},
};

static void limits_are_multiplied_exactly_once(void **state)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct ge_config c;
        struct error e;
        if (parse(table[i].text, &c, &e) < 0)
            fail_msg("%s: %s", table[i].what, e.text);
        struct limits l = share_limits(&c.share, NULL);
        uint64_t is = l.memory.set ? l.memory.value : 0;
        if (is != table[i].memory)
            fail_msg("%s: %" PRIu64 " bytes, not %" PRIu64, table[i].what, is, table[i].memory);
        assert_int_equal(l.swap.set, table[i].memory != 0);
    }
}

static void group_and_owner_are_read(void **state)
{
    struct ge_config c;
    assert_int_equal(ge_config_parse("job_owner=gelabuser\nx\n\nadd_grp_id=65401", &c, NULL), 0);
    assert_int_equal(c.group, 65401);
    assert_string_equal(c.owner, "gelabuser");
    assert_int_equal(c.share.slots, 1);
    assert_int_equal(c.share.written.n, 0);
}

/* What virtual memory may be above resident memory can be swap; nobody asked for any otherwise. */
static void swap_is_what_virtual_memory_leaves(void **state)
{
    static const struct {
        const char *text;
        uint64_t swap;
    } cases[] = {{"h_vmem=8G\nh_rss=512M\nhost_slots=2\n", 15 * GIB},
                 {"h_vmem=1G\nh_rss=2G\nhost_slots=2\n", 0},
                 {"h_vmem=1G\nhost_slots=2\n", 0},
                 {"h_rss=1G\nhost_slots=2\n", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ge_config c;
        assert_int_equal(parse(cases[i].text, &c, NULL), 0);
        assert_int_equal(share_limits(&c.share, NULL).swap.value, cases[i].swap);
    }
}

/* What execds of 8.1.9 wrote, and what their source can. */
static const struct {
    const char *value, *cores;
} bindings[] = {
    {"NULL", ""},
    {"", ""},
    {"no_job_binding", ""},
    {"explicit:0,0:ScC", "0,0"},
    {"explicit:0,1:SCc", "0,1"},
    {"explicit:0,0:0,1:Scc", "0,0:0,1"},
    {"pe_explicit:0,1:SCc", "0,1"},
    {"env_explicit:0,0:ScC", "0,0"},
    {"explicit:0,1:1,0:SCcCCScCCC", "0,1:1,0"},
    {"explicit:0,1:1,1:SCTTcttSCTTctt", "0,1:1,1"},
    {"linear:2:1,1:SCCCCSCccC", "1,1:1,2"},
    {"striding:2:2:0,0:SCcCcSCCCC", "0,1:0,3"},
    {"explicit:0,0:sccSCC", "0,0:0,1"},
    {"explicit:0,0", ""},
    {"explicit:0,0:", ""},
    {"explicit:0,0:cS", ""},
    {"explicit:0,0:ScX", ""},
};

static void cores_that_the_manager_gave_are_read(void **state)
{
    for (size_t i = 0; i < sizeof(bindings) / sizeof(bindings[0]); i++) {
        struct ge_config c;
        struct error e;
        char more[256];
        snprintf(more, sizeof(more), "binding=%s\nhost_slots=3\n", bindings[i].value);
        if (parse(more, &c, &e) < 0)
            fail_msg("%s: %s", bindings[i].value, e.text);
        assert_string_equal(c.binding, bindings[i].cores);
        assert_int_equal(c.cores, 3);
    }
}

/* Two sockets of n cores, all of the task's: those are named, or none is. */
static void a_list_of_cores_is_whole_or_empty(void **state)
{
    for (int n = 1; n <= 1024; n *= 2) {
        char text[4096] = "explicit:0,0:";
        struct ge_config c;
        char *end = text + strlen(text);
        for (int socket = 0; socket < 2; socket++) {
            *end++ = 'S';
            end = (char *)memset(end, 'c', (size_t)n) + n;
        }
        char *more = NULL;
        assert_true(asprintf(&more, "binding=%.*s\n", (int)(end - text), text) > 0);
        assert_int_equal(parse(more, &c, NULL), 0);
        free(more);
        int cores = c.binding[0] != 0;
        for (const char *p = c.binding; (p = strchr(p, ':')); p++)
            cores++;
        assert_int_equal(cores, n <= 128 ? 2 * n : 0);
    }
}

static const char *const wrong[] = {
    "",
    "add_grp_id=65400\n",
    "job_owner=me\n",
    "add_grp_id=\njob_owner=me\n",
    "add_grp_id=0\njob_owner=me\n",
    "add_grp_id=-5\njob_owner=me\n",
    "add_grp_id=+5\njob_owner=me\n",
    "add_grp_id=65400 \njob_owner=me\n",
    "add_grp_id=65400x\njob_owner=me\n",
    "add_grp_id=4294967295\njob_owner=me\n",
    "add_grp_id=18446744073709617016\njob_owner=me\n",
    " add_grp_id=65400\njob_owner=me\n",
    "add_grp_id=65400\njob_owner=\n",
    /* a value of the user's with a newline in it cannot stand for the execd's word */
    "add_grp_id=65400\nstdout_path=/x\njob_owner=root\njob_owner=me\n",
    "add_grp_id=65400\njob_owner=me\njob_name=x\nadd_grp_id=65401\n",
    "add_grp_id=65400\njob_owner=me\nh_vmem=1G\njob_name=x\nh_vmem=INFINITY\n",
    "add_grp_id=65400\njob_owner=me\nhost_slots=2\njob_name=x\nhost_slots=200\n",
    "add_grp_id=65400\njob_owner=me\nbinding=NULL\njob_name=x\nbinding=explicit:0,0:Sc\n",
    "add_grp_id=65400\njob_owner=me\nhost_slots=0\n",
    "add_grp_id=65400\njob_owner=me\nhost_slots=many\n",
    "add_grp_id=65400\njob_owner=me\nhost_slots=\n",
    ("add_grp_id=65400\njob_owner="
     "0123456789012345678901234567890123456789012345678901234567890123\n"),
};

static void what_is_not_clear_proves_nothing(void **state)
{
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct ge_config c = {.group = 7};
        struct error e;
        if (ge_config_parse(wrong[i], &c, &e) == 0)
            fail_msg("taken: %s", wrong[i]);
        assert_int_equal(c.group, 7);
    }
}

static void names_of_jobs_and_tasks_are_strict(void **state)
{
    static const char *const jobs[] = {"23.1", "9999999.75000", "0.0"};
    static const char *const no_jobs[] = {"",      "23",     "23.",   ".1",    "23.1.1",
                                          "23.1/", "../1.1", "23.1 ", " 23.1", "-1.1",
                                          "23.x",  ".",      "..",    "23..1", "12345678901.1"};
    static const char *const tasks[] = {"1.n12", "2.gelab1", "1.node-7.site.example"};
    static const char *const no_tasks[] = {"",       "1.",    "1",    "1..", "1../x",
                                           "config", "1.n/x", "1.-n", "x.n"};
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
        assert_true(ge_is_job(jobs[i]));
    for (size_t i = 0; i < sizeof(no_jobs) / sizeof(no_jobs[0]); i++)
        if (ge_is_job(no_jobs[i]))
            fail_msg("job '%s'", no_jobs[i]);
    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
        assert_true(ge_is_task(tasks[i]));
    for (size_t i = 0; i < sizeof(no_tasks) / sizeof(no_tasks[0]); i++)
        if (ge_is_task(no_tasks[i]))
            fail_msg("task '%s'", no_tasks[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_multiplied_exactly_once),
        cmocka_unit_test(swap_is_what_virtual_memory_leaves),
        cmocka_unit_test(group_and_owner_are_read),
        cmocka_unit_test(cores_that_the_manager_gave_are_read),
        cmocka_unit_test(a_list_of_cores_is_whole_or_empty),
        cmocka_unit_test(what_is_not_clear_proves_nothing),
        cmocka_unit_test(names_of_jobs_and_tasks_are_strict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
