/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/binding/rank-binding.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/machine/cpus.h"
#include "common/log.h"
#include "plan/plain-machine.h"
#include "plan/topology.h"
#include "starter/binding/core-ledger.h"
#include "starter/binding/memory-policy.h"
#include "starter/keeper/keeper-channel.h"
#include "starter/tunables.h"
#include "wire/messages/launch.h"

/* Are there requests that name parts of the machine other than cores and hardware threads? */
static bool names_parts(const struct binding_request *how)
{
    return how->map > LEVEL_CORE || how->to > LEVEL_CORE || how->list_kind != CPU_LIST_NONE ||
           how->slots;
}

static bool any_request(const struct step *s, bool (*is)(const struct binding_request *))
{
    bool any = is(&s->bind);
    for (size_t i = 0; i < s->napps; i++)
        any |= s->apps[i].bind && is(s->apps[i].bind);
    return any;
}

static bool binds(const struct binding_request *how)
{
    return how->policy != BIND_NONE || how->list_kind == CPU_LIST_ONLY;
}

/* Removes threads that the kernel does not let this process use: the grant may have more, when
 * mprund has put this process into its job's cgroup. */
static void cut_grant(struct rank_binding *b)
{
    if (b->has_all)
        return;
    AUTO_FREE char *granted = idset_format(&b->granted);
    AUTO_FREE char *allowed = idset_format(b->allowed);
    idset_intersect(&b->granted, b->allowed);
    if (idset_count(&b->granted) > 0)
        return;
    b->has_all = true;
    log_warn("on %s: of the granted hardware threads %s none may be used here; those that may, %s, "
             "are",
             launch_here(b->launch)->host, granted, allowed);
}

/* The manager may give all hosts a list of cores that describes one of them: a host that has none
 * of these cores ignores the list. */
static int take_granted_cores(struct rank_binding *b, struct error *err)
{
    const char *cores = b->launch->granted_cores;
    if (topology_find_cores(b->topology, cores, &b->granted, err) < 0)
        return -1;
    if (idset_count(&b->granted) == 0) {
        log_warn("on %s: the granted cores '%s' (socket,core) do not exist here; all that may be "
                 "used are",
                 launch_here(b->launch)->host, cores);
        return 0;
    }
    b->has_all = false;
    cut_grant(b);
    return b->has_all ? 0 : topology_cut(b->topology, &b->granted, err);
}

/* Loads the topology of the first world, which all worlds use. */
static int load_topology(struct rank_binding *b, struct error *err)
{
    struct rank_binding *first = b->first ? b->first : b;
    if (!first->topology)
        first->topology = topology_load(first->has_all ? NULL : &first->granted, err);
    b->topology = first->topology;
    return b->topology ? 0 : -1;
}

/* The grant and the descriptions of ranks are words about the machine. */
static int read_grant(struct rank_binding *b, struct error *err)
{
    cut_grant(b);
    if (!b->launch->granted_cores && !b->launch->report_bindings)
        return 0;
    if (load_topology(b, err) < 0)
        return -1;
    return b->launch->granted_cores ? take_granted_cores(b, err) : 0;
}

/* The usable cores. */
static int find_cores(struct rank_binding *b, struct plan_topology *ret, struct error *err)
{
    if (!any_request(&b->launch->step, names_parts) &&
        plain_machine_here(rank_binding_usable(b), ret))
        return 0;
    if (load_topology(b, err) < 0)
        return -1;
    topology_cores(b->topology, ret);
    return 0;
}

/* Adds the threads that ranks are bound to, except those that other steps had taken before. */
static void add_bound(const struct plan_binding *b, const struct idset *busy, struct idset *ret)
{
    for (uint32_t i = 0; i < b->nranks; i++)
        idset_unite(ret, &b->ranks[i]);
    idset_subtract(ret, busy);
}

/* Adds those of all worlds except `but`. */
static void add_worlds(const struct rank_binding *first, const struct rank_binding *but,
                       struct idset *ret)
{
    for (const struct rank_binding *b = first; b; b = b->next)
        for (uint32_t i = 0; b != but && !b->has_ended && i < b->plan.nranks; i++)
            idset_unite(ret, &b->plan.ranks[i]);
}

