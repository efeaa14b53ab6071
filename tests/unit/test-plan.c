/* SPDX-License-Identifier: BSD-3-Clause */
/* test-plan.c - which rank runs on which host: allocations x options, and the sentences */
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct plan_case {
    const char *slots; /* of each host: "2,2", "2/3" with at most 3 */
    struct plan_options options;
    const char *ranks; /* of each host, or NULL: an error */
    const char *says;  /* part of the reason, or of the error */
    int oversubscribed;
};

#define OPT(n, ph, over)                                                                           \
    {                                                                                              \
        .nranks = (n), .per_host = (ph), .oversubscribe = (over)                                   \
    }

#define CORES(n, ph, over, each)                                                                   \
    {                                                                                              \
        .nranks = (n), .per_host = (ph), .oversubscribe = (over), .cores = (each)                  \
    }

/* sets of three ranks on two cores */
#define SETS(n, over)                                                                              \
    {                                                                                              \
        .nranks = (n), .oversubscribe = (over), .cores = 2, .set_ranks = 3                         \
    }

static const struct plan_case cases[] = {
    /* one per slot */
    {"2", OPT(0, 0, -1), "2", "2 ranks on 1 host by slot: 2 slots (test)", 0},
    {"1", OPT(0, 0, 0), "1", "1 rank on 1 host by slot: 1 slot (test)", 0},
    {"2,2", OPT(0, 0, 0), "2,2", "4 ranks on 2 hosts by slot: 2 slots each (test)", 0},
    {"4,2,1", OPT(0, 0, 0), "4,2,1", "7 ranks on 3 hosts by slot: 1 to 4 slots each (test)", 0},
    {"2,0,2", OPT(0, 0, 0), "2,0,2", "4 ranks on 2 hosts by slot: 2 slots each (test)", 0},
    /* as many as asked for: hosts are filled in their order */
    {"2,2", OPT(1, 0, 0), "1,0", "1 rank on 1 host by slot", 0},
    {"2,2", OPT(3, 0, 0), "2,1", "3 ranks on 2 hosts", 0},
    {"4,2,1", OPT(5, 0, 0), "4,1,0", "5 ranks on 2 hosts by slot: 2 to 4 slots each", 0},
    {"1,1,1,1", OPT(4, 0, 0), "1,1,1,1", "4 ranks on 4 hosts by slot: 1 slot each", 0},
    /* more than slots */
    {"2,2", OPT(5, 0, 0), NULL, "2 hosts have 4 slots (test), 1 too few; ask for at most 4 ranks",
     0},
    {"1", OPT(2, 0, 0), NULL, "1 host has 1 slot (test)", 0},
    {"2,2", OPT(5, 0, 1), "3,2", "more ranks than slots", 1},
    {"2,2", OPT(7, 0, 1), "4,3", "more ranks than slots", 1},
    {"2,2", OPT(8, 0, 1), "4,4", "more ranks than slots", 1},
    {"2", OPT(256, 0, 1), "256", "256 ranks on 1 host by slot: 2 slots (test), more ranks", 1},
    /* the rest in proportion to slots, one host after the other */
    {"4,2", OPT(9, 0, 1), "6,3", "", 1},
    {"4,2", OPT(12, 0, 1), "8,4", "", 1},
    {"4,2", OPT(11, 0, 1), "7,4", "", 1},
    {"1,3", OPT(8, 0, 1), "2,6", "", 1},
    {"3,1,1", OPT(6, 0, 1), "4,1,1", "", 1},
    {"3,1,1", OPT(9, 0, 1), "5,2,2", "", 1},
    {"2,0", OPT(6, 0, 1), "6,0", "", 1},
    {"0,0", OPT(3, 0, 1), "2,1", "", 1},
    {"0,0", OPT(0, 0, 1), NULL, "no host has a slot", 0},
    {"0", OPT(1, 0, 0), NULL, "has 0 slots", 0},
    /* a bound per host */
    {"4,4", OPT(0, 2, 0), "2,2", "4 ranks on 2 hosts by slot, at most 2 on a host: 4 slots each",
     0},
    {"4,4", OPT(3, 2, 0), "2,1", "", 0},
    {"4,4", OPT(5, 2, 0), NULL, "2 hosts with at most 2 ranks on a host make room for 4", 0},
    {"4,4", OPT(5, 2, 1), NULL, "make room for 4", 0},
    {"2,2", OPT(0, 4, 0), NULL, "4 too few", 0},
    {"2,2", OPT(0, 4, 1), "4,4", "more ranks than slots", 1},
    {"2,4", OPT(0, 3, 0), NULL, "2 hosts with at most 3 ranks on a host have 5 slots", 0},
    {"2,4", OPT(0, 3, 1), "3,3", "", 1},
    {"2,4", OPT(5, 3, 0), "2,3", "", 0},
    {"4,1", OPT(5, 3, 1), "3,2", "", 1},
    {"4,1,1", OPT(6, 2, 1), "2,2,2", "", 1},
    {"2,0", OPT(4, 2, 1), "2,2", "", 1},
    {"1,1", OPT(0, 1, 0), "1,1", "at most 1 on a host", 0},
    /* several slots for a rank */
    {"4,4", CORES(0, 0, 0, 2), "2,2", "4 ranks of 2 cores on 2 hosts by slot: 4 slots each", 0},
    {"4,5,1", CORES(0, 0, 0, 2), "2,2,0", "4 ranks of 2 cores on 2 hosts", 0},
    {"4,4", CORES(3, 0, 0, 2), "2,1", "", 0},
    {"4,4", CORES(0, 1, 0, 4), "1,1", "2 ranks of 4 cores on 2 hosts by slot, at most 1", 0},
    {"4,4", CORES(5, 0, 0, 2), NULL,
     "place 5 ranks of 2 cores: 2 hosts have 8 slots (test), room for 4; ask for at most 4 ranks",
     0},
    {"2,2", CORES(1, 0, 0, 3), NULL, "room for 0; ask for fewer for each rank, or allow", 0},
    {"4,4", CORES(5, 0, 1, 2), "3,2", "more ranks than slots", 1},
    {"4,4", CORES(0, 2, 0, 3), NULL, "room for 2; ask for at most 2 ranks", 0},
    {"2,2", CORES(0, 0, 0, 3), NULL,
     "place ranks of 3 cores: no host has so many slots (test); ask for fewer for each rank", 0},
    {"2", CORES(1, 0, 1, 4000000000u), "1", "more ranks than slots", 1},
    {"4,5", SETS(0, 0), "6,6", "12 ranks in sets of 2 cores on 2 hosts", 0},
    {"4,4", SETS(7, 0), "6,1", "", 0},
    {"4,4", SETS(13, 0), NULL, "2 hosts have 8 slots (test), room for 12; ask for at most 12", 0},
    {"4,4", SETS(13, 1), "7,6", "more ranks than slots", 1},
    /* bounds */
    {"1", OPT(4000000000u, 0, 1), NULL, "at most 1048576 are possible", 0},
    {"1", OPT(IDSET_MAX + 1, 0, 1), NULL, "at most 1048576 are possible", 0},
    {"2/3,2", OPT(8, 0, 1), "3,5", "", 1},
    {"2/3,2/3", OPT(0, 4, 1), "3,3", "", 1},
    {"2/3,2/3", OPT(0, 2, 1), "2,2", "", 0},
    {"2/3,2/3", OPT(7, 0, 1), NULL, "2 hosts take no more than 6 (max_slots)", 0},
};

