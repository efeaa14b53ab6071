/* SPDX-License-Identifier: BSD-3-Clause */
/* place.c - which rank runs on which host */
#include "plan/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/number.h"

/* No more ranks than so many on a host; 0: no bound. */
static uint32_t host_bound(const struct alloc_host *h, const struct plan_options *o)
{
    if (!o->per_host || !h->max_slots)
        return o->per_host ? o->per_host : h->max_slots;
    return o->per_host < h->max_slots ? o->per_host : h->max_slots;
}

static uint32_t cores_each(const struct plan_options *o)
{
    return o->cores ? o->cores : 1;
}

/* Ranks that a host's slots are enough for: cut to what may be on a host. */
static uint32_t usable_slots(const struct alloc_host *h, const struct plan_options *o)
{
    uint64_t bound = host_bound(h, o), room = h->slots.value / cores_each(o);
    room *= o->set_ranks ? o->set_ranks : 1;
    room = bound && bound < room ? bound : room;
    return room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
}

/* Ranks that all hosts together have room for; UINT64_MAX: one has no bound. */
static uint64_t sum_bounds(const struct allocation *a, const struct plan_options *o)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < a->nhosts; i++) {
        if (!host_bound(&a->hosts[i], o))
            return UINT64_MAX;
        sum += host_bound(&a->hosts[i], o);
    }
    return sum;
}

static uint64_t sum_usable_slots(const struct allocation *a, const struct plan_options *o)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < a->nhosts; i++)
        sum += usable_slots(&a->hosts[i], o);
    return sum;
}

/* The source of the numbers of slots, for sentences. */
static const char *slot_source(const struct allocation *a)
{
    for (size_t i = 1; i < a->nhosts; i++)
        if (strcmp(a->hosts[i].slots.source, a->hosts[0].slots.source) != 0)
            return a->source[0] ? a->source : "from several sources";
    return a->hosts[0].slots.source;
}

/* How many ranks: as asked, or as many as there is room for. */
static uint64_t count_ranks(const struct allocation *a, const struct plan_options *o)
{
    if (o->nranks || o->host_of)
        return o->nranks ? o->nranks : o->nhost_of;
    if (!o->per_host)
        return sum_usable_slots(a, o);
    uint64_t sum = 0;
    for (size_t i = 0; i < a->nhosts; i++)
        sum += host_bound(&a->hosts[i], o);
    return sum;
}

/* " of 2 cores", where a rank takes more than one slot */
static const char *each_text(char buf[32], const struct plan_options *o)
{
    buf[0] = 0;
    if (cores_each(o) > 1)
        snprintf(buf, 32, o->set_ranks ? " in sets of %" PRIu32 " %s" : " of %" PRIu32 " %s",
                 o->cores, o->threads ? "hardware threads" : "cores");
    return buf;
}

static int too_few_slots(const struct allocation *a, const struct plan_options *o, uint64_t nranks,
                         const char *bound, struct error *err)
{
    uint64_t room = sum_usable_slots(a, o), slots = cores_each(o) > 1 ? allocation_slots(a) : room;
    char more[160] = "", lack[64], each[32], fewer[64];
    if (a->more[0])
        snprintf(more, sizeof(more), "submit the job with '%s %" PRIu64 "', ", a->more,
                 nranks * cores_each(o));
    if (cores_each(o) > 1)
        snprintf(lack, sizeof(lack), "room for %" PRIu64, room);
    else
        snprintf(lack, sizeof(lack), "%" PRIu64 " too few", nranks - slots);
    if (cores_each(o) > 1 && room == 0)
        snprintf(fewer, sizeof(fewer), "fewer for each rank");
    else
        snprintf(fewer, sizeof(fewer), "at most %" PRIu64 " rank%s", room, plural(room));
    return error_set(
        err, EINVAL,
        "place %" PRIu64 " rank%s%s: %zu host%s%s %s %" PRIu64
        " slot%s (%s), %s; ask for %s, %sor allow more ranks than slots with --oversubscribe",
        nranks, plural(nranks), each_text(each, o), a->nhosts, plural(a->nhosts), bound,
        a->nhosts == 1 ? "has" : "have", slots, plural(slots), slot_source(a), lack, fewer, more);
}