/* Adds the threads of this step's other worlds: the ledger does not know which threads are ours. */
static void add_own(const struct rank_binding *but, struct idset *ret)
{
    add_worlds(but->first ? but->first : but, but, ret);
}

void rank_binding_all_threads(const struct rank_binding *first, struct idset *ret)
{
    add_worlds(first, NULL, ret);
}

/* Returns 1: cores are chosen and taken; 0: another step was faster; -1 with err. */
static int try_cores(struct rank_binding *b, const struct plan_topology *t, int ledger,
                     struct error *err)
{
    AUTO(idset_free) struct idset busy = {0}, taken = {0};
    int rc = ledger >= 0 ? core_ledger_busy(ledger, &busy, err) : 0;
    plan_binding_free(&b->plan);
    add_own(b, &busy);
    if (rc == 0)
        rc = plan_step_binding(t, &b->launch->step, &launch_here(b->launch)->ranks, &busy, &b->plan,
                               err);
    add_bound(&b->plan, &busy, &taken);
    if (rc == 0)
        rc = ledger >= 0 ? core_ledger_take(ledger, &taken, err) : 1;
    return rc;
}

/* Without a ledger if hosts of this step share a machine: they would take each other's cores. */
static bool has_ledger(const struct launch *l)
{
    bool is_shared = l->same_machine && l->nhosts > 1;
    return !l->step.overlap && l->step.bind.policy != BIND_NONE && !is_shared;
}

/* If the worker dies, the keeper holds the cores until it has ended the ranks. */
static void keep(struct rank_binding *b, int ledger, int keeper_fd)
{
    fd_packet_send(keeper_fd, (char[]){KEEPER_CORES}, 1, &ledger, 1);
    b->ledger = ledger;
}

/* If other steps are faster again and again, binds ranks as if this step were alone. */
static int choose(struct rank_binding *b, const struct plan_topology *t, int ledger,
                  struct error *err)
{
    int rc = 0;
    for (int i = 0; i < CORE_TRIES && rc == 0 && ledger >= 0; i++)
        rc = try_cores(b, t, ledger, err);
    if (rc == 0)
        rc = try_cores(b, t, -1, err);
    return rc;
}

/* EPERM: another user has made the file; the message lets this user have it removed. */
static void say_no_ledger(const struct rank_binding *b, const struct error *why)
{
    if (why->code == EPERM)
        log_warn("on %s: %s: until it is removed, ranks of steps that run at the same time may be "
                 "bound to the same cores (--bind-to none helps)",
                 launch_here(b->launch)->host, why->text);
    else
        log_debug("on %s: other steps' cores are not known: %s", launch_here(b->launch)->host,
                  why->text);
}

static int bind_to_cores(struct rank_binding *b, int ledger, struct error *err)
{
    AUTO(plan_topology_free) struct plan_topology cores = {0};
    if (any_request(&b->launch->step, binds) && find_cores(b, &cores, err) < 0)
        return -1;
    if (b->has_all)
        cores.share = launch_here(b->launch)->share;
    cores.inside = getenv("MPRUN_STEP_ID") != NULL;
    return choose(b, &cores, ledger, err) < 0 ? -1 : 0;
}

static int open_ledger(struct rank_binding *b)
{
    struct error why;
    int ledger = has_ledger(b->launch) && !b->has_no_ledger ? core_ledger_open(NULL, &why) : -1;
    if (ledger < 0 && has_ledger(b->launch) && !b->has_no_ledger)
        say_no_ledger(b, &why);
    b->has_no_ledger = ledger < 0;
    return ledger;
}

static int bind_ranks(struct rank_binding *b, int keeper_fd, struct error *err)
{
    int ledger = open_ledger(b);
    int rc = bind_to_cores(b, ledger, err);
    if (ledger >= 0 && b->plan.bound)
        keep(b, ledger, keeper_fd);
    else if (ledger >= 0)
        core_ledger_leave(ledger);
    return rc;
}

