/* SPDX-License-Identifier: BSD-3-Clause */
/* explain.c - --dry-run and --explain: what was found, what would be done, and why
 *
 * --dry-run knows what was granted. --explain has asked a starter on each host that has ranks: it
 * said HELLO, was told to go, and started nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/number.h"
#include "launcher/run.h"

static void print_ranks(const struct host *h)
{
    if (h->nranks == 0)
        printf("no ranks\n");
    else if (h->nranks == 1)
        printf("rank %u\n", h->first_rank);
    else
        printf("ranks %u to %u\n", h->first_rank, h->first_rank + h->nranks - 1);
}

static void print_granted(const struct run *r, const struct host *h)
{
    const struct alloc_host *a = &r->alloc.hosts[h->index];
    AUTO_FREE char *cores = a->cores_known ? idset_format(&a->cores) : NULL;
    printf("host        %s: %u slot%s (%s)", a->name, a->slots.value, plural(a->slots.value),
           a->slots.source);
    if (cores)
        printf(", hardware threads %s (%s)", cores, a->cores_source);
    if (a->core_list)
        printf(", cores %s as socket,core (%s)", a->core_list, a->cores_source);
    printf(", ");
    print_ranks(h);
}

/* How its starter gets there. */
static void print_start(struct run *r, const struct host *h)
{
    char how[1500] = "";
    struct start_request request = starting_request(r);
    if (h->nranks == 0 || !r->adapter->describe)
        return;
    r->adapter->describe(&request, &r->alloc.hosts[h->index], how, sizeof(how));
    if (h->handed_to[0])
        printf("            started by the starter of step %s there: %s had no room\n",
               h->handed_to, r->adapter->name);
    else
        printf("            started %s\n", how);
}

static void print_programs(const struct run *r)
{
    for (size_t i = 0; i < r->step.napps; i++) {
        const struct app *a = &r->step.apps[i];
        printf("program     %s: %u rank%s in %s\n", a->argv[0], a->count, plural(a->count),
               a->directory);
    }
}

static void print_beginning(const struct run *r)
{
    printf("adapter     %s: %s\n", r->adapter->name, r->adapter_reason);
    printf("placement   %s\n", r->plan.reason);
}

void run_print_plan(struct run *r)
{
    print_beginning(r);
    for (size_t i = 0; i < r->nhosts; i++) {
        print_granted(r, &r->hosts[i]);
        print_start(r, &r->hosts[i]);
    }
    print_programs(r);
}

/* ---- what starters found --------------------------------------------------------------------- */

static void print_transport(const struct run *r)
{
    static const char *const names[] = {
        [TRANSPORT_UNIX] = "unix", [TRANSPORT_TCP] = "tcp", [TRANSPORT_STDIO] = "stdio"};
    static const char *const security[] = {[LINK_PLAIN] = "not encrypted",
                                           [LINK_ENCRYPT] = "encrypted",
                                           [LINK_MAC] = "authenticated and not encrypted"};
    const char *why = r->same_machine ? "all hosts are this machine" : "hosts are other machines";
    printf("transport   %s: %s", names[r->transport],
           r->cmd.transport == TRANSPORT_AUTO ? why : "asked for with --transport");
    if (r->transport == TRANSPORT_TCP)
        printf(", %s", security[r->cmd.security]);
    printf("\n");
}

/* Cores that the ranks of a host may use. What a grant leaves of the cores of another machine is
 * known only there; as many threads to a core as it has at all are assumed. */
static unsigned usable_cores(const struct run *r, const struct host *h, struct idset *threads)
{
    const struct alloc_host *a = &r->alloc.hosts[h->index];
    size_t all = idset_count(threads);
    unsigned listed = 0;
    for (const char *at = a->core_list; at && (at = strchr(at, ',')); at++)
        listed++;
    if (listed && listed < h->report.cores)
        return listed;
    if (!a->cores_known)
        return h->report.cores;
    idset_intersect(threads, &a->cores);
    if (r->alloc.hosts[h->index].here)
        return cpus_count_cores(threads);
    size_t left = idset_count(threads);
    return all ? (unsigned)((left * h->report.cores + all - 1) / all) : 0;
}

/* The words of the planner for as many cores, whichever they are. */
static void print_binding(const struct run *r, const struct host *h, unsigned ncores)
{
    struct plan_topology t = {.ncores = ncores};
    struct plan_binding b = {0};
    struct error e;
    AUTO_FREE struct plan_core *cores = calloc(ncores + 1, sizeof(*cores));
    t.cores = cores;
    const struct alloc_host *a = &r->alloc.hosts[h->index];
    t.share = a->cores_known || a->core_list ? 0 : a->granted;
    if (cores && plan_binding(&t, &r->step.bind, h->nranks, NULL, &b, &e) == 0)
        printf("            %s%s\n", b.reason,
               b.bound && r->step.bind.cores > 1 && !r->cmd.rank_cores ? " (OMP_NUM_THREADS)" : "");
    else if (cores)
        printf("            would fail: %s\n", e.text);
    plan_binding_free(&b);
}

static void print_found(const struct run *r, const struct host *h)
{
    char memory[16];
    struct idset threads = {0};
    if (h->nranks == 0)
        return;
    if (!h->version) {
        printf("            its starter did not answer\n");
        return;
    }
    printf("            kernel's name %s, %u core%s (hardware threads %s), memory %s, "
           "mpstarter %s\n",
           h->kernel_name, h->report.cores, plural(h->report.cores), h->allowed_threads,
           size_format(h->memory, memory, sizeof(memory)), h->version);
    if (idset_parse(h->allowed_threads, &threads, NULL) == 0)
        print_binding(r, h, usable_cores(r, h, &threads));
    idset_free(&threads);
    printf("            containment '%s': %s\n", tracking_text(h->report.tracking),
           h->tracking_reason);
}

void run_print_found(struct run *r)
{
    print_beginning(r);
    print_transport(r);
    printf("starter     %s\n", r->starter_path ? r->starter_path : "not found");
    for (size_t i = 0; i < r->nhosts; i++) {
        print_granted(r, &r->hosts[i]);
        print_start(r, &r->hosts[i]);
        print_found(r, &r->hosts[i]);
    }
    print_programs(r);
}