static int check_slots(const struct allocation *a, const struct plan_options *o, uint64_t nranks,
                       struct error *err)
{
    int may = o->oversubscribe < 0 ? a->may_oversubscribe : o->oversubscribe;
    char bound[64] = "", each[32];
    if (o->per_host)
        snprintf(bound, sizeof(bound), " with at most %" PRIu32 " rank%s on a host", o->per_host,
                 plural(o->per_host));
    if (nranks == 0)
        return error_set(err, EINVAL, "place ranks%s: no host has %s (%s)%s", each_text(each, o),
                         cores_each(o) > 1 ? "so many slots" : "a slot", slot_source(a),
                         cores_each(o) > 1 ? "; ask for fewer for each rank" : "");
    if (nranks > IDSET_MAX)
        return error_set(err, EINVAL, "place %" PRIu64 " ranks: at most %d are possible", nranks,
                         IDSET_MAX);
    if (o->per_host && nranks > (uint64_t)o->per_host * a->nhosts)
        return error_set(err, EINVAL,
                         "place %" PRIu64 " rank%s: %zu host%s%s make room for %" PRIu64
                         "; ask for fewer ranks, or for more on a host",
                         nranks, plural(nranks), a->nhosts, plural(a->nhosts), bound,
                         (uint64_t)o->per_host * a->nhosts);
    if (o->host_of && nranks > o->nhost_of)
        return error_set(
            err, EINVAL,
            "place %" PRIu64 " ranks in sequence: %" PRIu32
            " host%s named, of which each takes one; ask for fewer ranks, or name hosts again",
            nranks, o->nhost_of, o->nhost_of == 1 ? " is" : "s are");
    if (nranks > sum_bounds(a, o))
        return error_set(err, EINVAL,
                         "place %" PRIu64 " rank%s: %zu host%s%s take%s no more than %" PRIu64
                         " (max_slots); ask for fewer ranks",
                         nranks, plural(nranks), a->nhosts, plural(a->nhosts), bound,
                         a->nhosts == 1 ? "s" : "", sum_bounds(a, o));
    return nranks > sum_usable_slots(a, o) && !may ? too_few_slots(a, o, nranks, bound, err) : 0;
}

/* Fill slots, all of a host at once or in turns of one: what is left over. */
static uint64_t fill_slots(uint32_t *counts, const struct allocation *a,
                           const struct plan_options *o, uint64_t left)
{
    uint64_t before;
    do {
        before = left;
        for (size_t i = 0; i < a->nhosts && left > 0; i++) {
            uint32_t n = usable_slots(&a->hosts[i], o) - counts[i];
            uint32_t turn = o->even ? 1 : o->turn;
            if (turn && n > turn)
                n = turn;
            if (n > left)
                n = (uint32_t)left;
            counts[i] += n;
            left -= n;
        }
    } while (left > 0 && left < before);
    return left;
}

/* A host's share of one round beyond the slots: one rank per slot. A host that has no slot takes
 * part only where no host has one. */
static uint32_t share(const struct alloc_host *h, int no_slots)
{
    return no_slots ? 1 : h->slots.value;
}

/* Deal the ranks beyond the slots: in rounds that give each host as many as it has slots, one host
 * after the other within a round. */
static void deal_rest(uint32_t *counts, const struct allocation *a, const struct plan_options *o,
                      uint64_t left)
{
    int no_slots = allocation_slots(a) == 0;
    uint32_t turn = 0; /* how often each host was asked in this round */
    while (left > 0) {
        int dealt = 0;
        for (size_t i = 0; i < a->nhosts && left > 0; i++) {
            if (turn >= share(&a->hosts[i], no_slots))
                continue;
            uint32_t bound = host_bound(&a->hosts[i], o);
            if (bound && counts[i] >= bound)
                continue;
            counts[i]++;
            left--;
            dealt = 1;
        }
        if (!dealt && turn == 0)
            no_slots = 1; /* hosts with slots are full: the others are left */
        turn = dealt ? turn + 1 : 0;
    }
}

/* Sets of a host with so many ranks. */
static uint32_t count_sets(uint32_t nranks, const struct plan_options *o)
{
    return o->set_ranks && nranks ? (nranks - 1) / o->set_ranks + 1 : nranks;
}

/* Number the ranks: host after host, or so many of each host in turn. */
static void number_ranks(struct plan *p, const uint32_t *counts, const struct plan_options *o,
                         uint64_t nranks)
{
    struct rank_name next = {.world = o->world};
    while (next.rank < nranks)
        for (size_t i = 0; i < p->nhosts; i++) {
            uint32_t numbers = o->set_turn ? o->set_turn * count_sets(counts[i], o) : o->numbers;
            for (uint32_t n = 0; rank_set_count(&p->hosts[i]) < counts[i]; n++) {
                if (numbers && n == numbers)
                    break;
                must_do(rank_set_add(&p->hosts[i], next));
                next.rank++;
            }
        }
}

static void number_in_sequence(struct plan *p, uint32_t *counts, const struct plan_options *o,
                               uint64_t nranks)
{
    for (uint32_t r = 0; r < nranks; r++) {
        struct rank_name name = {.world = o->world, .rank = r};
        counts[o->host_of[r]]++;
        must_do(rank_set_add(&p->hosts[o->host_of[r]], name));
    }
}

