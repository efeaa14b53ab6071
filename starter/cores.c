/* SPDX-License-Identifier: BSD-3-Clause */
/* cores.c - which cores the ranks of this host have: what was granted, what of it may be used, and
 * what other steps of the user have taken */
#include "starter/cores.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/log.h"
#include "plan/topology.h"
#include "starter/core-ledger.h"
#include "starter/keeper.h"
#include "starter/worker.h"

enum { TRIES = 100 }; /* to take cores that others take at the same time */

const struct idset *cores_here(const struct worker *w)
{
    return w->launch.granted_all ? &w->allowed : &w->launch.granted;
}

static int needs_topology(const struct worker *w)
{
    const struct step *s = &w->launch.step;
    const struct placement *here = &w->launch.hosts[w->launch.host_index];
    if (s->pmi || w->launch.granted_cores) /* mppmi would look for itself, which takes it longer */
        return 1;
    if (w->launch.report_bindings || s->bind.policy == BIND_CORE)
        return 1;
    uint64_t cores = (uint64_t)here->count * binding_cores(&s->bind);
    return s->bind.policy == BIND_DEFAULT && cpus_count_cores(cores_here(w)) >= cores;
}

/* What this process may run on is the kernel's word, and may have become less than what was granted
 * when the node daemon put it into its job's cgroup. */
static void cut_grant(struct worker *w)
{
    struct launch *l = &w->launch;
    struct idset both = {0};
    if (l->granted_all || idset_copy(&both, &l->granted) < 0)
        return;
    idset_intersect(&both, &w->allowed);
    AUTO_FREE char *granted = idset_format(&l->granted), *allowed = idset_format(&w->allowed);
    if (idset_count(&both) > 0) {
        idset_free(&l->granted);
        l->granted = both;
        return;
    }
    idset_free(&both);
    l->granted_all = 1;
    log_warn("on %s: of the granted hardware threads %s none may be used here; those that may, %s, "
             "are",
             w->host_name, granted ? granted : "", allowed ? allowed : "");
}

/* What the manager says of cores has been found out for one host, perhaps, and is said of all:
 * where there are none of these, it means nothing. */
static int take_granted_cores(struct worker *w, struct error *err)
{
    struct launch *l = &w->launch;
    if (topology_find_cores(w->topology, l->granted_cores, &l->granted, err) < 0)
        return -1;
    if (idset_count(&l->granted) == 0) {
        log_warn("on %s: the granted cores '%s' (socket,core) do not exist here; all that may be "
                 "used are",
                 w->host_name, l->granted_cores);
        return 0;
    }
    l->granted_all = 0;
    cut_grant(w);
    return l->granted_all ? 0 : topology_cut(w->topology, &l->granted, err);
}

static int load_topology(struct worker *w, struct error *err)
{
    cut_grant(w);
    if (!needs_topology(w))
        return 0;
    w->topology = topology_load(w->launch.granted_all ? NULL : &w->launch.granted, err);
    return !w->topology ? -1 : w->launch.granted_cores ? take_granted_cores(w, err) : 0;
}

/* What the ranks are bound to, but for what others have taken before. */
static int add_bound(const struct plan_binding *b, const struct idset *busy, struct idset *ret)
{
    for (uint32_t i = 0; i < b->nranks; i++)
        for (int t = idset_next(&b->ranks[i], 0); t >= 0;
             t = idset_next(&b->ranks[i], (unsigned)t + 1))
            if (!idset_has(busy, (unsigned)t) && idset_add(ret, (unsigned)t) < 0)
                return -1;
    return 0;
}

/* 1: chosen and taken; 0: another step was faster; -1. */
static int try_cores(struct worker *w, const struct plan_topology *t, int ledger, struct error *err)
{
    struct idset busy = {0}, taken = {0};
    int rc = ledger >= 0 ? core_ledger_busy(ledger, &busy, err) : 0;
    plan_binding_free(&w->binding);
    if (rc == 0)
        rc = plan_binding(t, &w->launch.step.bind, w->ranks.n, &busy, &w->binding, err);
    if (rc == 0 && add_bound(&w->binding, &busy, &taken) < 0)
        rc = error_errno(err, ENOMEM, "bind ranks");
    if (rc == 0)
        rc = ledger >= 0 ? core_ledger_take(ledger, &taken, err) : 1;
    idset_free(&busy);
    idset_free(&taken);
    return rc;
}

/* Those of a step on one machine that poses as several hosts would be each other's. */
static int has_ledger(const struct launch *l)
{
    int is_shared = l->same_machine && l->nhosts > 1;
    return !l->step.overlap && l->step.bind.policy != BIND_NONE && !is_shared;
}

/* Should the worker die, the keeper has them until it has ended the ranks. */
static void keep(struct worker *w, int ledger)
{
    if (!w->binding.bound) {
        core_ledger_leave(NULL, ledger);
        return;
    }
    keeper_send(w->keeper_fd, (char[]){KEEPER_CORES}, 1, &ledger, 1);
    w->cores_fd = ledger;
}

/* Who is always slower than others is bound as if it were alone. */
static int choose(struct worker *w, const struct plan_topology *t, int ledger, struct error *err)
{
    int rc = 0;
    for (int i = 0; i < TRIES && rc == 0 && ledger >= 0; i++)
        rc = try_cores(w, t, ledger, err);
    if (rc == 0)
        rc = try_cores(w, t, -1, err);
    return rc;
}

/* Another's doing is for the user to know, and to have mended. */
static void say_no_ledger(const struct worker *w, const struct error *why)
{
    if (why->code == EPERM)
        log_warn("on %s: %s: until it is removed, ranks of steps that run at the same time may be "
                 "bound to the same cores (--bind-to none helps)",
                 w->host_name, why->text);
    else
        log_debug("on %s: other steps' cores are not known: %s", w->host_name, why->text);
}

static int bind_ranks(struct worker *w, struct error *err)
{
    const struct launch *l = &w->launch;
    struct plan_topology cores = {0};
    struct error why;
    int ledger = -1;
    if (!w->topology)
        return 0;
    if (topology_cores(w->topology, &cores, err) < 0)
        return -1;
    if (l->granted_all)
        cores.share = l->hosts[l->host_index].share;
    cores.inside = getenv("MPRUN_STEP_ID") != NULL;
    if (has_ledger(l) && (ledger = core_ledger_open(NULL, &why)) < 0)
        say_no_ledger(w, &why);
    int rc = choose(w, &cores, ledger, err);
    plan_topology_free(&cores);
    if (ledger >= 0)
        keep(w, ledger);
    return rc < 0 ? -1 : 0;
}

int cores_choose(struct worker *w, struct error *err)
{
    return load_topology(w, err) < 0 ? -1 : bind_ranks(w, err);
}
