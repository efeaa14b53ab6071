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

#include "common/cleanup.h"
#include "node-daemon/reader/ge-config.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* Bytes come as they may: here by threes. */
static int read_text(const char *text, struct ge_config *ret, struct error *err)
{
    struct ge_config_reader r = {.len = 0};
    for (size_t left = strlen(text), n; left > 0; text += n, left -= n) {
        n = left < 3 ? left : 3;
        ge_config_feed(&r, text, n);
    }
    return ge_config_finish(&r, ret, err);
}

static int parse(const char *more, struct ge_config *ret, struct error *err)
{
    char text[4096];
    snprintf(text, sizeof(text), "add_grp_id=65434\nh_fsize=INFINITY\njob_owner=user\n%s", more);
    return read_text(text, ret, err);
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

static void an_owner_alone_is_enough(void **state)
{
    struct ge_config c;
    assert_int_equal(read_text("x\n\njob_owner=gelabuser", &c, NULL), 0);
    assert_string_equal(c.owner, "gelabuser");
    assert_int_equal(c.share.slots, 1);
    assert_int_equal(c.share.written.n, 0);
    assert_null(c.twice);
}

/* A newline in what a user asks for makes lines before the execd's and behind them. */
static const struct {
    const char *before, *behind, *twice, *owner, *binding;
    unsigned slots;
    uint64_t memory;
} forged[] = {
    {"", "job_arg1=a\nadd_grp_id=1\n", NULL, "user", "0,0", 4, 4 * GIB},
    {"add_grp_id=1\nadd_grp_id=2\n", "", NULL, "user", "0,0", 4, 4 * GIB},
    {"", "h_vmem=INFINITY\n", "h_vmem", "user", "0,0", 4, 4 * GIB},
    {"h_vmem=64G\nh_vmem=x\n", "h_vmem=\n", "h_vmem", "user", "0,0", 4, 4 * GIB},
    {"h_vmem=0.5G\n", "", "h_vmem", "user", "0,0", 4, 2 * GIB},
    {"h_rss=1T\n", "", "h_rss", "user", "0,0", 4, 4 * GIB},
    {"", "h_rss=512M\n", "h_rss", "user", "0,0", 4, 2 * GIB},
    {"", "h_vmem_is_consumable_job=1\n", "h_vmem_is_consumable_job", "user", "0,0", 4, GIB},
    {"host_slots=100\n", "host_slots=many\nhost_slots=\n", "host_slots", "user", "0,0", 4, 4 * GIB},
    {"", "host_slots=100\n", "host_slots", "user", "0,0", 4, 4 * GIB},
    {"host_slots=0\n", "host_slots=2\n", "host_slots", "user", "0,0", 2, 2 * GIB},
    {"binding=explicit:0,1:SCc\n", "", "binding", "user", "", 4, 4 * GIB},
    {"", "job_owner=root\n", "job_owner", "", "0,0", 4, 4 * GIB},
    {"job_owner=\n", "job_owner=user\n", "job_owner", "", "0,0", 4, 4 * GIB},
    {"h_vmem=9G\njob_owner=other\n", "binding=\n", "job_owner", "", "", 4, 4 * GIB},
};

static void lines_of_the_users_lift_no_limit_and_keep_no_job_out(void **state)
{
    for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
        char text[1024];
        struct ge_config c;
        struct error e;
        snprintf(text, sizeof(text),
                 "add_grp_id=65434\n%sh_vmem=1G\nh_vmem_is_consumable_job=0\nh_rss=INFINITY\njob_"
                 "owner=user\n"
                 "host_slots=4\nbinding=explicit:0,0:ScC\n%s",
                 forged[i].before, forged[i].behind);
        if (read_text(text, &c, &e) < 0)
            fail_msg("%s: %s", text, e.text);
        if (forged[i].twice)
            assert_string_equal(c.twice, forged[i].twice);
        else
            assert_null(c.twice);
        assert_string_equal(c.owner, forged[i].owner);
        assert_string_equal(c.binding, forged[i].binding);
        assert_int_equal(c.share.slots, forged[i].slots);
        assert_int_equal(c.cores, forged[i].slots);
        assert_int_equal(share_limits(&c.share, NULL).memory.value, forged[i].memory);
    }
}

/* An argument of any length, and a value that is too long: what stands there besides holds. */
static void a_line_of_any_length_is_one(void **state)
{
    static const char *const names[] = {"job_arg1", "binding", "h_vmem", "host_slots",
                                        "x=job_owner"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        AUTO_FREE char *text = NULL;
        struct ge_config c;
        assert_true(asprintf(&text, "job_owner=user\n%s=explicit:0,0:ScC%*s:ScC\nh_rss=1G\n",
                             names[i], 3000000, "job_owner=x") > 0);
        assert_int_equal(read_text(text, &c, NULL), 0);
        assert_string_equal(c.owner, "user");
        assert_string_equal(c.binding, "");
        assert_int_equal(share_limits(&c.share, NULL).memory.value, GIB);
        assert_null(c.twice);
    }
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
    "add_grp_id=65400\njob_owner=\n",
    " job_owner=me\n",
    "job_owner\n",
    "job_owner=0123456789012345678901234567890123456789012345678901234567890123\n",
};

static void without_an_owner_it_is_damaged(void **state)
{
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct ge_config c = {.cores = 7};
        struct error e;
        if (read_text(wrong[i], &c, &e) == 0)
            fail_msg("taken: %s", wrong[i]);
        assert_int_equal(c.cores, 7);
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
        cmocka_unit_test(an_owner_alone_is_enough),
        cmocka_unit_test(lines_of_the_users_lift_no_limit_and_keep_no_job_out),
        cmocka_unit_test(a_line_of_any_length_is_one),
        cmocka_unit_test(cores_that_the_manager_gave_are_read),
        cmocka_unit_test(a_list_of_cores_is_whole_or_empty),
        cmocka_unit_test(without_an_owner_it_is_damaged),
        cmocka_unit_test(names_of_jobs_and_tasks_are_strict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
