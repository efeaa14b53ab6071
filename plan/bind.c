/* SPDX-License-Identifier: BSD-3-Clause */
/* bind.c - which hardware threads each rank of one host may use
 *
 * The cores are cut into seats: as many as a rank is to have, of one kind where there are enough. A
 * pool is the seats of one part of the machine (all seats, where ranks are not dealt to parts).
 * Ranks are dealt to the pools in turn, a seat each. */
#include "plan/plan.h"

#include <stdbool.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/number.h"
#include "plan/slot-list.h"

void plan_topology_free(struct plan_topology *t)
{
    for (size_t i = 0; t->cores && i < t->ncores; i++)
        idset_free(&t->cores[i].threads);
    free(t->cores);
    *t = (struct plan_topology){0};
}

uint32_t plan_count_parts(const struct plan_topology *t, enum level level)
{
    uint32_t n = 0;
    for (size_t i = 0; i < t->ncores; i++) {
        size_t before = 0;
        if (t->cores[i].at[level] < 0)
            return 0;
        while (before < i && t->cores[before].at[level] != t->cores[i].at[level])
            before++;
        n += level == LEVEL_HWTHREAD ? (uint32_t)idset_count(&t->cores[i].threads) : before == i;
    }
    return n;
}

void plan_binding_free(struct plan_binding *b)
{
    for (uint32_t i = 0; b->ranks && i < b->nranks; i++)
        idset_free(&b->ranks[i]);
    free(b->ranks);
    idset_free(&b->seats);
    *b = (struct plan_binding){0};
}

/* ---- seats and pools ------------------------------------------------------------------------- */

struct seat {
    const struct plan_core **cores; /* of the table's order */
    size_t n;     /* `each` of them; with `by_threads` as many as have the rank's threads */
    bool is_free; /* none of them is busy */
};

struct pool {
    int id; /* index of the part in the machine */
    struct seat *seats;
    size_t n, nfree;
    size_t next;    /* seat of the next rank */
    uint32_t ranks; /* that it has */
};

struct table {
    const struct plan_topology *t;
    const struct binding_request *how;
    size_t each;
    const struct plan_core **order; /* the cores as they are given out: free ones first */
    size_t nfree;
    struct seat *seats;
    struct pool *pools;
    size_t npools;
    size_t taken; /* cores of the ranks' seats */
};

static bool is_busy(const struct plan_core *core, const struct idset *busy)
{
    for (int t = idset_next(&core->threads, 0); busy && t >= 0;
         t = idset_next(&core->threads, (unsigned)t + 1))
        if (idset_has(busy, (unsigned)t))
            return true;
    return false;
}

static void order_cores(struct table *b, const struct idset *busy)
{
    size_t n = 0;
    for (size_t i = 0; i < b->t->ncores; i++)
        if (!is_busy(&b->t->cores[i], busy))
            b->order[n++] = &b->t->cores[i];
    b->nfree = n;
    for (size_t i = 0; i < b->t->ncores; i++)
        if (is_busy(&b->t->cores[i], busy))
            b->order[n++] = &b->t->cores[i];
}

static int part_of(const struct table *b, const struct plan_core *core)
{
    return b->how->map == LEVEL_NONE ? 0 : core->at[b->how->map];
}

static int by_id(const void *a, const void *b)
{
    return ((const struct pool *)a)->id - ((const struct pool *)b)->id;
}

static struct pool *find_pool(struct table *b, int id)
{
    for (size_t i = 0; i < b->npools; i++)
        if (b->pools[i].id == id)
            return &b->pools[i];
    return NULL;
}

/* The cores of a pool and of a kind (-1: any) go to the end of b->order, in front of `end`, and
 * whole seats are made of them. */