static int place_ranks(struct plan *p, const struct allocation *a, const struct plan_options *o,
                       uint64_t nranks, struct error *err)
{
    AUTO_FREE uint32_t *counts = must(calloc(a->nhosts + 1, sizeof(*counts)));
    p->hosts = must(calloc(a->nhosts + 1, sizeof(*p->hosts)));
    if (o->host_of) {
        number_in_sequence(p, counts, o, nranks);
    } else {
        deal_rest(counts, a, o, fill_slots(counts, a, o, nranks));
        number_ranks(p, counts, o, nranks);
    }
    rank_map_create(&p->map, o->world, (uint32_t)nranks);
    for (uint32_t i = 0; i < p->nhosts; i++) {
        p->oversubscribed |=
            (uint64_t)count_sets(counts[i], o) * cores_each(o) > a->hosts[i].slots.value;
        if (rank_map_put(&p->map, &p->hosts[i], i, err) < 0)
            return -1;
    }
    return 0;
}

/* "4 ranks on 2 hosts by slot: 2 slots each (cores of this machine)" */
static void explain(struct plan *p, const struct allocation *a, const struct plan_options *o,
                    uint64_t nranks)
{
    size_t used = 0;
    uint32_t least = UINT32_MAX, most = 0;
    char bound[64] = "", slots[48], each[32];
    for (size_t i = 0; i < p->nhosts; i++) {
        uint32_t n = a->hosts[i].slots.value;
        if (!rank_set_count(&p->hosts[i]))
            continue;
        used++;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    if (least == most)
        snprintf(slots, sizeof(slots), "%" PRIu32 " slot%s", most, plural(most));
    else
        snprintf(slots, sizeof(slots), "%" PRIu32 " to %" PRIu32 " slots", least, most);
    if (o->per_host)
        snprintf(bound, sizeof(bound), ", at most %" PRIu32 " on a host", o->per_host);
    snprintf(p->reason, sizeof(p->reason), "%" PRIu64 " rank%s%s on %zu host%s %s%s: %s%s (%s)%s",
             nranks, plural(nranks), each_text(each, o), used, plural(used),
             o->host_of ? "in sequence"
             : o->even  ? "evenly"
             : o->turn  ? "in turn"
                        : "by slot",
             bound, slots, used > 1 ? " each" : "", slot_source(a),
             p->oversubscribed ? ", more ranks than slots" : "");
}

/* Hosts that the user names for each rank. */
static int check_sequence(const struct plan *p, const struct allocation *a,
                          const struct plan_options *o, struct error *err)
{
    int may = o->oversubscribe < 0 ? a->may_oversubscribe : o->oversubscribe;
    for (size_t i = 0; o->host_of && i < p->nhosts; i++) {
        uint32_t n = rank_set_count(&p->hosts[i]), slots = a->hosts[i].slots.value;
        uint32_t most = a->hosts[i].max_slots;
        char each[32];
        if (most && n > most)
            return error_set(err, EINVAL,
                             "place %" PRIu32 " rank%s on '%s', as is asked for: it takes no more "
                             "than %" PRIu32 " (max_slots); name other hosts",
                             n, plural(n), a->hosts[i].name, most);
        if (!may && (uint64_t)n * cores_each(o) > slots)
            return error_set(err, EINVAL,
                             "place %" PRIu32 " rank%s%s on '%s', as is asked for: it has %" PRIu32
                             " slot%s (%s); name other hosts, or allow more ranks than slots with "
                             "--oversubscribe",
                             n, plural(n), each_text(each, o), a->hosts[i].name, slots,
                             plural(slots), a->hosts[i].slots.source);
    }
    return 0;
}

int plan(const struct allocation *a, const struct plan_options *o, struct plan *ret,
         struct error *err)
{
    struct plan p = {.nhosts = a->nhosts};
    if (a->nhosts == 0)
        return error_set(err, EINVAL, "place ranks: the allocation has no host");
    uint64_t nranks = count_ranks(a, o);
    if (check_slots(a, o, nranks, err) < 0)
        return -1;
    if (place_ranks(&p, a, o, nranks, err) < 0 || check_sequence(&p, a, o, err) < 0) {
        plan_free(&p);
        return -1;
    }
    explain(&p, a, o, nranks);
    *ret = p;
    return 0;
}

void plan_free(struct plan *p)
{
    for (size_t i = 0; p->hosts && i < p->nhosts; i++)
        rank_set_free(&p->hosts[i]);
    free(p->hosts);
    rank_map_free(&p->map);
    *p = (struct plan){0};
}
