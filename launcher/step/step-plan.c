/* SPDX-License-Identifier: BSD-3-Clause */
/* step-plan.c - from the command line to a step that hosts can be told of */
#include "launcher/step/step-plan.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/log.h"
#include "common/must.h"
#include "common/number.h"
#include "common/path.h"
#include "common/spawn.h"
#include "common/step-directory.h"
#include "common/text.h"
#include "common/words.h"
#include "launcher/io/input.h"
#include "launcher/io/terminal.h"
#include "launcher/step/mpi-programs.h"
#include "launcher/step/signal-mask.h"
#include "launcher/tunables.h"
#include "launcher/worlds/offer.h"
#include "plan/topology.h"
#include "rm-adapters/hosts/hostlist.h"
#include "rm-adapters/hosts/requested-hosts.h"
#include "wire/link/key-proof.h"

/* n: letters, 32 at most */
static void random_name(char *to, size_t n)
{
    unsigned char random[32];
    randombytes_buf(random, n);
    for (size_t i = 0; i < n; i++)
        to[i] = STEP_ID_LETTERS[random[i] % 32];
    to[n] = 0;
}

void step_plan_new_nspace(char ret[64])
{
    memcpy(ret, "mprun-", 6);
    random_name(ret + 6, 26);
}

static void choose_adapter(struct step_plan *p)
{
    p->adapter = p->cmd->rm;
    if (p->adapter)
        snprintf(p->adapter_reason, sizeof(p->adapter_reason), "asked for with --rm");
    else
        p->adapter = rm_adapter_detect(&p->hosts, p->adapter_reason, sizeof(p->adapter_reason));
}

/* In a job, or with a file of hosts, programs choose among all hosts; otherwise what they name are
 * the hosts. */
static void leave_lists_to_programs(struct step_plan *p)
{
    const struct cmdline *c = p->cmd;
    if (c->own_hosts && (p->adapter->parents || c->hosts.nfiles || c->step_lists))
        p->hosts.nlists = c->step_lists;
}