static void build(struct allocation *a, const char *slots)
{
    char name[32];
    const char *at = slots;
    while (*at) {
        char *end;
        snprintf(name, sizeof(name), "n%zu", a->nhosts);
        struct alloc_host *h = allocation_add_host(a, name);
        assert_non_null(h);
        h->slots.value = (uint32_t)strtoul(at, &end, 10);
        if (*end == '/')
            h->max_slots = (uint32_t)strtoul(end + 1, &end, 10);
        strcpy(h->slots.source, "test");
        at = *end ? end + 1 : end;
    }
}

static void format_ranks(const struct plan *p, char *buf, size_t n)
{
    buf[0] = 0;
    for (size_t i = 0; i < p->nhosts; i++)
        snprintf(buf + strlen(buf), n - strlen(buf), "%s%u", i ? "," : "",
                 rank_set_count(&p->hosts[i]));
}

static void check_case(const struct plan_case *c, size_t i)
{
    struct allocation a = {0};
    struct plan p = {0};
    struct error err = {0};
    char ranks[256] = "";
    build(&a, c->slots);
    int rc = plan(&a, &c->options, &p, &err);
    format_ranks(&p, ranks, sizeof(ranks));
    if (rc < 0 && c->ranks)
        fail_msg("case %zu: %s", i, err.text);
    if (rc == 0 && (!c->ranks || strcmp(ranks, c->ranks) != 0))
        fail_msg("case %zu: ranks are %s", i, ranks);
    const char *text = rc < 0 ? err.text : p.reason;
    if (!strstr(text, c->says))
        fail_msg("case %zu: '%s' does not say '%s'", i, text, c->says);
    if (rc == 0 && p.oversubscribed != c->oversubscribed)
        fail_msg("case %zu: oversubscribed %d", i, p.oversubscribed);
    for (uint32_t h = 0, next = 0; rc == 0 && h < p.nhosts; h++)
        for (uint32_t k = 0; k < rank_set_count(&p.hosts[h]); k++, next++) {
            assert_int_equal(rank_set_at(&p.hosts[h], k).rank, next);
            assert_int_equal(rank_map_host(&p.map, (struct rank_name){.rank = next}), h);
        }
    plan_free(&p);
    allocation_free(&a);
}

