/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits of jobs on each of their hosts, in bytes: from what a real Grid Engine 8.1.9 wrote
 * there (gridengine-jobs: the execd's config of the job script or of a slave task, pe_hostfile) and
 * said of the job (qstat -xml -j). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "node-daemon/reader/ge-config.h"
#include "rm-adapters/hosts/hostlist.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum { SAMPLE_MAX = 1 << 20 };

static char *sample(const char *job, const char *host, const char *what, size_t *ret_len)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/tests/unit/gridengine-jobs/%s/%s%s", getenv("MPRUN_SOURCE"),
             job, host, what);
    size_t len = 0;
    char *text = file_slurp_at(AT_FDCWD, path, SAMPLE_MAX, &len);
    if (!text && errno != ENOENT)
        fail_msg("%s: %s", path, strerror(errno));
    if (ret_len)
        *ret_len = len;
    return text;
}

static void read_demand(const char *job, struct demand *ret)
{
    struct gridengine_job parsed;
    struct error e;
    size_t len;
    AUTO_FREE char *text = sample(job, "", "qstat.xml", &len);
    assert_non_null(text);
    if (gridengine_job_parse(text, len, 1, &parsed, &e) < 0 ||
        demand_of_job(&parsed, &resource_names_default, ret, &e) < 0)
        fail_msg("%s: %s", job, e.text);
    gridengine_job_free(&parsed);
}

static void read_share(const char *job, const char *host, struct share *ret)
{
    struct ge_config config;
    struct error e;
    AUTO_FREE char *master = sample(job, host, ".master", NULL);
    AUTO_FREE char *slave = master ? NULL : sample(job, host, ".slave", NULL);
    assert_true(master || slave);
    struct ge_config_reader r = {.len = 0};
    ge_config_feed(&r, master ? master : slave, strlen(master ? master : slave));
    if (ge_config_finish(&r, &config, &e) < 0)
        fail_msg("%s on %s: %s", job, host, e.text);
    *ret = config.share;
    ret->is_master = master != NULL;
}

/* What the master host's daemon signs for a host, from the pe_hostfile there. */
static uint32_t granted_slots(const char *job, const char *host)
{
    struct hostlist l = {.stated = 0};
    struct error e;
    size_t len;
    uint32_t slots = 0;
    AUTO_FREE char *text = sample(job, "", "pe_hostfile", &len);
    assert_non_null(text);
    if (hostfile_parse(text, len, "pe_hostfile", &l, &e) < 0)
        fail_msg("%s: %s", job, e.text);
    for (size_t i = 0; i < l.allocation.nhosts; i++)
        if (!strcmp(l.allocation.hosts[i].name, host))
            slots = l.allocation.hosts[i].slots.value;
    hostlist_free(&l);
    return slots;
}

/* One row a host. 0: no limit. */
static const struct row {
    const char *job, *host;
    int is_master;
    uint32_t slots;             /* granted there */
    uint64_t execd, execd_swap; /* what the execd's files give, by themselves */
    uint64_t memory, swap;      /* what they give with what the job asks for */
    uint32_t gpus;
} table[] = {
    /* -l m_mem_free=1G,h_vmem=2G */
    {"serial", "n3", 1, 1, 2 * GIB, 0, GIB, GIB, 0},
    /* -l m_mem_free=300M, four slots of one host, in two queues */
    {"threaded", "n1", 1, 4, 0, 0, 1200 * MIB, 0, 0},
    /* one slot a host, -l m_mem_free=200M,h_vmem=150M: the larger request is not lost */
    {"one-slot", "n2", 1, 1, 150 * MIB, 0, 200 * MIB, 0, 0},
    {"one-slot", "n3", 0, 1, 150 * MIB, 0, 200 * MIB, 0, 0},
    {"one-slot", "n1", 0, 1, 150 * MIB, 0, 200 * MIB, 0, 0},
    /* two slots a host, -l m_mem_free=200M,nvidia_gpu=1 */
    {"n-slot", "n2", 1, 2, 0, 0, 400 * MIB, 0, 2},
    {"n-slot", "n3", 0, 2, 0, 0, 400 * MIB, 0, 2},
    {"n-slot", "n1", 0, 2, 0, 0, 400 * MIB, 0, 2},
    /* 2 + 1 slots a host in two queues, -l m_mem_free=200M,h_vmem=300M; the execd of another host
     * than the master's knows of one queue only */
    {"two-queues", "n2", 1, 3, 900 * MIB, 0, 600 * MIB, 300 * MIB, 0},
    {"two-queues", "n3", 0, 3, 600 * MIB, 0, 600 * MIB, 300 * MIB, 0},
    {"two-queues", "n1", 0, 3, 600 * MIB, 0, 600 * MIB, 300 * MIB, 0},
    /* 2, 2 and 1 slots, -l m_mem_free=0.1G: fractions of bytes are rounded up after the slots */
    {"different", "n2", 1, 2, 0, 0, 214748365, 0, 0},
    {"different", "n3", 0, 2, 0, 0, 214748365, 0, 0},
    {"different", "n1", 0, 1, 0, 0, 107374183, 0, 0},
    /* -l m_mem_free=3G for the job, h_vmem=1G for a slot: counted once, on any host */
    {"per-job", "n1", 1, 2, 2 * GIB, 0, 3 * GIB, 0, 0},
    {"per-job", "n2", 0, 2, 2 * GIB, 0, 3 * GIB, 0, 0},
    {"per-job", "n3", 0, 2, 2 * GIB, 0, 3 * GIB, 0, 0},
};

