/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/step/step-placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text/idset.h"
#include "common/must.h"
#include "common/text/number.h"
#include "launcher/step/step-hosts.h"
#include "launcher/worlds/offer.h"
#include "rm-adapters/hosts/hostlist.h"
#include "rm-adapters/hosts/requested-hosts.h"

/* ---- how ranks are placed -------------------------------------------------------------------- */

/* Returns how many NUMA nodes of a host count: those that the user has listed, or all. */
static uint32_t count_listed(const char *list, uint32_t all)
{
    AUTO(idset_free) struct idset nodes = {0};
    uint32_t n = *list == 'N' && idset_parse(list + 1, &nodes, NULL) == 0
                     ? (uint32_t)idset_count(&nodes)
                     : all;
    return n < all ? n : all;
}

/* Where parts of hosts count other hosts are taken to have as many as this one; one that has less
 * refuses its ranks. */
int step_placement_options(const struct step_plan *p, const struct placement_options *place,
                           struct plan_options *ret, struct error *err)
{
    enum level map = place->bind.map;
    bool counts =
        map != LEVEL_NONE && (place->bind.ppr || place->span || place->rank_by == RANK_BY_SPAN);
    uint32_t parts = counts ? step_hosts_parts(p, map, err) : 1;
    if (parts && map == LEVEL_NUMA && place->bind.list_kind == CPU_LIST_ONLY)
        parts = count_listed(place->bind.list, parts);
    if (parts == 0)
        return -1;
    *ret = (struct plan_options){
        .per_host = place->per_host,
        .even = place->nodes_max > 0 || place->even ||
                (p->cmd->dialect == DIALECT_SRUN && !place->packs && !place->turn),
        .cores = place->bind.set_ranks ? place->bind.set_cores : place->bind.cores,
        .set_ranks = place->bind.set_ranks,
        .set_turn = place->bind.set_turn,
        .threads = step_hosts_counts_threads(place),
        .turn = place->span ? parts : place->turn,
        .oversubscribe = place->oversubscribe,
    };
    uint64_t in_parts =
        (uint64_t)place->bind.ppr * parts * (place->bind.set_ranks ? place->bind.set_ranks : 1);
    if (in_parts && (!ret->per_host || in_parts < ret->per_host))
        ret->per_host = in_parts < CMDLINE_RANKS_MAX ? (uint32_t)in_parts : CMDLINE_RANKS_MAX;
    switch (place->rank_by) {
    case RANK_BY_DEFAULT:
        ret->numbers = ret->turn;
        break;
    case RANK_BY_NODE:
        ret->numbers = 1;
        break;
    case RANK_BY_SPAN:
        ret->numbers = parts;
        break;
    case RANK_BY_SLOT:
    case RANK_BY_FILL:
        ret->numbers = 0;
    }
    return 0;
}

struct binding_request step_placement_binding(const struct placement_options *place)
{
    struct binding_request b = place->bind;
    b.in_turn |=
        place->span || (place->rank_by != RANK_BY_DEFAULT && place->rank_by != RANK_BY_FILL);
    if (b.threads && b.policy == BIND_TO && b.to == LEVEL_NONE) {
        b.threads = false; /* bound to whole cores */
        b.by_threads = true;
    } else if (b.threads && place->by_core) { /* not one thread of a core after the other */
        b.map = LEVEL_CORE;
        b.in_turn |= place->rank_by == RANK_BY_DEFAULT;
    }
    return b;
}

static int place_by_rank_file(const struct step_plan *p, uint32_t **sequence, size_t *n,
                              struct error *err)
{
    *n = p->rank_file.n;
    if (p->cmd->nranks > p->rank_file.n)
        return error_set(err, EINVAL,
                         "place %u ranks: rank file '%.200s' has lines for ranks 0 to %u; add "
                         "lines, or ask for fewer ranks",
                         p->cmd->nranks, p->cmd->place.rank_file, p->rank_file.n - 1);
    return rank_file_place(&p->rank_file, &p->alloc, sequence, err);
}

/* Hydra goes round the hosts that the user names as often as there are ranks. */
static void allow_rounds(struct step_plan *p)
{
    if (p->cmd->dialect == DIALECT_MPIEXEC && p->adapter == &rm_adapter_ssh)
        p->alloc.may_oversubscribe = 1;
}

/* Hydra fills the hosts' slots (-ppn: as many) and begins anew with the first one: *ret is then the
 * host of each rank. */
static void place_in_rounds(const struct step_plan *p, struct plan_options *o, uint32_t **ret,
                            size_t *ret_n)
{
    const struct allocation *a = &p->alloc;
    uint64_t slots = 0;
    for (size_t i = 0; i < a->nhosts; i++)
        slots += a->hosts[i].max_slots ? UINT32_MAX
                 : o->per_host         ? o->per_host
                                       : a->hosts[i].slots.value;
    if (p->cmd->dialect != DIALECT_MPIEXEC || p->adapter != &rm_adapter_ssh || *ret || o->turn ||
        !slots || o->nranks <= slots)
        return;
    *ret = must(calloc(o->nranks, sizeof(**ret)));
    for (uint32_t host = 0; *ret_n < o->nranks; host = (host + 1) % (uint32_t)a->nhosts)
        for (uint32_t k = o->per_host ? o->per_host : a->hosts[host].slots.value;
             k > 0 && *ret_n < o->nranks; k--)
            (*ret)[(*ret_n)++] = host;
    o->per_host = 0;
}

