/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/step/step-hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/machine/cpus.h"
#include "common/text/idset.h"
#include "common/log.h"
#include "common/text/number.h"
#include "plan/topology.h"
#include "rm-adapters/hosts/hostlist.h"
#include "rm-adapters/hosts/requested-hosts.h"

void step_hosts_leave_out(struct allocation *a, size_t index)
{
    struct alloc_host *h = &a->hosts[index];
    free(h->name);
    free(h->core_list);
    idset_free(&h->cores);
    memmove(h, h + 1, (--a->nhosts - index) * sizeof(*h));
    a->more[0] = 0; /* a larger job does not give more room on the hosts that are left */
}

static int leave_out_here(struct allocation *a, struct error *err)
{
    for (size_t i = a->nhosts; i > 0; i--)
        if (a->hosts[i - 1].here)
            step_hosts_leave_out(a, i - 1);
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
        step_hosts_leave_out(&p->alloc, 0);
    return 0;
}

/* --exclude: lists for all jobs of a user may name hosts that this job does not have, so these are
 * no errors. */
static int exclude_hosts(struct step_plan *p, struct error *err)
{
    struct allocation *a = &p->alloc;
    const struct placement_options *place = &p->cmd->place;
    AUTO(hostlist_free) struct hostlist named = {.stated = 0};
    AUTO(idset_free) struct idset out = {.words = NULL};
    for (size_t i = 0; i < place->nexcluded; i++)
        if (hostlist_parse(place->excluded[i], &named, err) < 0)
            return error_context(err, "--exclude");
    for (size_t i = 0; i < named.allocation.nhosts; i++) {
        const struct alloc_host *h = named_find(a, named.allocation.hosts[i].name);
        if (h)
            idset_add(&out, (uint32_t)(h - a->hosts));
        else
            log_note("--exclude: '%.100s' is no host of this job", named.allocation.hosts[i].name);
    }
    for (size_t i = a->nhosts; i > 0; i--)
        if (idset_has(&out, (uint32_t)i - 1))
            step_hosts_leave_out(a, i - 1);
    if (a->nhosts == 0)
        return error_set(err, EINVAL, "--exclude leaves no host");
    return place->no_local ? leave_out_here(a, err) : 0;
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
    while (a->nhosts > c->place.nodes_max && !p->waits)
        step_hosts_leave_out(a, a->nhosts - 1);
    if (a->nhosts > c->place.nodes_max) {
        p->nspare = a->nhosts - c->place.nodes_max;
        a->nhosts = c->place.nodes_max;
    }
    if (c->nranks && c->nranks < a->nhosts && c->dialect != DIALECT_SRUN)
        return error_set(err, EINVAL,
                         "--nodes: %u rank%s too few for %zu hosts; ask for fewer hosts", c->nranks,
                         c->nranks == 1 ? " is" : "s are", a->nhosts);
    return 0;
}

/* Returns the topology that all hosts are taken to have: the one that --dry-run was told, else that
 * of this machine. NULL with err. */
static struct topology *host_topology(const struct step_plan *p, struct error *err)
{
    return p->cmd->place.topology ? topology_load_from(p->cmd->place.topology, err)
                                  : topology_load(NULL, err);
}

uint32_t step_hosts_parts(const struct step_plan *p, enum level level, struct error *err)
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

bool step_hosts_counts_threads(const struct placement_options *place)
{
    return place->bind.threads || (place->bind.by_threads && !place->one_thread);
}

/* --topology: the hosts that this machine poses as have the cores of that one. */
static int pose_as(struct step_plan *p, struct error *err)
{
    bool threads = step_hosts_counts_threads(&p->cmd->place);
    uint32_t slots = step_hosts_parts(p, threads ? LEVEL_HWTHREAD : LEVEL_CORE, err);
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

/* Makes a slot what the user wants it to be: a core, a hardware thread, or one of the posed host.
 */
static int choose_slots(struct step_plan *p, struct error *err)
{
    take_cpus_as_slots(p);
    if (p->adapter != &rm_adapter_local)
        return 0;
    return p->cmd->place.topology                      ? pose_as(p, err)
           : step_hosts_counts_threads(&p->cmd->place) ? take_threads_as_slots(p, err)
                                                       : 0;
}

int step_hosts_choose(struct step_plan *p, struct error *err)
{
    return choose_slots(p, err) < 0 || skip_hosts(p, err) < 0 || exclude_hosts(p, err) < 0 ||
                   take_nodes(p, err) < 0
               ? -1
               : 0;
}
