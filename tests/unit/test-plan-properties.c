/* SPDX-License-Identifier: BSD-3-Clause */
/* test-plan-properties.c - what holds for every plan: thousands of allocations, machines and
 * options, the same ones in each run */
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/topology.h"

enum { PLANS = 20000, BINDINGS = 20000, RANKS_MAX = 64, HOSTS_MAX = 6 };

static unsigned short seed[3];

/* 0 to n - 1 */
static uint32_t any(uint32_t n)
{
    return (uint32_t)(nrand48(seed) % n);
}

static void sow(unsigned i)
{
    seed[0] = (unsigned short)i;
    seed[1] = (unsigned short)(i >> 16);
    seed[2] = 4711;
    any(1);
}

#define HOLDS(what)                                                                                \
    do {                                                                                           \
        if (!(what))                                                                               \
            fail_msg("%s: %s does not hold", text, #what);                                         \
    } while (0)

/* ---- ranks on hosts -------------------------------------------------------------------------- */

static void describe(char *text, size_t n, const struct allocation *a, const struct plan_options *o)
{
    size_t k = 0;
    for (size_t i = 0; i < a->nhosts; i++)
        k += (size_t)snprintf(text + k, n - k, "%s%u", i ? "," : "slots ", a->hosts[i].slots.value);
    snprintf(text + k, n - k, "; %u ranks, %u on a host, %u cores, turn %u, numbers %u, over %d",
             o->nranks, o->per_host, o->cores, o->turn, o->numbers, o->oversubscribe);
}

/* Numbers that go to each host in turn: each round has ascending hosts, and no host comes back that
 * was left out of a round. */
static void check_turns(const struct plan *p, uint32_t nranks, const char *text)
{
    bool is_out[HOSTS_MAX] = {0}, was_in[HOSTS_MAX] = {0};
    int64_t last = -1;
    for (uint32_t r = 0; r < nranks; r++) {
        int64_t host = rank_map_host(&p->map, (struct rank_name){.rank = r});
        if (host <= last) { /* another round */
            for (size_t h = 0; h < p->nhosts; h++)
                is_out[h] |= !was_in[h];
            memset(was_in, 0, sizeof(was_in));
        }
        HOLDS(!is_out[host]);
        was_in[host] = true;
        last = host;
    }
}

static void check_plan(const struct allocation *a, const struct plan_options *o,
                       const struct plan *p, const char *text)
{
    bool is_placed[4096] = {0};
    uint32_t n = 0, each = o->cores ? o->cores : 1, last = 0;
    for (uint32_t h = 0; h < p->nhosts; h++) {
        uint32_t count = rank_set_count(&p->hosts[h]), before = 0;
        HOLDS(!o->per_host || count <= o->per_host);
        HOLDS(p->oversubscribed || (uint64_t)count * each <= a->hosts[h].slots.value);
        for (uint32_t k = 0; k < count; k++, n++) {
            struct rank_name r = rank_set_at(&p->hosts[h], k);
            HOLDS(r.rank < sizeof(is_placed) && !is_placed[r.rank]);
            HOLDS(k == 0 || r.rank > before);
            HOLDS(rank_map_host(&p->map, r) == h);
            HOLDS(o->numbers || n == 0 || r.rank == last + 1);
            is_placed[r.rank] = true;
            last = before = r.rank;
        }
    }
    HOLDS(n == p->map.nranks);
    HOLDS(!o->nranks || n == o->nranks);
    HOLDS(o->oversubscribe || !p->oversubscribed);
    if (o->numbers == 1)
        check_turns(p, n, text);
}

static void every_rank_is_placed_once_within_slots_in_the_order_that_was_asked_for(void **state)
{
    unsigned placed = 0;
    for (unsigned i = 0; i < PLANS; i++) {
        struct allocation a = {0};
        struct plan p = {0};
        struct error err;
        char text[256], name[16];
        sow(i);
        for (uint32_t h = 0, n = 1 + any(HOSTS_MAX); h < n; h++) {
            snprintf(name, sizeof(name), "n%u", h);
            allocation_add_host(&a, name)->slots.value = any(9);
        }
        uint32_t turn = any(3);
        struct plan_options o = {.nranks = any(4) ? any(40) : 0,
                                 .per_host = any(3) ? 0 : any(8),
                                 .cores = any(3) ? 0 : 1 + any(3),
                                 .turn = turn,
                                 .numbers = any(2) ? turn : any(3),
                                 .oversubscribe = any(2)};
        describe(text, sizeof(text), &a, &o);
        if (plan(&a, &o, &p, &err) == 0) {
            check_plan(&a, &o, &p, text);
            placed++;
        }
        plan_free(&p);
        allocation_free(&a);
    }
    assert_true(placed > PLANS / 4);
}

/* ---- ranks on cores -------------------------------------------------------------------------- */

static const char *const machines[] = {
    "package:2 numa:1 l3:1 core:4 pu:1", "package:2 numa:2 l3:2 core:2 pu:2",
    "package:1 l3:4 l2:2 core:1 pu:4",   "package:2 l3:1 l2:2 core:2 pu:2",
    "package:1 numa:1 core:3 pu:2",
};

/* The part of the level that has the core, the threads of all cores in it. */
static void part_of(const struct plan_topology *t, enum level l, size_t core, struct idset *ret)
{
    for (size_t i = 0; i < t->ncores; i++)
        if (t->cores[i].at[l] == t->cores[core].at[l])
            idset_unite(ret, &t->cores[i].threads);
}

static bool meets(const struct idset *a, const struct idset *b)
{
    for (int i = idset_next(a, 0); i >= 0; i = idset_next(a, (unsigned)i + 1))
        if (idset_has(b, (unsigned)i))
            return true;
    return false;
}

/* Each set is that of whole parts, of the level that ranks are bound to. */
static void check_whole_parts(const struct plan_topology *t, enum level l, const struct idset *s,
                              const char *text)
{
    for (size_t c = 0; c < t->ncores; c++) {
        struct idset part = {0}, rest = {0};
        if (!meets(&t->cores[c].threads, s))
            continue;
        part_of(t, l, c, &part);
        idset_copy(&rest, &part);
        idset_subtract(&rest, s);
        HOLDS(idset_count(&rest) == 0);
        idset_free(&part);
        idset_free(&rest);
    }
}

static size_t cores_met(const struct plan_topology *t, const struct idset *s)
{
    size_t n = 0;
    for (size_t c = 0; c < t->ncores; c++)
        n += meets(&t->cores[c].threads, s);
    return n;
}

/* Which part of the level has a rank's first core. */
static int part_number(const struct plan_topology *t, enum level l, const struct idset *s)
{
    for (size_t c = 0; c < t->ncores; c++)
        if (meets(&t->cores[c].threads, s))
            return t->cores[c].at[l];
    return -1;
}

/* Each part of a level gets as many ranks, but one; numbers follow the parts, or go round. */
static void check_dealt(const struct plan_topology *t, const struct binding_request *how,
                        const struct plan_binding *b, const char *text)
{
    uint32_t count[RANKS_MAX] = {0}, parts = plan_count_parts(t, how->map), most = 0, least = ~0u;
    int last = -1;
    for (uint32_t r = 0; r < b->nranks; r++) {
        int part = part_number(t, how->map, &b->ranks[r]);
        HOLDS(part >= 0 && (uint32_t)part < parts);
        HOLDS(how->in_turn ? (uint32_t)part == r % parts : part >= last);
        count[part]++;
        last = part;
    }
    for (uint32_t i = 0; i < parts; i++) {
        most = count[i] > most ? count[i] : most;
        least = count[i] < least ? count[i] : least;
    }
    HOLDS(most - least <= 1);
}

static void check_binding(const struct plan_topology *t, const struct binding_request *how,
                          const struct idset *busy, const struct plan_binding *b, const char *text)
{
    enum level to = how->to == LEVEL_NONE ? LEVEL_CORE : how->to;
    struct idset all = {0}, outside = {0};
    for (size_t c = 0; c < t->ncores; c++)
        idset_unite(&all, &t->cores[c].threads);
    for (uint32_t r = 0; r < b->nranks; r++) {
        HOLDS(idset_count(&b->ranks[r]) > 0);
        idset_copy(&outside, &b->ranks[r]);
        idset_subtract(&outside, &all);
        HOLDS(idset_count(&outside) == 0);
        check_whole_parts(t, to, &b->ranks[r], text);
        for (uint32_t k = 0; to == LEVEL_CORE && !how->overload && k < r; k++)
            HOLDS(!meets(&b->ranks[r], &b->ranks[k]));
    }
    HOLDS(how->overload || cores_met(t, &b->seats) == (size_t)b->nranks * binding_cores(how));
    HOLDS(how->overload || how->policy != BIND_DEFAULT || !busy || !meets(busy, &b->seats));
    if (how->map != LEVEL_NONE && !busy && binding_cores(how) == 1 && to == LEVEL_CORE &&
        b->nranks <= t->ncores)
        check_dealt(t, how, b, text);
    idset_free(&all);
    idset_free(&outside);
}

static void no_core_is_two_ranks_and_parts_are_whole_and_dealt_to_evenly(void **state)
{
    static const enum level levels[] = {LEVEL_NONE, LEVEL_CORE, LEVEL_L2,
                                        LEVEL_L3,   LEVEL_NUMA, LEVEL_PACKAGE};
    enum {
        LEVELS = sizeof(levels) / sizeof(levels[0]),
        MACHINES = sizeof(machines) / sizeof(machines[0])
    };
    struct plan_topology t[MACHINES];
    struct error err;
    unsigned bound = 0;
    for (size_t i = 0; i < MACHINES; i++) {
        struct topology *whole = topology_load_from(machines[i], &err);
        if (!whole)
            fail_msg("%s: %s", machines[i], err.text);
        topology_cores(whole, &t[i]);
        topology_destroy(whole);
    }
    for (unsigned i = 0; i < BINDINGS; i++) {
        struct plan_binding b = {0};
        struct idset busy = {0};
        char text[256];
        sow(i);
        size_t m = any(MACHINES);
        struct binding_request how = {.policy = any(2) ? BIND_TO : BIND_DEFAULT,
                                      .cores = any(3) ? 0 : 1 + any(3),
                                      .to = levels[any(LEVELS)],
                                      .map = levels[any(LEVELS)],
                                      .in_turn = any(2),
                                      .overload = any(4) == 0};
        uint32_t nranks = 1 + any(20);
        bool has_busy = any(2);
        for (uint32_t k = any(5); has_busy && k > 0; k--)
            idset_unite(&busy, &t[m].cores[any((uint32_t)t[m].ncores)].threads);
        snprintf(
            text, sizeof(text),
            "%s: %u ranks of %u cores, policy %d, to %s, map %s, in turn %d, overload %d, busy %zu",
            machines[m], nranks, how.cores, how.policy, level_text(how.to), level_text(how.map),
            how.in_turn, how.overload, idset_count(&busy));
        if (plan_binding(&t[m], &how, nranks, has_busy ? &busy : NULL, &b, &err) == 0 && b.bound) {
            check_binding(&t[m], &how, has_busy ? &busy : NULL, &b, text);
            bound++;
        }
        plan_binding_free(&b);
        idset_free(&busy);
    }
    for (size_t i = 0; i < MACHINES; i++)
        plan_topology_free(&t[i]);
    assert_true(bound > BINDINGS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_is_placed_once_within_slots_in_the_order_that_was_asked_for),
        cmocka_unit_test(no_core_is_two_ranks_and_parts_are_whole_and_dealt_to_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