static void the_table_of_placements_holds(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_case(&cases[i], i);
}

static void every_rank_has_one_place_whatever_is_asked_for(void **state)
{
    static const char *const slots[] = {"1",   "3",       "1,1",          "2,5,1",
                                        "0,4", "7,0,0,2", "1,1,1,1,1,1,1"};
    for (size_t s = 0; s < sizeof(slots) / sizeof(slots[0]); s++) {
        struct allocation a = {0};
        build(&a, slots[s]);
        for (uint32_t n = 1; n <= 40; n++) {
            for (uint32_t per = 0; per <= 4; per++) {
                struct plan_options o = OPT(n, per, 1);
                struct plan p = {0};
                uint32_t sum = 0;
                if (plan(&a, &o, &p, NULL) < 0) {
                    assert_true(per && n > per * a.nhosts);
                    continue;
                }
                for (size_t i = 0; i < p.nhosts; i++) {
                    sum += rank_set_count(&p.hosts[i]);
                    assert_true(!per || rank_set_count(&p.hosts[i]) <= per);
                }
                assert_int_equal(sum, n);
                plan_free(&p);
            }
        }
        allocation_free(&a);
    }
}

static void the_allocation_decides_on_oversubscription_unless_the_user_does(void **state)
{
    struct allocation a = {.may_oversubscribe = 1};
    struct plan p;
    struct plan_options o = OPT(3, 0, -1);
    build(&a, "2");
    assert_int_equal(plan(&a, &o, &p, NULL), 0);
    assert_true(p.oversubscribed);
    plan_free(&p);
    o.oversubscribe = 0;
    assert_int_equal(plan(&a, &o, &p, NULL), -1);
    a.may_oversubscribe = 0;
    o.oversubscribe = -1;
    assert_int_equal(plan(&a, &o, &p, NULL), -1);
    allocation_free(&a);
}

static void sources_of_slots_are_named(void **state)
{
    struct allocation a = {0};
    struct plan p;
    struct plan_options o = OPT(0, 0, 0);
    build(&a, "1,1");
    strcpy(a.hosts[1].slots.source, "--host");
    assert_int_equal(plan(&a, &o, &p, NULL), 0);
    assert_string_equal(p.reason, "2 ranks on 2 hosts by slot: 1 slot each (from several sources)");
    plan_free(&p);
    allocation_free(&a);
}

static void an_allocation_without_hosts_is_refused(void **state)
{
    struct allocation a = {0};
    struct plan p;
    struct plan_options o = OPT(1, 0, 1);
    struct error err;
    assert_int_equal(plan(&a, &o, &p, &err), -1);
    assert_string_equal(err.text, "place ranks: the allocation has no host");
}

static void many_hosts_and_ranks_take_no_time(void **state)
{
    struct allocation a = {.may_oversubscribe = 1};
    struct plan p;
    struct plan_options o = OPT(IDSET_MAX, 0, -1);
    char name[32];
    for (int i = 0; i < 4096; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        allocation_add_host(&a, name)->slots.value = 1;
    }
    assert_int_equal(allocation_slots(&a), 4096);
    assert_int_equal(plan(&a, &o, &p, NULL), 0);
    assert_int_equal(rank_set_count(&p.hosts[4095]), IDSET_MAX / 4096);
    plan_free(&p);
    allocation_free(&a);
}

/* ---- one rank to each host in turn ----------------------------------------------------------- */