/* All ranks at once. */
static int place_step(struct step_plan *p, struct error *err)
{
    const struct placement_options *place = &p->cmd->place;
    struct plan_options o;
    AUTO_FREE uint32_t *sequence = NULL;
    size_t n = 0;
    if (step_placement_options(p, place, &o, err) < 0)
        return -1;
    if (place->in_sequence && named_sequence(&p->hosts, &p->alloc, &sequence, &n, err) < 0)
        return error_context(err, place->is_arbitrary
                                      ? "--distribution=arbitrary, without a file of hosts"
                                      : "--map-by seq");
    if (place->rank_file && place_by_rank_file(p, &sequence, &n, err) < 0)
        return -1;
    o.nranks = p->cmd->nranks;
    place_in_rounds(p, &o, &sequence, &n);
    o.host_of = sequence;
    o.nhost_of = (uint32_t)n;
    return plan(&p->alloc, &o, &p->placement, err);
}

/* The hosts that a program names; none: it may use all. Their names become those of the
 * allocation. */
static int read_own_hosts(const struct step_plan *p, const struct cmdline_app *app,
                          struct hostlist *ret, struct error *err)
{
    AUTO(hostlist_free) struct hostlist l = {.stated = 0};
    AUTO_FREE uint32_t *index = NULL;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < app->nlists; i++)
        rc = hostlist_parse(p->cmd->hosts.lists[app->first_list + i], &l, err);
    if (rc == 0 && l.allocation.nhosts)
        rc = named_indices(&l, &p->alloc, &index, err);
    for (size_t i = 0; rc == 0 && i < l.allocation.nhosts; i++) {
        size_t m = 0;
        while (l.mentions[m] != i)
            m++;
        rc = hostlist_add_slots(ret, p->alloc.hosts[index[m]].name,
                                l.stated ? l.allocation.hosts[i].slots.value : 0, "--host", err);
    }
    return rc < 0 ? error_context(err, "--host") : 0;
}

/* Places ranks, the first of which is number `first`, on slots that are not taken: taken[i] of host
 * i, or STEP_NOT_OFFERED. Adds what they take. named (NULL: all): the only hosts that they may
 * have. */
static int place_on_free(struct step_plan *p, const struct placement_options *place,
                         const struct plan_options *o, uint32_t first, const struct hostlist *named,
                         uint64_t *taken, struct error *err)
{
    struct offer offer;
    offer_create(&offer, p->nhosts);
    for (size_t i = 0; i < p->nhosts; i++)
        if (taken[i] != STEP_NOT_OFFERED)
            offer_add(&offer, &p->alloc.hosts[i], (uint32_t)i, taken[i], named);
    for (size_t i = 0; i < p->nhosts; i++)
        taken[i] -= binding_slots(&place->bind, rank_set_count(&p->placement.hosts[i]));
    int rc = offer_place(&offer, o, first, p->placement.hosts, err);
    for (size_t i = 0; i < p->nhosts; i++)
        taken[i] += binding_slots(&place->bind, rank_set_count(&p->placement.hosts[i]));
    offer_free(&offer);
    return rc;
}

/* The ranks of one program, on slots that those before it have left. */
static int place_program(struct step_plan *p, size_t number, uint32_t first, uint64_t *taken,
                         bool only_free, struct error *err)
{
    const struct cmdline_app *app = &p->cmd->apps[number];
    const struct placement_options *place = app->place ? app->place : &p->cmd->place;
    AUTO(hostlist_free) struct hostlist named = {.stated = 0};
    struct plan_options o;
    int rc = step_placement_options(p, place, &o, err);
    if (rc == 0 && p->cmd->own_hosts)
        rc = read_own_hosts(p, app, &named, err);
    o.nranks = app->nranks;
    if (only_free || o.oversubscribe < 0)
        o.oversubscribe = only_free ? 0 : p->alloc.may_oversubscribe;
    if (rc == 0)
        rc =
            place_on_free(p, place, &o, first, named.allocation.nhosts ? &named : NULL, taken, err);
    return rc < 0 ? error_context(err, "program %zu ('%.60s')", number + 1, app->argv[0]) : 0;
}

static void begin_placement(struct step_plan *p)
{
    p->placement = (struct plan){.nhosts = p->nhosts};
    p->placement.hosts = must(calloc(p->nhosts + 1, sizeof(*p->placement.hosts)));
}

