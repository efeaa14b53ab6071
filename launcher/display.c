/* SPDX-License-Identifier: BSD-3-Clause */
/* display.c - see display.h */
#include "launcher/display.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/number.h"
#include "launcher/explain.h"
#include "plan/topology.h"

/* "            rank 0   [BB/../..][../../..]  package 0 core 0, hardware threads 0-1" */
static void print_rank(const struct topology *t, struct rank_name name, const struct idset *threads,
                       bool bound)
{
    char text[RANK_NAME_TEXT];
    AUTO_FREE char *picture = topology_picture(t, threads);
    AUTO_FREE char *words = bound ? topology_describe(t, threads) : NULL;
    printf("            rank %-4s %s  %s\n", rank_name_format(name, text), picture ? picture : "",
           words ? words : "not bound");
}

static int print_ranks(const struct step_plan *p, const struct host *h, const struct topology *t,
                       struct error *err)
{
    struct plan_topology cores = {0};
    struct plan_binding b = {0};
    struct step step = p->step; /* borrowed */
    int rc = topology_cores(t, &cores, err);
    step.bind.slots = p->placements[h->launch_index].slots;
    if (rc == 0)
        rc = plan_step_binding(&cores, &step, h->ranks, NULL, &b, err);
    if (rc == 0)
        printf("            %s\n", b.reason);
    for (uint32_t i = 0; rc == 0 && i < b.nranks; i++)
        print_rank(t, rank_set_at(h->ranks, i), &b.ranks[i], b.bound);
    plan_binding_free(&b);
    plan_topology_free(&cores);
    return rc;
}

/* NULL with err: it is known only on the host itself. */
static struct topology *load(const struct step_plan *p, const struct host *h, struct error *err)
{
    const struct alloc_host *a = &p->alloc.hosts[h->index];
    if (p->cmd->place.topology)
        return topology_load_from(p->cmd->place.topology, err);
    if (a->here)
        return topology_load(a->cores_known ? &a->cores : NULL, err);
    error_set(err, ENOENT, "its cores are known only there; give its topology with --topology");
    return NULL;
}

void display_host_plan(const struct step_plan *p, const struct host *h)
{
    const struct cmdline *c = p->cmd;
    struct error e;
    if (rank_set_count(h->ranks) == 0 ||
        (!c->place.topology && !c->report_bindings && !c->display_topology))
        return;
    struct topology *t = load(p, h, &e);
    if (t && c->display_topology)
        topology_print(t, "            ", stdout);
    if (!t || print_ranks(p, h, t, &e) < 0)
        printf("            would fail: %s\n", e.text);
    topology_destroy(t);
}

void display_before_start(const struct host_table *hosts)
{
    const struct cmdline *c = hosts->plan->cmd;
    struct error e;
    struct topology *t = NULL;
    if (c->display_allocation)
        explain_hosts(hosts);
    if (c->display_topology && (t = topology_load(NULL, &e)))
        topology_print(t, "", stdout);
    topology_destroy(t);
    fflush(stdout);
}