static size_t cut_kind(struct table *b, struct pool *p, int kind, const struct plan_core **to)
{
    bool by_threads = b->how->by_threads && !b->how->set_ranks;
    size_t n = 0, first = 0, has = 0, each = by_threads ? binding_cores(b->how) : b->each;
    for (size_t i = 0; i < b->t->ncores; i++) {
        const struct plan_core *core = b->order[i];
        if (part_of(b, core) != p->id || (kind >= 0 && core->kind != kind))
            continue;
        to[n++] = core;
        has += by_threads ? idset_count(&core->threads) : 1;
        if (has >= each) {
            p->seats[p->n++] = (struct seat){to + first, n - first, i < b->nfree};
            p->nfree += i < b->nfree;
            first = n;
            has = 0;
        }
    }
    return first;
}

static int highest_kind(const struct plan_topology *t)
{
    int highest = 0;
    for (size_t i = 0; i < t->ncores; i++)
        highest = t->cores[i].kind > highest ? t->cores[i].kind : highest;
    return highest;
}

/* Free seats first. */
static void sort_seats(struct pool *p, struct seat *spare)
{
    size_t n = 0;
    for (int turn = 1; turn >= 0; turn--)
        for (size_t i = 0; i < p->n; i++)
            if (p->seats[i].is_free == turn)
                spare[n++] = p->seats[i];
    memcpy(p->seats, spare, n * sizeof(*spare));
}

/* Performance cores have the highest kind, and come first. Where no kind has enough for a seat,
 * seats are mixed. */
static void cut_seats(struct table *b, const struct plan_core **to, struct seat *spare)
{
    struct seat *next = b->seats;
    for (size_t i = 0; i < b->npools; i++) {
        struct pool *p = &b->pools[i];
        p->seats = next;
        for (int kind = highest_kind(b->t); kind >= 0; kind--)
            to += cut_kind(b, p, kind, to);
        if (p->n == 0)
            to += cut_kind(b, p, -1, to);
        sort_seats(p, spare);
        next += p->n;
    }
}

static void free_table(struct table *b)
{
    free(b->order);
    free(b->seats);
    free(b->pools);
}

static void make_table(struct table *b, const struct idset *busy)
{
    size_t n = b->t->ncores;
    b->order = must(calloc(2 * n + 1, sizeof(struct plan_core *))); /* and the cores by seats */
    b->seats = must(calloc(2 * n + 1, sizeof(*b->seats)));          /* and room to sort them */
    b->pools = must(calloc(n + 1, sizeof(*b->pools)));
    order_cores(b, busy);
    for (size_t i = 0; i < n; i++)
        if (!find_pool(b, part_of(b, &b->t->cores[i])))
            b->pools[b->npools++].id = part_of(b, &b->t->cores[i]);
    qsort(b->pools, b->npools, sizeof(*b->pools), by_id);
    cut_seats(b, b->order + n, b->seats + n);
}