/* Ends a placement whose hosts have their ranks. Returns how many hosts have any; 0 with err. */
static uint32_t end_placement(struct step_plan *p, uint32_t nranks, struct error *err)
{
    struct plan *all = &p->placement;
    uint32_t used = 0;
    rank_map_create(&all->map, 0, nranks);
    for (uint32_t i = 0; i < p->nhosts; i++) {
        used += rank_set_count(&all->hosts[i]) > 0;
        if (rank_map_put(&all->map, &all->hosts[i], i, err) < 0)
            return 0;
    }
    return used;
}

/* Each program by itself, on slots that are not taken. */
static int place_programs(struct step_plan *p, uint64_t *taken, bool only_free, struct error *err)
{
    struct plan *all = &p->placement;
    uint32_t first = 0;
    begin_placement(p);
    for (size_t i = 0; i < p->cmd->napps; i++) {
        if (place_program(p, i, first, taken, only_free, err) < 0)
            return -1;
        first += p->cmd->apps[i].nranks;
    }
    for (uint32_t i = 0; i < p->nhosts; i++) {
        const struct alloc_host *h = &p->alloc.hosts[i];
        uint32_t ranks = rank_set_count(&all->hosts[i]);
        if (h->max_slots && ranks > h->max_slots)
            return error_set(err, EINVAL,
                             "place %u ranks of all programs on '%s': it takes no more than %u "
                             "(max_slots); ask for fewer ranks",
                             ranks, h->name, h->max_slots);
        all->oversubscribed |= ranks > 0 && taken[i] > h->slots.value;
    }
    uint32_t used = end_placement(p, first, err);
    snprintf(all->reason, sizeof(all->reason),
             "%u rank%s of %zu programs on %u host%s, each program by itself%s", first,
             plural(first), p->cmd->napps, used, plural(used),
             all->oversubscribed ? ", more ranks than slots" : "");
    return used ? 0 : -1;
}

static bool are_placed_by_themselves(const struct step_plan *p)
{
    bool has_own = p->cmd->own_hosts;
    for (size_t i = 0; i < p->cmd->napps; i++)
        has_own |= p->cmd->apps[i].place != NULL;
    return has_own;
}

static int place_all_on_free(struct step_plan *p, uint32_t nranks, uint64_t *taken,
                             struct error *err)
{
    const struct placement_options *place = &p->cmd->place;
    struct plan_options o;
    if (step_placement_options(p, place, &o, err) < 0)
        return -1;
    o.nranks = nranks;
    o.oversubscribe = 0;
    begin_placement(p);
    if (place_on_free(p, place, &o, 0, NULL, taken, err) < 0)
        return -1;
    uint32_t used = end_placement(p, nranks, err);
    snprintf(p->placement.reason, sizeof(p->placement.reason),
             "%u rank%s on %u host%s, on slots that the job's other steps have left", nranks,
             plural(nranks), used, plural(used));
    return used ? 0 : -1;
}

/* ---- what others ask ------------------------------------------------------------------------- */

int step_placement_make(struct step_plan *p, struct error *err)
{
    p->nhosts = p->alloc.nhosts;
    allow_rounds(p);
    if (!are_placed_by_themselves(p))
        return place_step(p, err);
    AUTO_FREE uint64_t *taken = must(calloc(p->nhosts + 1, sizeof(*taken)));
    return place_programs(p, taken, false, err);
}

int step_placement_on_free(struct step_plan *p, uint32_t nranks, uint64_t *taken, struct error *err)
{
    return are_placed_by_themselves(p) ? place_programs(p, taken, true, err)
                                       : place_all_on_free(p, nranks, taken, err);
}

void step_placement_leave_out_unused(struct step_plan *p)
{
    struct plan *all = &p->placement;
    uint32_t nranks = all->map.nranks;
    for (size_t i = p->nhosts; i-- > 0;) {
        if (rank_set_count(&all->hosts[i]) > 0)
            continue;
        step_hosts_leave_out(&p->alloc, i);
        memmove(&all->hosts[i], &all->hosts[i + 1], (--p->nhosts - i) * sizeof(*all->hosts));
    }
    all->nhosts = p->nhosts;
    rank_map_free(&all->map);
    end_placement(p, nranks, NULL);
}

/* Programs that are placed by themselves may differ in the slots of a rank. */
uint64_t step_placement_slots(const struct step_plan *p, size_t host)
{
    const struct rank_set *ranks = &p->placement.hosts[host];
    uint32_t n = rank_set_count(ranks), end = 0, i = 0;
    uint64_t slots = 0;
    if (!are_placed_by_themselves(p))
        return binding_slots(&p->cmd->place.bind, n);
    for (size_t k = 0; k < p->cmd->napps; k++) {
        const struct cmdline_app *app = &p->cmd->apps[k];
        uint32_t first = i;
        end += app->nranks;
        while (i < n && rank_set_at(ranks, i).rank < end)
            i++;
        slots += binding_slots(app->place ? &app->place->bind : &p->cmd->place.bind, i - first);
    }
    return slots;
}