static uint64_t bytes(struct limit l)
{
    return l.set ? l.value : 0;
}

static void check(const struct row *r, const char *by, const struct limits *is, uint64_t memory,
                  uint64_t swap)
{
    assert_int_equal(is->swap.set, is->memory.set);
    if (bytes(is->memory) != memory || bytes(is->swap) != swap)
        fail_msg("%s on %s by %s: %" PRIu64 " and swap %" PRIu64 ", not %" PRIu64 " and %" PRIu64,
                 r->job, r->host, by, bytes(is->memory), bytes(is->swap), memory, swap);
}

static void a_host_gets_what_was_asked_times_its_slots_exactly_once(void **state)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const struct row *r = &table[i];
        struct share s;
        struct demand d;
        read_share(r->job, r->host, &s);
        read_demand(r->job, &d);
        assert_int_equal(s.is_master, r->is_master);
        struct limits alone = share_limits(&s, NULL);
        check(r, "the execd alone", &alone, r->execd, r->execd_swap);
        assert_int_equal(share_gpus(&s, NULL), 0);
        assert_int_equal(granted_slots(r->job, r->host), r->slots);
        s.slots = r->slots;
        struct limits both = share_limits(&s, &d);
        check(r, "both", &both, r->memory, r->swap);
        assert_int_equal(share_gpus(&s, &d), r->gpus);
    }
}

/* Where the execd's word has to be corrected, and where it must not: a host of one queue. */
static void slots_of_the_execd_are_those_of_one_queue(void **state)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct share s;
        read_share(table[i].job, table[i].host, &s);
        int other = !strcmp(table[i].job, "two-queues") && !s.is_master;
        assert_int_equal(s.slots, other ? 2 : table[i].slots);
    }
}

static struct demand_part part(enum demand_what what, unsigned consumable, uint64_t whole)
{
    return (struct demand_part){
        .what = (uint8_t)what, .consumable = (uint8_t)consumable, .whole = whole};
}

static void what_counts_by_job_or_host(void **state)
{
    struct demand d = {.n = 3,
                       .part = {part(DEMAND_GPU, GRIDENGINE_PER_JOB, 2),
                                part(DEMAND_MEMORY, GRIDENGINE_PER_HOST, GIB),
                                part(DEMAND_VIRTUAL, GRIDENGINE_PER_JOB, 4 * GIB)}};
    struct share master = {.slots = 8, .is_master = 1}, slave = {.slots = 8};
    assert_int_equal(share_gpus(&master, &d), 2);
    assert_int_equal(share_gpus(&slave, &d), 0);
    struct limits m = share_limits(&master, &d), s = share_limits(&slave, &d);
    assert_int_equal(m.memory.value, GIB);
    assert_int_equal(m.swap.value, 3 * GIB);
    assert_int_equal(s.memory.value, GIB);
    assert_int_equal(s.swap.value, 3 * GIB);
    d.part[0].consumable = GRIDENGINE_PER_HOST;
    assert_int_equal(share_gpus(&slave, &d), 2);
}

static void the_master_task_may_ask_for_other_than_the_rest(void **state)
{
    struct demand d = {.n = 2,
                       .part = {part(DEMAND_MEMORY, GRIDENGINE_PER_SLOT, 5 * GIB),
                                part(DEMAND_MEMORY, GRIDENGINE_PER_SLOT, GIB)}};
    d.part[0].scope = GRIDENGINE_MASTER_TASK;
    d.part[1].scope = GRIDENGINE_SLAVE_TASKS;
    struct share master = {.slots = 4, .is_master = 1}, slave = {.slots = 4};
    assert_int_equal(share_limits(&master, &d).memory.value, 8 * GIB);
    assert_int_equal(share_limits(&slave, &d).memory.value, 4 * GIB);
}

static void the_smaller_of_two_limits_holds(void **state)
{
    struct demand asks = {.n = 1, .part = {part(DEMAND_MEMORY, GRIDENGINE_PER_SLOT, 2 * GIB)}};
    struct share s = {.slots = 2};
    s.written = asks;
    s.written.part[0].whole = GIB;
    assert_int_equal(share_limits(&s, &asks).memory.value, 2 * GIB);
    s.written.part[0].whole = 3 * GIB;
    assert_int_equal(share_limits(&s, &asks).memory.value, 4 * GIB);
}