static size_t count_seats(const struct table *b, bool only_free)
{
    size_t sum = 0;
    for (size_t i = 0; i < b->npools; i++) {
        size_t n = only_free ? b->pools[i].nfree : b->pools[i].n;
        sum += b->how->ppr && n > b->how->ppr ? b->how->ppr : n;
    }
    return sum;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* "3 ranks", "1 core" */
static const char *counted(char buf[32], size_t n, const char *noun)
{
    snprintf(buf, 32, "%zu %s%s", n, noun, plural(n));
    return buf;
}

static bool is_part(const struct plan_topology *t)
{
    return t->share > 0 && t->share < t->ncores;
}

/* Seats are made of hardware threads. */
static bool uses_threads(const struct binding_request *how)
{
    return how->threads || how->to == LEVEL_HWTHREAD || how->map == LEVEL_HWTHREAD;
}

/* Cores of a seat. */
static size_t seat_cores(const struct plan_topology *t, const struct binding_request *how)
{
    size_t threads = 1;
    if (how->set_ranks)
        return how->set_cores;
    for (size_t i = 0; how->by_threads && i < t->ncores; i++) {
        size_t n = idset_count(&t->cores[i].threads);
        threads = n > threads ? n : threads;
    }
    return (binding_cores(how) - 1) / threads + 1;
}

static uint32_t seats_of(const struct binding_request *how, uint32_t nranks)
{
    return how->set_ranks && nranks ? (nranks - 1) / how->set_ranks + 1 : nranks;
}

static const char *unit_text(const struct binding_request *how)
{
    return level_text(uses_threads(how) ? LEVEL_HWTHREAD : LEVEL_CORE);
}

static const char *counted_ranks(char buf[64], uint32_t nranks, const struct table *s)
{
    const char *unit = unit_text(s->how);
    char cores[48] = "";
    if (s->each > 1)
        snprintf(cores, sizeof(cores), " %sof %zu %ss", s->how->set_ranks ? "in sets " : "",
                 s->each, unit);
    snprintf(buf, 64, "%" PRIu32 " rank%s%s", nranks, plural(nranks), cores);
    return buf;
}

/* Why ranks are not bound although nobody asked for that. */
static void explain_unbound(struct plan_binding *b, const struct table *s)
{
    const struct plan_topology *t = s->t;
    char ranks[64], cores[32];
    counted_ranks(ranks, b->nranks, s);
    counted(cores, t->ncores, unit_text(s->how));
    if (is_part(t))
        snprintf(b->reason, sizeof(b->reason),
                 "not bound: which %zu of %s the job has was not said", t->share, cores);
    else if (s->nfree < t->ncores && (s->nfree > 0 || !t->inside))
        snprintf(b->reason, sizeof(b->reason), "not bound: %s on %zu free of %s", ranks, s->nfree,
                 cores);
    else
        snprintf(b->reason, sizeof(b->reason), "not bound: %s on %s%s", ranks, cores,
                 s->nfree < t->ncores ? ", which the rank has that this step runs in" : "");
}

static void explain_bound(struct plan_binding *b, const struct table *s)
{
    const char *unit = unit_text(s->how);
    char ranks[64], cores[32], shared_cores[32], shared[80] = "", dealt[48] = "";
    if (s->taken > s->t->ncores)
        snprintf(shared, sizeof(shared), ", which they share");
    else if (s->taken > s->nfree)
        snprintf(shared, sizeof(shared), ", %s shared with other steps",
                 counted(shared_cores, s->taken - s->nfree, unit));
    if (s->how->map != LEVEL_NONE)
        snprintf(dealt, sizeof(dealt), " on %zu %s%s", s->npools, level_text(s->how->map),
                 plural(s->npools));
    snprintf(b->reason, sizeof(b->reason), "bound to %ss: %s%s, %s%s",
             s->how->to == LEVEL_NONE ? unit : level_text(s->how->to),
             counted_ranks(ranks, b->nranks, s), dealt, counted(cores, s->t->ncores, unit), shared);
}

static int refuse_overload(uint32_t nranks, const struct table *s, struct error *err)
{
    char ranks[64], cores[32], most[64] = "";
    const char *unit = unit_text(s->how);
    if (s->how->ppr)
        snprintf(most, sizeof(most), ", %" PRIu32 " rank%s on each %s", s->how->ppr,
                 plural(s->how->ppr), level_text(s->how->map));
    size_t room = count_seats(s, false) * (s->how->set_ranks ? s->how->set_ranks : 1);
    if (room == 0)
        return error_set(err, EINVAL,
                         "bind %s to %ss: only %s may be used here%s, fewer than a single rank is "
                         "to have; ask for fewer for each, or use --bind-to none",
                         counted_ranks(ranks, nranks, s), unit, counted(cores, s->t->ncores, unit),
                         most);
    return error_set(err, EINVAL,
                     "bind %s to %ss: only %s may be used here%s, and ranks would have to share "
                     "them; start at most %zu here, or use --bind-to none",
                     counted_ranks(ranks, nranks, s), unit, counted(cores, s->t->ncores, unit),
                     most, room);
}

/* ---- ranks to seats -------------------------------------------------------------------------- */

struct place {
    size_t pool;
    const struct seat *seat;
};

/* Every pool begins again. Can one take a rank? */
static bool reopen(struct table *b)
{
    bool can = false;
    for (size_t i = 0; i < b->npools; i++) {
        b->pools[i].next = 0;
        can |= b->pools[i].n > 0 && (!b->how->ppr || b->pools[i].ranks < b->how->ppr);
    }
    return can;
}

/* A seat of each pool in turn, until all ranks have one, or there are no more. *n: dealt so far. */
static void deal_seats(struct table *b, bool only_free, uint32_t nranks, struct place *ret,
                       uint32_t *n)
{
    uint32_t before;
    do {
        before = *n;
        for (size_t i = 0; i < b->npools && *n < nranks; i++) {
            struct pool *p = &b->pools[i];
            if (p->next >= (only_free ? p->nfree : p->n) ||
                (b->how->ppr && p->ranks == b->how->ppr))
                continue;
            ret[(*n)++] = (struct place){i, &p->seats[p->next++]};
            p->ranks++;
        }
    } while (*n != before);
}

static uint32_t deal(struct table *b, uint32_t nranks, struct place *ret)
{
    uint32_t n = 0;
    deal_seats(b, true, nranks, ret, &n);
    if (b->how->policy == BIND_TO || b->how->overload)
        deal_seats(b, false, nranks, ret, &n);
    while (n < nranks && b->how->overload && reopen(b))
        deal_seats(b, false, nranks, ret, &n);
    return n;
}

/* One pool's ranks after another's. */
static void number_by_pool(const struct table *b, struct place *places, uint32_t nranks)
{
    AUTO_FREE struct place *sorted = must(malloc((nranks + 1u) * sizeof(*sorted)));
    size_t n = 0;
    for (size_t pool = 0; pool < b->npools; pool++)
        for (uint32_t i = 0; i < nranks; i++)
            if (places[i].pool == pool)
                sorted[n++] = places[i];
    memcpy(places, sorted, n * sizeof(*sorted));
}

/* The core, and with --bind-to a larger part, all cores of its kind there. */
static void add_core(const struct table *b, const struct plan_core *core, struct idset *to)
{
    enum level level = b->how->to;
    idset_unite(to, &core->threads);
    for (size_t i = 0; level > LEVEL_CORE && i < b->t->ncores; i++) {
        const struct plan_core *other = &b->t->cores[i];
        if (other->at[level] == core->at[level] && other->kind == core->kind)
            idset_unite(to, &other->threads);
    }
}

/* The seat of rank i of the host, and which of those who share it the rank is. */
static uint32_t seat_of(const struct binding_request *how, uint32_t i, uint32_t nseats,
                        uint32_t *ret_place)
{
    uint64_t turn = how->set_turn ? how->set_turn : how->set_ranks, round = turn * nseats;
    *ret_place = 0;
    if (!how->set_ranks)
        return i;
    *ret_place = (uint32_t)(i / round * turn + i % turn);
    return (uint32_t)(i % round / turn);
}

static void bind_to_seats(struct plan_binding *b, const struct table *s, const struct place *places)
{
    uint32_t nseats = seats_of(s->how, b->nranks);
    bool has_part = s->how->set_ranks && s->how->cores && s->how->cores < s->each;
    for (uint32_t i = 0; i < b->nranks; i++) {
        uint32_t place, at = seat_of(s->how, i, nseats, &place);
        const struct seat *seat = places[at].seat;
        size_t first = has_part ? (size_t)place * s->how->cores : 0;
        for (size_t k = 0; k < (has_part ? s->how->cores : seat->n); k++)
            add_core(s, seat->cores[(first + k) % seat->n], &b->ranks[i]);
        for (size_t k = 0; k < seat->n; k++)
            idset_unite(&b->seats, &seat->cores[k]->threads);
    }
    b->bound = 1;
}

/* False: there are too few seats. */
static bool take_seats(struct plan_binding *b, struct table *s)
{
    AUTO_FREE struct place *places = must(calloc(b->nranks + 1u, sizeof(*places)));
    uint32_t nseats = seats_of(s->how, b->nranks);
    if (deal(s, nseats, places) < nseats)
        return false;
    for (uint32_t i = 0; i < nseats; i++)
        s->taken += places[i].seat->n;
    if (!s->how->in_turn)
        number_by_pool(s, places, nseats);
    bind_to_seats(b, s, places);
    return true;
}

/* ---- lists of hardware threads --------------------------------------------------------------- */

static size_t count_sets(const char *list)
{
    size_t n = 1;
    for (; *list; list++)
        n += *list == ';';
    return n;
}

/* The usable hardware threads of NUMA nodes, which are numbered in the machine's order. */
static int find_nodes(const struct plan_topology *t, const char *text, struct idset *ret,
                      struct error *err)
{
    AUTO(idset_free) struct idset nodes = {0};
    int rc = idset_parse(text, &nodes, err);
    for (size_t i = 0; rc == 0 && i < t->ncores; i++) {
        int node = t->cores[i].at[LEVEL_NUMA];
        if (node >= 0 && idset_has(&nodes, (unsigned)node))
            idset_unite(ret, &t->cores[i].threads);
    }
    if (rc == 0 && idset_count(ret) == 0)
        rc = error_set(err, EINVAL,
                       "bind a rank to NUMA node%s %s: none of the cores there may be used here, "
                       "or it does not exist",
                       strpbrk(text, ",-") ? "s" : "", text);
    return rc;
}

/* Set number i of the list, cut to what may be used: hardware threads, or behind 'C' cores, or
 * behind 'N' NUMA nodes. */
static int read_set(const struct plan_topology *t, const char *list, size_t i, struct idset *ret,
                    struct error *err)
{
    for (; i > 0; i--)
        list = strchr(list, ';') + 1;
    AUTO_FREE char *text = must(strndup(list, strcspn(list, ";")));
    AUTO(idset_free) struct idset usable = {0};
    if (*text == 'C')
        return slot_list_find(t, text + 1, strlen(text + 1), ret, err);
    if (*text == 'N')
        return find_nodes(t, text + 1, ret, err);
    if (idset_parse(text, ret, err) < 0)
        return -1;
    for (size_t c = 0; c < t->ncores; c++)
        idset_unite(&usable, &t->cores[c].threads);
    idset_intersect(ret, &usable);
    if (idset_count(ret) > 0)
        return 0;
    return error_set(
        err, EINVAL,
        "bind a rank to hardware thread%s %s: it may not be used here, or does not exist",
        strpbrk(text, ",-") ? "s" : "", text);
}

static int bind_to_list(struct plan_binding *b, const struct plan_topology *t,
                        const struct binding_request *how, struct error *err)
{
    size_t n = count_sets(how->list);
    for (uint32_t i = 0; i < b->nranks; i++)
        if (read_set(t, how->list, i % n, &b->ranks[i], err) < 0)
            return -1;
    b->bound = 1;
    snprintf(b->reason, sizeof(b->reason), "bound as listed: %" PRIu32 " rank%s, %zu set%s",
             b->nranks, plural(b->nranks), n, plural(n));
    return 0;
}

static int bind_to_slots(struct plan_binding *b, const struct plan_topology *t, const char *slots,
                         struct error *err)
{
    for (uint32_t i = 0; i < b->nranks; i++) {
        size_t len = strcspn(slots, " ");
        if (!len)
            return error_set(err, EPROTO,
                             "bind ranks: the rank file's cores of rank %" PRIu32
                             " of this host are missing",
                             i);
        if (slot_list_find(t, slots, len, &b->ranks[i], err) < 0)
            return -1;
        slots += len + (slots[len] == ' ');
    }
    b->bound = 1;
    snprintf(b->reason, sizeof(b->reason), "bound as the rank file says: %" PRIu32 " rank%s",
             b->nranks, plural(b->nranks));
    return 0;
}

/* ---- the cores that count -------------------------------------------------------------------- */

/* A copy of the core, whose hardware threads are left out. */
static struct plan_core *add_core_to(struct plan_topology *to, const struct plan_core *core)
{
    struct plan_core *unit = &to->cores[to->ncores];
    *unit = *core;
    unit->threads = (struct idset){0};
    unit->at[LEVEL_HWTHREAD] = (int)to->ncores++;
    return unit;
}

/* threads: each hardware thread that is in `only` (NULL: all) for itself. */
static void add_units(struct plan_topology *to, const struct plan_core *core, bool threads,
                      const struct idset *only)
{
    AUTO(idset_free) struct idset usable = {0};
    idset_copy(&usable, &core->threads);
    if (only)
        idset_intersect(&usable, only);
    if (!threads && (!only || idset_count(&usable) > 0))
        idset_copy(&add_core_to(to, core)->threads, &usable);
    for (int t = idset_next(&usable, 0); threads && t >= 0;
         t = idset_next(&usable, (unsigned)t + 1))
        idset_add(&add_core_to(to, core)->threads, (unsigned)t);
}

/* A copy of the topology with hardware threads for cores, where ranks are bound to those, and with
 * those alone that the user has listed. */
static int cut_topology(const struct plan_topology *t, const struct binding_request *how,
                        struct plan_topology *ret, struct error *err)
{
    bool is_listed = how->list_kind == CPU_LIST_ONLY;
    AUTO(idset_free) struct idset only = {0};
    size_t room = 1;
    for (size_t i = 0; i < t->ncores; i++)
        room += 1 + idset_count(&t->cores[i].threads);
    *ret = (struct plan_topology){.cores = must(calloc(room, sizeof(*ret->cores))),
                                  .share = is_listed ? 0 : t->share,
                                  .inside = t->inside};
    int rc = is_listed ? read_set(t, how->list, 0, &only, err) : 0;
    for (size_t i = 0; rc == 0 && i < t->ncores; i++)
        add_units(ret, &t->cores[i], uses_threads(how), is_listed ? &only : NULL);
    return rc;
}

/* Has the machine parts of this level? */
static bool has_level(const struct plan_topology *t, enum level level)
{
    if (level <= LEVEL_CORE || t->ncores == 0)
        return true;
    for (size_t i = 0; i < t->ncores; i++)
        if (t->cores[i].at[level] < 0)
            return false;
    return true;
}

static int no_level(enum level level, const char *option, struct error *err)
{
    return error_set(
        err, EINVAL,
        "%s: this machine has no %s for every core; lstopo and --display topo show what it has",
        option, level_text(level));
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int choose(struct plan_binding *b, const struct plan_topology *t,
                  const struct binding_request *how, const struct idset *busy, struct error *err)
{
    struct table s = {.t = t, .how = how, .each = seat_cores(t, how)};
    bool is_default = how->policy == BIND_DEFAULT;
    int rc = 0;
    make_table(&s, busy);
    if (is_default && !how->overload &&
        (count_seats(&s, true) < seats_of(how, b->nranks) || is_part(t)))
        explain_unbound(b, &s);
    else if (take_seats(b, &s))
        explain_bound(b, &s);
    else
        rc = refuse_overload(b->nranks, &s, err);
    free_table(&s);
    return rc;
}

static int decide(struct plan_binding *b, const struct plan_topology *t,
                  const struct binding_request *how, const struct idset *busy, struct error *err)
{
    if (how->policy == BIND_NONE || b->nranks == 0) {
        strcpy(b->reason, b->nranks ? "not bound: asked for" : "not bound: no ranks");
        return 0;
    }
    if (how->slots)
        return bind_to_slots(b, t, how->slots, err);
    if (how->list_kind == CPU_LIST_EACH)
        return bind_to_list(b, t, how, err);
    struct binding_request in_order = *how;
    in_order.map = LEVEL_NONE;
    if (!has_level(t, how->map) && how->if_supported)
        how = &in_order;
    if (!has_level(t, how->map))
        return no_level(how->map, "--map-by", err);
    if (!has_level(t, how->to) && !how->if_supported)
        return no_level(how->to, "--bind-to", err);
    if (!has_level(t, how->to)) {
        snprintf(b->reason, sizeof(b->reason), "not bound: this machine has no %s for every core",
                 level_text(how->to));
        return 0;
    }
    return choose(b, t, how, busy, err);
}

/* Ranks that have no cores of their own have all that the user has listed. */
static void bind_to_listed(struct plan_binding *b, const struct plan_topology *t,
                           const struct binding_request *how)
{
    char cores[32];
    for (uint32_t i = 0; i < b->nranks; i++)
        for (size_t c = 0; c < t->ncores; c++)
            idset_unite(&b->ranks[i], &t->cores[c].threads);
    b->bound = 1;
    snprintf(b->reason, sizeof(b->reason), "bound to all of --cpu-set: %" PRIu32 " rank%s, %s",
             b->nranks, plural(b->nranks), counted(cores, t->ncores, unit_text(how)));
}

int plan_binding(const struct plan_topology *t, const struct binding_request *how, uint32_t nranks,
                 const struct idset *busy, struct plan_binding *ret, struct error *err)
{
    struct plan_binding b = {.nranks = nranks};
    AUTO(plan_topology_free) struct plan_topology cut = {0};
    b.ranks = must(calloc(nranks ? nranks : 1, sizeof(*b.ranks)));
    int rc = cut_topology(t, how, &cut, err);
    if (rc == 0)
        rc = decide(&b, &cut, how, busy, err);
    if (rc == 0 && !b.bound && nranks > 0 && how->list_kind == CPU_LIST_ONLY)
        bind_to_listed(&b, &cut, how);
    if (rc < 0)
        plan_binding_free(&b);
    else
        *ret = b;
    return rc;
}

/* ---- several programs ------------------------------------------------------------------------ */

/* A copy without the hardware threads that are taken. */
static void copy_without(const struct plan_topology *t, const struct idset *taken,
                         struct plan_topology *ret)
{
    *ret = (struct plan_topology){.cores = must(calloc(t->ncores + 1, sizeof(*ret->cores))),
                                  .share = t->share,
                                  .inside = t->inside};
    for (size_t i = 0; i < t->ncores; i++) {
        struct plan_core *core = &ret->cores[ret->ncores++];
        *core = t->cores[i];
        core->threads = (struct idset){0};
        idset_copy(&core->threads, &t->cores[i].threads);
        idset_subtract(&core->threads, taken);
        if (idset_count(&core->threads) == 0) {
            idset_free(&core->threads);
            ret->ncores--;
        }
    }
}

/* Those of one program: n ranks, in `all` from `at` on. */
static int bind_program(const struct plan_topology *t, const struct binding_request *how,
                        uint32_t at, uint32_t n, const struct idset *busy, struct plan_binding *all,
                        struct error *err)
{
    AUTO(plan_topology_free) struct plan_topology rest = {0};
    AUTO(plan_binding_free) struct plan_binding b = {0};
    const struct idset none = {0};
    size_t said = strlen(all->reason);
    copy_without(t, how->overload ? &none : &all->seats, &rest);
    int rc = plan_binding(&rest, how, n, busy, &b, err);
    if (rc < 0)
        return -1;
    idset_unite(&all->seats, &b.seats);
    memcpy(all->ranks + at, b.ranks, n * sizeof(*b.ranks));
    b.nranks = 0; /* they are all's now */
    all->bound |= b.bound;
    snprintf(all->reason + said, sizeof(all->reason) - said, "%s%s", said ? "; " : "", b.reason);
    return 0;
}

int plan_step_binding(const struct plan_topology *t, const struct step *s,
                      const struct rank_set *ranks, const struct idset *busy,
                      struct plan_binding *ret, struct error *err)
{
    struct plan_binding all = {.nranks = rank_set_count(ranks)};
    bool has_own = false;
    uint32_t at = 0, n;
    int rc = 0;
    for (size_t i = 0; i < s->napps; i++)
        has_own |= s->apps[i].bind != NULL;
    if (!has_own)
        return plan_binding(t, &s->bind, all.nranks, busy, ret, err);
    all.ranks = must(calloc(all.nranks + 1u, sizeof(*all.ranks)));
    for (size_t i = 0; rc == 0 && i < s->napps; i++, at += n) {
        const struct app *a = &s->apps[i];
        for (n = 0; at + n < all.nranks && rank_set_has(&a->ranks, rank_set_at(ranks, at + n));)
            n++;
        if (n && (rc = bind_program(t, a->bind ? a->bind : &s->bind, at, n, busy, &all, err)) < 0)
            error_context(err, "program %zu ('%.60s')", i + 1, a->argv[0]);
    }
    if (rc < 0)
        plan_binding_free(&all);
    else
        *ret = all;
    return rc;
}