/* Where neither a manager nor the user has named hosts, a rank file does. */
static int take_rank_file(struct step_plan *p, struct error *err)
{
    const struct host_request *r = &p->cmd->hosts;
    if (!p->cmd->place.rank_file)
        return 0;
    if (rank_file_read(p->cmd->place.rank_file, &p->rank_file, err) < 0)
        return -1;
    if (r->nlists || r->nfiles || p->adapter->parents ||
        (p->cmd->rm && p->adapter != &rm_adapter_ssh))
        return 0;
    if (!(p->listed = rank_file_hosts(&p->rank_file, err)))
        return -1;
    if (!p->listed[0])
        return 0;
    p->lists[0] = p->listed;
    p->hosts.lists = p->lists;
    p->hosts.nlists = 1;
    choose_adapter(p);
    return 0;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void leave_out(struct allocation *a, const char *name)
{
    for (size_t i = 0; i < a->nhosts; i++) {
        struct alloc_host *h = &a->hosts[i];
        if (strcmp(h->name, name) != 0)
            continue;
        free(h->name);
        free(h->core_list);
        idset_free(&h->cores);
        memmove(h, h + 1, (--a->nhosts - i) * sizeof(*h));
        return;
    }
}

static int leave_out_here(struct allocation *a, struct error *err)
{
    for (size_t i = a->nhosts; i > 0; i--)
        if (a->hosts[i - 1].here)
            leave_out(a, a->hosts[i - 1].name);
    return a->nhosts ? 0 : error_set(err, EINVAL, "--nolocal: there is no host but this one");
}

/* --relative: the first hosts of the job are left out. */
static int skip_hosts(struct step_plan *p, struct error *err)
{
    uint32_t n = p->cmd->place.first_host;
    if (n && n >= p->alloc.nhosts)
        return error_set(err, EINVAL,
                         "--relative %u leaves no host: there %s %zu, of which the first is 0", n,
                         p->alloc.nhosts == 1 ? "is" : "are", p->alloc.nhosts);
    for (; n > 0; n--)
        leave_out(&p->alloc, p->alloc.hosts[0].name);
    return 0;
}

/* --exclude: it may name hosts that the job does not have. */
static int exclude_hosts(struct step_plan *p, struct error *err)
{
    for (size_t i = 0; i < p->cmd->place.nexcluded; i++) {
        AUTO(hostlist_free) struct hostlist named = {.stated = 0};
        int rc = hostlist_parse(p->cmd->place.excluded[i], &named, err);
        for (size_t k = 0; rc == 0 && k < named.allocation.nhosts; k++)
            leave_out(&p->alloc, named.allocation.hosts[k].name);
        if (rc < 0)
            return error_context(err, "--exclude");
    }
    if (p->alloc.nhosts == 0)
        return error_set(err, EINVAL, "--exclude leaves no host");
    return p->cmd->place.no_local ? leave_out_here(&p->alloc, err) : 0;
}

/* --nodes: the first hosts of the job. */
static int take_nodes(struct step_plan *p, struct error *err)
{
    const struct cmdline *c = p->cmd;
    struct allocation *a = &p->alloc;
    if (c->place.nodes_max == 0)
        return 0;
    if (a->nhosts < c->place.nodes_min)
        return error_set(err, EINVAL, "--nodes: %u hosts are asked for, and there %s %zu; %s",
                         c->place.nodes_min, a->nhosts == 1 ? "is" : "are", a->nhosts,
                         p->adapter == &rm_adapter_local
                             ? "'--rm local:N' lets this machine pose as N hosts"
                             : "name more hosts, or submit the job with more");
    while (a->nhosts > c->place.nodes_max)
        leave_out(a, a->hosts[a->nhosts - 1].name);
    if (c->nranks && c->nranks < a->nhosts && c->dialect != DIALECT_SRUN)
        return error_set(err, EINVAL, "--nodes: %u ranks are too few for %zu hosts", c->nranks,
                         a->nhosts);
    return 0;
}

/* Of the hosts, where --dry-run was told one; else of this machine, which hosts are taken to be
 * like. */
static struct topology *host_topology(const struct step_plan *p, struct error *err)
{
    return p->cmd->place.topology ? topology_load_from(p->cmd->place.topology, err)
                                  : topology_load(NULL, err);
}

/* The parts of a level that a host has; 0 with err. */
static uint32_t count_parts(const struct step_plan *p, enum level level, struct error *err)
{
    AUTO(plan_topology_free) struct plan_topology t = {0};
    struct topology *topology = host_topology(p, err);
    if (!topology)
        return 0;
    topology_cores(topology, &t);
    topology_destroy(topology);
    uint32_t n = plan_count_parts(&t, level);
    if (n == 0)
        error_set(err, EINVAL, "--map-by: this machine has no %s for every core",
                  level_text(level));
    return n;
}

/* Of the NUMA nodes of a host: those that the line has listed, if it has. */
static uint32_t count_listed(const char *list, uint32_t all)
{
    AUTO(idset_free) struct idset nodes = {0};
    uint32_t n = *list == 'N' && idset_parse(list + 1, &nodes, NULL) == 0
                     ? (uint32_t)idset_count(&nodes)
                     : all;
    return n < all ? n : all;
}

/* Are the cores of a rank counted by hardware threads? Then each of these is a slot. */
static bool counts_threads(const struct placement_options *place)
{
    return place->bind.threads || (place->bind.by_threads && !place->one_thread);
}

/* --topology: the hosts that this machine poses as have the cores of that one. */
static int pose_as(struct step_plan *p, struct error *err)
{
    bool threads = counts_threads(&p->cmd->place);
    uint32_t slots = count_parts(p, threads ? LEVEL_HWTHREAD : LEVEL_CORE, err);
    for (size_t i = 0; i < p->alloc.nhosts; i++) {
        struct alloc_host *h = &p->alloc.hosts[i];
        h->cores_known = 0;
        if (strncmp(h->slots.source, "cores of", 8) != 0)
            continue;
        h->slots.value = slots;
        snprintf(h->slots.source, sizeof(h->slots.source), "%s of --topology",
                 threads ? "hardware threads" : "cores");
    }
    return slots ? 0 : -1;
}

/* The slots of this machine, of which each is a core without that. */
static int take_threads_as_slots(struct step_plan *p, struct error *err)
{
    AUTO(idset_free) struct idset allowed = {0};
    if (cpus_allowed(&allowed, err) < 0)
        return -1;
    for (size_t i = 0; i < p->alloc.nhosts; i++) {
        struct alloc_host *h = &p->alloc.hosts[i];
        if (strncmp(h->slots.source, "cores of", 8) != 0)
            continue;
        h->slots.value = (uint32_t)idset_count(h->cores_known ? &h->cores : &allowed);
        snprintf(h->slots.source, sizeof(h->slots.source), "hardware threads of this machine");
    }
    return 0;
}

/* A manager's slots are tasks. Where the line says the cores of a rank, they are the CPUs of these
 * tasks; in a dialect that counts CPUs they are all that the job has on a host. */
static void take_cpus_as_slots(struct step_plan *p)
{
    for (size_t i = 0; i < p->alloc.nhosts; i++) {
        struct alloc_host *h = &p->alloc.hosts[i];
        uint64_t cpus = p->cmd->dialect == DIALECT_SRUN ? h->granted
                        : p->cmd->place.bind.cores ? (uint64_t)h->slots.value * p->alloc.slot_cores
                                                   : 0;
        if (cpus <= h->slots.value || cpus > HOSTLIST_SLOTS_MAX)
            continue;
        h->slots.value = (uint32_t)cpus;
        snprintf(h->slots.source, sizeof(h->slots.source), "CPUs of the job");
    }
}

/* What a slot is. */
static int choose_slots(struct step_plan *p, struct error *err)
{
    take_cpus_as_slots(p);
    if (p->adapter != &rm_adapter_local)
        return 0;
    return p->cmd->place.topology           ? pose_as(p, err)
           : counts_threads(&p->cmd->place) ? take_threads_as_slots(p, err)
                                            : 0;
}

/* Where parts of hosts count other hosts are taken to have as many as this one; one that has less
 * refuses its ranks. */
int step_plan_options(const struct step_plan *p, const struct placement_options *place,
                      struct plan_options *ret, struct error *err)
{
    enum level map = place->bind.map;
    bool counts =
        map != LEVEL_NONE && (place->bind.ppr || place->span || place->rank_by == RANK_BY_SPAN);
    uint32_t parts = counts ? count_parts(p, map, err) : 1;
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
        .threads = counts_threads(place),
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

struct binding_request step_plan_binding(const struct placement_options *place)
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
    if (step_plan_options(p, place, &o, err) < 0)
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

/* The ranks of one program, on slots that those before it have left. */
static int place_program(struct step_plan *p, size_t number, uint32_t first, uint64_t *taken,
                         struct error *err)
{
    const struct cmdline_app *app = &p->cmd->apps[number];
    const struct placement_options *place = app->place ? app->place : &p->cmd->place;
    AUTO(hostlist_free) struct hostlist named = {.stated = 0};
    struct plan_options o;
    struct offer offer;
    int rc = step_plan_options(p, place, &o, err);
    if (rc == 0 && p->cmd->own_hosts)
        rc = read_own_hosts(p, app, &named, err);
    offer_create(&offer, p->nhosts);
    for (size_t i = 0; rc == 0 && i < p->nhosts; i++)
        offer_add(&offer, &p->alloc.hosts[i], (uint32_t)i, taken[i],
                  named.allocation.nhosts ? &named : NULL);
    o.nranks = app->nranks;
    o.oversubscribe = o.oversubscribe < 0 ? p->alloc.may_oversubscribe : o.oversubscribe;
    for (size_t i = 0; rc == 0 && i < p->nhosts; i++)
        taken[i] -= binding_slots(&place->bind, rank_set_count(&p->placement.hosts[i]));
    if (rc == 0)
        rc = offer_place(&offer, &o, first, p->placement.hosts, err);
    for (size_t i = 0; rc == 0 && i < p->nhosts; i++)
        taken[i] += binding_slots(&place->bind, rank_set_count(&p->placement.hosts[i]));
    offer_free(&offer);
    return rc < 0 ? error_context(err, "program %zu ('%.60s')", number + 1, app->argv[0]) : 0;
}

static int place_programs(struct step_plan *p, struct error *err)
{
    struct plan *all = &p->placement;
    uint32_t first = 0, used = 0;
    AUTO_FREE uint64_t *taken = must(calloc(p->nhosts + 1, sizeof(*taken)));
    all->nhosts = p->nhosts;
    all->hosts = must(calloc(p->nhosts + 1, sizeof(*all->hosts)));
    for (size_t i = 0; i < p->cmd->napps; i++) {
        if (place_program(p, i, first, taken, err) < 0)
            return -1;
        first += p->cmd->apps[i].nranks;
    }
    rank_map_create(&all->map, 0, first);
    for (uint32_t i = 0; i < p->nhosts; i++) {
        const struct alloc_host *h = &p->alloc.hosts[i];
        if (h->max_slots && rank_set_count(&all->hosts[i]) > h->max_slots)
            return error_set(err, EINVAL,
                             "place %u ranks of all programs on '%s': it takes no more than %u "
                             "(max_slots); ask for fewer ranks",
                             rank_set_count(&all->hosts[i]), h->name, h->max_slots);
        used += rank_set_count(&all->hosts[i]) > 0;
        all->oversubscribed |= taken[i] > p->alloc.hosts[i].slots.value;
        if (rank_map_put(&all->map, &all->hosts[i], i, err) < 0)
            return -1;
    }
    snprintf(all->reason, sizeof(all->reason),
             "%u rank%s of %zu programs on %u host%s, each program by itself%s", first,
             plural(first), p->cmd->napps, used, plural(used),
             all->oversubscribed ? ", more ranks than slots" : "");
    return 0;
}

static int make_plan(struct step_plan *p, struct error *err)
{
    bool has_own = p->cmd->own_hosts;
    for (size_t i = 0; i < p->cmd->napps; i++)
        has_own |= p->cmd->apps[i].place != NULL;
    p->nhosts = p->alloc.nhosts;
    allow_rounds(p);
    return has_own ? place_programs(p, err) : place_step(p, err);
}

/* ---- the step -------------------------------------------------------------------------------- */

/* "-x NAME" of a variable that is not there. */
static void warn_unset(const struct cmdline_app *app)
{
    for (size_t i = 0; i < app->nenv; i++)
        if (strcmp(app->env[i], "TMPDIR") == 0)
            log_note("variable 'TMPDIR': ranks get a directory of their own, which is removed at "
                     "the end; for another write: mprun sh -c 'TMPDIR=DIR exec ./a'");
        else if (!strpbrk(app->env[i], "=*") && app->env[i][0] != '-' && !getenv(app->env[i]))
            log_warn("variable '%.60s' is not set here, so that ranks do not get it", app->env[i]);
}

static int copy_app(const struct cmdline_app *from, uint32_t first, uint32_t count, struct app *to,
                    struct error *err)
{
    AUTO_FREE char *here = getcwd(NULL, 0);
    if (!here)
        return errno == ENOENT ? error_set(err, ENOENT,
                                           "the directory in which mprun was started has been "
                                           "removed; change to one that is there")
                               : error_errno(err, errno, "find the working directory");
    to->argv = must(calloc(from->argc + 1, sizeof(*to->argv)));
    for (size_t i = 0; i < from->argc; i++)
        to->argv[i] = must(strdup(from->argv[i]));
    warn_unset(from);
    to->envp = cmdline_app_environ(from, environ);
    to->given_env = cmdline_app_given(from);
    if (from->wdir && from->wdir[0] != '/')
        to->directory = text_format("%s/%s", here, from->wdir);
    else
        to->directory = from->wdir ? must(strdup(from->wdir)) : take_ptr(here);
    must_do(rank_set_add_block(&to->ranks, 0, first, count));
    return 0;
}

static void take_defaults(const struct step_plan *p, const struct placement_options *place,
                          struct binding_request *b)
{
    placement_take_defaults(p->cmd->dialect, place, p->placement.map.nranks, b);
}

static int copy_apps(struct step_plan *p, struct error *err)
{
    struct step *s = &p->step;
    uint32_t next = 0;
    s->apps = must(calloc(p->cmd->napps + 1, sizeof(*s->apps)));
    for (size_t i = 0; i < p->cmd->napps; i++) {
        const struct cmdline_app *from = &p->cmd->apps[i];
        uint32_t count = from->nranks ? from->nranks : p->placement.map.nranks;
        s->napps = i + 1;
        if (copy_app(from, next, count, &s->apps[i], err) < 0)
            return -1;
        next += count;
        if (from->limits) {
            s->apps[i].limits = must(malloc(sizeof(*from->limits)));
            *s->apps[i].limits = *from->limits;
        }
        if (from->place) {
            s->apps[i].bind = must(malloc(sizeof(*s->apps[i].bind)));
            *s->apps[i].bind = step_plan_binding(from->place);
            take_defaults(p, from->place, s->apps[i].bind);
        }
    }
    s->nranks = next;
    return 0;
}

static void pass_on(const struct inherited *user, struct step *s)
{
    for (int r = 0; r < RLIM_NLIMITS; r++)
        s->soft_limits[r] = (struct rlimit){user->limits[r].rlim_cur, RLIM_INFINITY};
    s->umask = (int)user->umask;
    s->nice = user->nice;
}

static void copy_host_env(const char *const *names, struct step *s)
{
    size_t n = 0;
    while (names && names[n])
        n++;
    s->host_env = must(calloc(n + 1, sizeof(*s->host_env)));
    for (size_t i = 0; i < n; i++)
        s->host_env[i] = must(strdup(names[i]));
}

/* OMP_NUM_THREADS of a program's ranks, or (NULL) the most of all programs; 0: not set, or no
 * number ("4,2": 4). */
static uint32_t threads_of_ranks(const struct step *s, const struct app *only)
{
    uint32_t most = 0;
    for (size_t i = 0; i < s->napps; i++) {
        const char *value = only && only != &s->apps[i]
                                ? NULL
                                : spawn_env_value(s->apps[i].envp, "OMP_NUM_THREADS");
        AUTO_FREE char *first = value ? must(strndup(value, strcspn(value, ","))) : NULL;
        int64_t n;
        if (first && number_parse(first, NULL, 1, CMDLINE_RANKS_MAX, &n, NULL) == 0 && n > most)
            most = (uint32_t)n;
    }
    return most;
}

/* How many cores a rank is bound to where the user has not said it. Returns its source. */
static const char *choose_cores(const struct step_plan *p, const struct app *only,
                                struct binding_request *b)
{
    const char *source = "OMP_NUM_THREADS";
    if (b->policy != BIND_DEFAULT || b->cores || b->set_ranks)
        return "";
    b->cores = threads_of_ranks(&p->step, only);
    if (p->alloc.slot_cores > b->cores) {
        b->cores = p->alloc.slot_cores;
        b->by_threads = !b->threads && !p->cmd->place.one_thread; /* CPUs */
        source = p->alloc.slot_cores_source;
    }
    return source;
}

static void choose_rank_cores(struct step_plan *p)
{
    p->rank_cores_source = choose_cores(p, NULL, &p->step.bind);
    for (size_t i = 0; i < p->step.napps; i++)
        if (p->step.apps[i].bind)
            choose_cores(p, &p->step.apps[i], p->step.apps[i].bind);
}

static int copy_debugging(const struct cmdline *c, struct step *s, struct error *err)
{
    s->stop_point = c->debug.stop_on_exec   ? STOP_AT_EXEC
                    : c->debug.stop_in_init ? STOP_IN_INIT
                                            : STOP_NOWHERE;
    if (c->debug.wrap && !(s->wrapper.argv = words_split(c->debug.wrap, err)))
        return -1;
    return c->debug.wrapped_ranks ? idset_parse(c->debug.wrapped_ranks, &s->wrapper.ranks, err) : 0;
}

/* --explain: all that a start does up to the first instruction of the programs, which read nothing
 * of mprun's. */
static void stop_before_programs(struct step *s)
{
    s->stop_point = STOP_AT_EXEC;
    s->terminal = false;
    s->stuck_time = 0;
    if (s->stdin_target != STDIN_FILE)
        s->stdin_target = STDIN_NONE;
}

static int make_step(struct step_plan *p, const struct inherited *user, struct error *err)
{
    struct step *s = &p->step;
    *s = p->cmd->step;
    s->bind = step_plan_binding(&p->cmd->place);
    if (copy_apps(p, err) < 0 || copy_debugging(p->cmd, s, err) < 0)
        return -1;
    copy_host_env(p->adapter->host_env, s);
    if (p->cmd->rank_input)
        s->stdin_file = must(strdup(p->cmd->rank_input));
    snprintf(s->gpu_env, sizeof(s->gpu_env), "%s", p->adapter->gpu_env ? p->adapter->gpu_env : "");
    random_name(s->id, STEP_ID_LENGTH);
    step_plan_new_nspace(s->nspace);
    s->slurm_variables = p->cmd->dialect == DIALECT_SRUN;
    s->oversubscribed = p->placement.oversubscribed;
    take_defaults(p, &p->cmd->place, &s->bind);
    choose_rank_cores(p);
    s->passed_signals = p->adapter->signals_starters;
    s->stdin_slow = p->cmd->input_of_tools || input_is_slow(STDIN_FILENO);
    s->terminal_size = terminal_size();
    s->sample_period = p->cmd->report.usage || p->cmd->report.json ? SAMPLE_SECONDS : 0;
    pass_on(user, s);
    if (s->stdin_target == STDIN_RANK && s->stdin_rank >= s->nranks)
        return error_set(err, EINVAL, "--stdin %u: there are only ranks 0 to %u", s->stdin_rank,
                         s->nranks - 1);
    if (p->cmd->explain)
        stop_before_programs(s);
    return 0;
}

/* A host without ranks is there for those that ranks start, until the hosts so far have room for
 * all that the user wants. */
static bool is_used(const struct step_plan *p, size_t host)
{
    uint32_t rank_slots = binding_cores(&p->cmd->place.bind);
    const struct allocation so_far = {.hosts = p->used.hosts, .nhosts = p->nused};
    return rank_set_count(&p->placement.hosts[host]) > 0 ||
           allocation_slots(&so_far) / rank_slots < p->universe;
}

/* As under mpirun, programs that spawn ranks find all slots of the job. */
static void choose_universe(struct step_plan *p)
{
    bool has_more_hosts = false;
    for (size_t i = 0; i < p->nhosts; i++)
        has_more_hosts |= rank_set_count(&p->placement.hosts[i]) == 0;
    p->universe = p->cmd->place.universe;
    if (!p->universe && has_more_hosts && p->step.pmi_is_expected && programs_spawn_ranks(&p->step))
        p->universe = CMDLINE_RANKS_MAX;
}

uint32_t step_plan_universe(const struct step_plan *p, uint32_t nranks)
{
    const struct placement_options *o = &p->cmd->place;
    uint32_t n = allocation_slots(&p->used) / binding_cores(&o->bind);
    if (o->universe && o->universe < n)
        n = o->universe;
    if (n > nranks)
        return n;
    return o->oversubscribe == 1 && !o->universe ? 0 : nranks;
}

/* The hosts of the step, and what their starters are told of each. */
static void choose_hosts(struct step_plan *p)
{
    choose_universe(p);
    p->used = p->alloc;
    p->used.hosts = must(calloc(p->nhosts + 1, sizeof(*p->used.hosts)));
    p->placements = must(calloc(p->nhosts + 1, sizeof(*p->placements)));
    for (size_t i = 0; i < p->nhosts; i++) {
        const struct alloc_host *h = &p->alloc.hosts[i];
        if (!is_used(p, i))
            continue;
        p->nhere += h->here != 0;
        p->used.hosts[p->nused] = *h;
        p->placements[p->nused++] = (struct placement){
            .host = h->name,
            .ranks = p->placement.hosts[i], /* borrowed */
            .granted = h->cores_known ? &h->cores : NULL,
            .granted_cores = h->core_list,
            .slots = p->rank_file.n ? rank_file_cores(&p->rank_file, &p->placement.hosts[i]) : NULL,
            .share = h->granted,
        };
    }
    p->used.nhosts = p->nused;
    p->step.universe = step_plan_universe(p, p->step.nranks);
}

/* And whether hosts are linked to each other: a start channel leads to mprun only. */
static int choose_transport(struct step_plan *p, struct error *err)
{
    p->same_machine = p->nhere == p->nused;
    p->transport = p->cmd->links.transport;
    if (p->transport == TRANSPORT_AUTO)
        p->transport = p->same_machine ? TRANSPORT_UNIX : TRANSPORT_TCP;
    if (p->transport == TRANSPORT_UNIX && !p->same_machine)
        return error_set(err, EINVAL,
                         "--transport=unix: hosts of '%s' are other machines; use tcp or stdio",
                         p->adapter->name);
    if (p->transport == TRANSPORT_STDIO && p->adapter->stdio_channel != STDIO_PER_HOST)
        return error_set(err, EINVAL, "--transport=stdio cannot be used with '%s': %s",
                         p->adapter->name, p->adapter->stdio_reason);
    bool star =
        p->transport == TRANSPORT_STDIO || p->cmd->explain || p->nused <= p->cmd->links.fanout;
    p->fanout = star ? 0 : p->cmd->links.fanout;
    return 0;
}

/* Options that were accepted. */
static void say_no_effect(const struct step_plan *p)
{
    const char *names = p->cmd->for_job;
    if (names && !p->adapter->parents)
        log_warn("%s: no resource manager is asked; the ranks run on %s", names,
                 p->adapter == &rm_adapter_local ? "this machine" : "the hosts that are named");
    else if (names)
        log_note("%s: for the command that submits the job; no effect here", names);
    if (p->cmd->no_effect)
        log_note("%s: no effect in mprun", p->cmd->no_effect);
}

/* "mprun -n 4 mpirun ./a": four steps of all ranks, where one was meant. Flux starts by such a
 * line. */
static void note_launchers(const struct step_plan *p)
{
    for (size_t i = 0; i < p->step.napps; i++) {
        const struct app *a = &p->step.apps[i];
        uint32_t n = rank_set_count(&a->ranks);
        enum dialect d;
        if (n > 1 && dialect_named(basename(a->argv[0]), &d) && d != DIALECT_FLUX)
            log_note("each of %u ranks is a launcher, '%.60s', that starts ranks of its own; leave "
                     "it out if one step is meant",
                     n, basename(a->argv[0]));
    }
}

/* A list of hosts may be a pipe, and a manager's commands may hang. */
static int read_allocation(struct step_plan *p, struct error *err)
{
    signal_mask_open();
    int rc = p->adapter->read_allocation(&p->hosts, &p->alloc, err);
    signal_mask_close();
    return rc;
}

int step_plan_make(struct step_plan *p, const struct cmdline *cmd, const struct inherited *user,
                   bool as_mpirun, struct error *err)
{
    *p = (struct step_plan){.cmd = cmd, .as_mpirun = as_mpirun, .hosts = cmd->hosts};
    p->start_ns = loop_wallclock_ns();
    p->start_time = loop_now();
    if (handshake_library_init(err) < 0)
        return -1;
    randombytes_buf(p->key, sizeof(p->key));
    choose_adapter(p);
    leave_lists_to_programs(p);
    if (take_rank_file(p, err) < 0)
        return -1;
    if (read_allocation(p, err) < 0)
        return p->adapter->unaccounted
                   ? -1
                   : error_context(err, "read what '%s' granted", p->adapter->name);
    say_no_effect(p);
    if (choose_slots(p, err) < 0 || skip_hosts(p, err) < 0 || exclude_hosts(p, err) < 0 ||
        take_nodes(p, err) < 0 || make_plan(p, err) < 0 || make_step(p, user, err) < 0)
        return -1;
    p->step.pmi_is_expected = programs_need_pmi(&p->step);
    choose_hosts(p);
    note_launchers(p);
    return choose_transport(p, err);
}

int step_plan_find_starter(struct step_plan *p, struct error *err)
{
    static const char *const beside[] = {"../starter/mpstarter", "../libexec/mprun/mpstarter",
                                         NULL};
    AUTO_FREE char *found = path_find_helper(beside, PKGLIBEXECDIR "/mpstarter", err);
    if (!found)
        return error_context(err, "find mpstarter");
    p->starter_path = realpath(found, NULL);
    if (!p->starter_path)
        return error_errno(err, errno, "find mpstarter: '%s'", found);
    p->remote_path =
        must(p->cmd->start.prefix ? text_format("%s/libexec/mprun/mpstarter", p->cmd->start.prefix)
                                  : strdup(p->starter_path));
    return 0;
}

double step_plan_seconds(const struct step_plan *p)
{
    return loop_now() - p->start_time;
}

void step_plan_free(struct step_plan *p)
{
    free(p->starter_path);
    free(p->remote_path);
    for (size_t i = 0; i < p->nused; i++)
        free((void *)(uintptr_t)p->placements[i].slots);
    rank_file_free(&p->rank_file);
    free(p->listed);
    free(p->placements);
    free(p->used.hosts);
    step_free(&p->step);
    plan_free(&p->placement);
    allocation_free(&p->alloc);
    sodium_memzero(p->key, sizeof(p->key));
}