static void what_is_not_known_is_no_more_than_the_default(void **state)
{
    struct demand none = {.n = 0}, rss = {.n = 1}, both = {.n = 2};
    rss.part[0] = part(DEMAND_MEMORY, GRIDENGINE_PER_SLOT, GIB);
    both.part[0] = part(DEMAND_MEMORY, GRIDENGINE_PER_SLOT, 2 * GIB);
    both.part[1] = part(DEMAND_VIRTUAL, GRIDENGINE_PER_SLOT, 5 * GIB);
    const struct {
        struct demand written;
        uint64_t per_slot, memory, swap;
    } rows[] = {
        {none, 0, 0, 0},
        {none, 3 * GIB, 6 * GIB, 0},
        {rss, 3 * GIB, 2 * GIB, 0}, /* of the execd, and less */
        {rss, GIB / 2, GIB, 0},
        {both, GIB, 2 * GIB, 8 * GIB}, /* swap as far as the execd lets it */
        {both, 8 * GIB, 4 * GIB, 6 * GIB},
        {rss, UINT64_MAX, 2 * GIB, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct share s = {.slots = 2, .written = rows[i].written};
        struct limits l = share_limits_by_default(&s, rows[i].per_slot);
        assert_int_equal(bytes(l.memory), rows[i].memory);
        assert_int_equal(bytes(l.swap), rows[i].swap);
    }
    struct share nothing = {.slots = 0}, four = {.slots = 4};
    assert_int_equal(share_limits_by_default(&nothing, GIB).memory.value, GIB);
    assert_false(share_limits_by_default(&four, (UINT64_C(1) << 62) + 1).memory.set);
}

static void every_slot_brings_processes(void **state)
{
    assert_int_equal(share_pids(4096, 3).value, 12288);
    assert_int_equal(share_pids(4096, 0).value, 4096); /* of how many slots nobody knows */
    assert_int_equal(share_pids(4096, UINT32_MAX).value, 1 << 22); /* as many as the kernel takes */
    assert_true(share_pids(1, 1).set);
    assert_false(share_pids(0, 8).set);
}

static void what_is_no_limit_limits_nothing(void **state)
{
    struct demand d = {.n = 1, .part = {part(DEMAND_MEMORY, GRIDENGINE_PER_SLOT, 0)}};
    struct share s = {.slots = 2};
    assert_false(share_limits(&s, &d).memory.set); /* asked for: nothing */
    d.part[0].infinite = 1;
    assert_false(share_limits(&s, &d).memory.set);
    d.part[0] = part(DEMAND_MEMORY, GRIDENGINE_PER_SLOT, INT64_MAX);
    assert_false(share_limits(&s, &d).memory.set);
    d.part[0] = part(DEMAND_MEMORY, GRIDENGINE_PER_SLOT, GIB);
    s.slots = 0; /* of how many slots nobody knows */
    assert_false(share_limits(&s, &d).memory.set);
}

static void demands_are_the_same_after_the_way(void **state)
{
    static const char *const jobs[] = {"serial", "n-slot", "different", "per-job"};
    uint8_t buf[DEMAND_BYTES];
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        struct demand d, again;
        read_demand(jobs[i], &d);
        assert_true(d.n > 0);
        demand_put(&d, buf);
        assert_int_equal(demand_get(buf, &again), 0);
        assert_int_equal(again.n, d.n);
        assert_memory_equal(&d.part, &again.part, sizeof(d.part));
    }
}

static void other_bytes_are_no_demand(void **state)
{
    static const struct {
        size_t at;
        uint8_t is;
    } wrong[] = {{0, 7},  {1, 1},  {4, 1},   {7, 1},     {8, 0},  {8, 4},  {9, 4},  {10, 3},
                 {11, 1}, {11, 2}, {14, 16}, {23, 0x80}, {24, 1}, {30, 1}, {103, 1}};
    struct demand d = {.n = 1, .part = {part(DEMAND_MEMORY, GRIDENGINE_PER_SLOT, GIB)}}, ret;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint8_t buf[DEMAND_BYTES];
        demand_put(&d, buf);
        buf[wrong[i].at] = wrong[i].is;
        if (demand_get(buf, &ret) == 0)
            fail_msg("taken with %u at %zu", wrong[i].is, wrong[i].at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_gets_what_was_asked_times_its_slots_exactly_once),
        cmocka_unit_test(slots_of_the_execd_are_those_of_one_queue),
        cmocka_unit_test(what_counts_by_job_or_host),
        cmocka_unit_test(the_master_task_may_ask_for_other_than_the_rest),
        cmocka_unit_test(the_smaller_of_two_limits_holds),
        cmocka_unit_test(what_is_not_known_is_no_more_than_the_default),
        cmocka_unit_test(every_slot_brings_processes),
        cmocka_unit_test(what_is_no_limit_limits_nothing),
        cmocka_unit_test(demands_are_the_same_after_the_way),
        cmocka_unit_test(other_bytes_are_no_demand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