/* Slots of the hosts, ranks (0: one a slot), at most on a host, oversubscribe; the host of each
 * rank. */
static const struct {
    const char *slots;
    uint32_t nranks, per_host;
    int oversubscribe;
    const char *hosts, *says;
} turns[] = {
    {"2,2,2", 0, 0, 0, "012012", "6 ranks on 3 hosts in turn: 2 slots each (test)"},
    {"4,4,4", 5, 0, 0, "01201", "5 ranks on 3 hosts in turn"},
    {"8,8,8", 2, 0, 0, "01", "2 ranks on 2 hosts in turn"},
    {"1,3,2", 0, 0, 0, "012121", "6 ranks on 3 hosts in turn: 1 to 3 slots each"},
    {"0,2,1", 0, 0, 0, "121", "3 ranks on 2 hosts in turn"},
    {"4,4", 0, 2, 0, "0101", "at most 2 on a host"},
    {"1,1", 5, 0, 1, "01010", "more ranks than slots"},
    {"2,1", 6, 0, 1, "010100", "more ranks than slots"},
    {"3", 3, 0, 0, "000", "3 ranks on 1 host in turn: 3 slots"},
};

static void ranks_go_to_hosts_in_turn(void **state)
{
    for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
        struct allocation a = {0};
        struct plan p;
        struct error err = {0};
        struct plan_options o = {.nranks = turns[i].nranks,
                                 .per_host = turns[i].per_host,
                                 .oversubscribe = turns[i].oversubscribe,
                                 .turn = 1,
                                 .numbers = 1};
        build(&a, turns[i].slots);
        assert_int_equal(plan(&a, &o, &p, &err), 0);
        assert_int_equal(p.map.nranks, strlen(turns[i].hosts));
        for (uint32_t rank = 0; rank < p.map.nranks; rank++) {
            struct rank_name name = {.rank = rank};
            int64_t host = rank_map_host(&p.map, name);
            assert_int_equal(host, turns[i].hosts[rank] - '0');
            assert_true(rank_set_has(&p.hosts[host], name));
        }
        assert_non_null(strstr(p.reason, turns[i].says));
        plan_free(&p);
        allocation_free(&a);
    }
}

static void ranks_go_to_hosts_in_sequence(void **state)
{
    static const uint32_t host_of[] = {1, 0, 0, 2, 1};
    struct allocation a = {0};
    struct plan p;
    struct error err = {0};
    struct plan_options o = {.host_of = host_of, .nhost_of = 5};
    build(&a, "4,4,4");
    for (uint32_t n = 0; n <= 5; n++) {
        o.nranks = n;
        assert_int_equal(plan(&a, &o, &p, &err), 0);
        assert_int_equal(p.map.nranks, n ? n : 5);
        for (uint32_t rank = 0; rank < p.map.nranks; rank++) {
            struct rank_name name = {.rank = rank};
            assert_int_equal(rank_map_host(&p.map, name), host_of[rank]);
            assert_true(rank_set_has(&p.hosts[host_of[rank]], name));
        }
        assert_non_null(strstr(p.reason, "in sequence"));
        plan_free(&p);
    }
    o.nranks = 6;
    assert_int_equal(plan(&a, &o, &p, &err), -1);
    assert_non_null(strstr(err.text, "6 ranks in sequence: 5 hosts are named"));
    /* each host has its slots for them, or more are allowed */
    o.nranks = 5;
    o.cores = 2;
    assert_int_equal(plan(&a, &o, &p, &err), 0);
    plan_free(&p);
    a.hosts[0].slots.value = 3;
    assert_int_equal(plan(&a, &o, &p, &err), -1);
    assert_non_null(
        strstr(err.text, "2 ranks of 2 cores on 'n0', as is asked for: it has 3 slots"));
    o.oversubscribe = 1;
    assert_int_equal(plan(&a, &o, &p, &err), 0);
    plan_free(&p);
    allocation_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_placements_holds),
        cmocka_unit_test(every_rank_has_one_place_whatever_is_asked_for),
        cmocka_unit_test(the_allocation_decides_on_oversubscription_unless_the_user_does),
        cmocka_unit_test(sources_of_slots_are_named),
        cmocka_unit_test(an_allocation_without_hosts_is_refused),
        cmocka_unit_test(many_hosts_and_ranks_take_no_time),
        cmocka_unit_test(ranks_go_to_hosts_in_turn),
        cmocka_unit_test(ranks_go_to_hosts_in_sequence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