/* Checks before any rank starts that ranks can have the memory nodes that they are to have. */
static int check_memory(const struct launch *l, struct error *err)
{
    struct memory_policy unused;
    int rc = memory_policy_choose(&l->step.bind, &unused, err);
    for (size_t i = 0; rc >= 0 && i < l->step.napps; i++)
        if (l->step.apps[i].bind)
            rc = memory_policy_choose(l->step.apps[i].bind, &unused, err);
    return rc < 0 ? -1 : 0;
}

char *rank_binding_memory_nodes(const struct rank_binding *b)
{
    const struct step *step = &b->launch->step;
    AUTO(idset_free) struct idset nodes = {0};
    for (size_t i = 0; i < step->napps; i++)
        if (memory_policy_add_nodes(step->apps[i].bind ? step->apps[i].bind : &step->bind, &nodes) <
            0)
            return NULL;
    return idset_format(&nodes);
}

int rank_binding_choose(struct rank_binding *b, const struct launch *launch,
                        const struct idset *allowed, int keeper_fd, struct error *err)
{
    *b = (struct rank_binding){
        .launch = launch, .allowed = allowed, .has_all = launch->granted_all, .ledger = -1};
    idset_copy(&b->granted, &launch->granted);
    return check_memory(launch, err) < 0 || read_grant(b, err) < 0 ? -1
                                                                   : bind_ranks(b, keeper_fd, err);
}

/* For a first world without ranks here, which took no cores and so opened no ledger. */
static void open_ledger_late(struct rank_binding *first, int keeper_fd)
{
    int ledger = first->ledger < 0 ? open_ledger(first) : -1;
    if (ledger >= 0)
        keep(first, ledger, keeper_fd);
}

int rank_binding_choose_more(struct rank_binding *b, const struct launch *launch,
                             struct rank_binding *first, int keeper_fd, struct error *err)
{
    bool is_empty = rank_set_count(&launch_here(first->launch)->ranks) == 0;
    if (is_empty)
        open_ledger_late(first, keeper_fd);
    *b = (struct rank_binding){.launch = launch,
                               .allowed = first->allowed,
                               .has_all = first->has_all,
                               .topology = first->topology,
                               .ledger = first->ledger,
                               .first = first,
                               .next = first->next};
    idset_copy(&b->granted, &first->granted);
    first->next = b;
    if ((!first->plan.bound && !is_empty) || rank_set_count(&launch_here(launch)->ranks) == 0)
        return 0;
    return bind_to_cores(b, b->ledger, err);
}

/* Gives back cores, except those that another world has, too. */
static void give_back_cores(struct rank_binding *b)
{
    AUTO(idset_free) struct idset threads = {0}, others = {0};
    add_own(b, &others);
    add_bound(&b->plan, &others, &threads);
    if (b->ledger >= 0)
        core_ledger_give_back(b->ledger, &threads);
}

void rank_binding_end(struct rank_binding *b)
{
    if (!b->has_ended)
        give_back_cores(b);
    b->has_ended = true;
}

static void take_from_list(struct rank_binding *b)
{
    struct rank_binding *before = b->first;
    while (before->next != b)
        before = before->next;
    before->next = b->next;
}

void rank_binding_free(struct rank_binding *b)
{
    if (!b->launch)
        return;
    if (b->first) {
        rank_binding_end(b);
        take_from_list(b);
    } else {
        core_ledger_leave(b->ledger);
        topology_destroy(b->topology);
    }
    plan_binding_free(&b->plan);
    idset_free(&b->granted);
}

const struct idset *rank_binding_usable(const struct rank_binding *b)
{
    return b->has_all ? b->allowed : &b->granted;
}

const struct idset *rank_binding_threads(const struct rank_binding *b, uint32_t local)
{
    return b->plan.bound && local < b->plan.nranks && idset_count(&b->plan.ranks[local]) > 0
               ? &b->plan.ranks[local]
               : NULL;
}

const struct idset *rank_binding_affinity(const struct rank_binding *b, uint32_t local)
{
    const struct idset *threads = rank_binding_threads(b, local);
    return threads || b->has_all ? threads : &b->granted;
}
