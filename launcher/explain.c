/* SPDX-License-Identifier: BSD-3-Clause */
/* explain.c - --dry-run and --explain: what was found, what would be done, and why
 *
 * --dry-run knows what was granted. --explain has asked a starter on each host that has ranks: it
 * said HELLO, was told to go, and started nothing. */
#include "launcher/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/number.h"
#include "common/spawn.h"
#include "common/words.h"
#include "launcher/display.h"
#include "launcher/start/starters.h"
#include "launcher/step-record.h"

static void print_granted(const struct step_plan *p, const struct host *h)
{
    const struct alloc_host *a = &p->alloc.hosts[h->index];
    AUTO_FREE char *ranks = rank_set_format(h->ranks);
    AUTO_FREE char *cores = a->cores_known ? idset_format(&a->cores) : NULL;
    printf("host        %s: %u slot%s (%s)", a->name, a->slots.value, plural(a->slots.value),
           a->slots.source);
    if (cores)
        printf(", hardware threads %s (%s)", cores, a->cores_source);
    if (a->core_list)
        printf(", cores %s as socket,core (%s)", a->core_list, a->cores_source);
    printf(", %s\n", ranks ? ranks : "?");
}

/* How its starter gets there. */
static void print_start(const struct step_plan *p, const struct host *h,
                        const struct starters *starters)
{
    char how[1500] = "";
    struct start_request request = starters_request(p);
    if (!rank_set_count(h->ranks) || !p->adapter->describe)
        return;
    p->adapter->describe(&request, &p->alloc.hosts[h->index], how, sizeof(how));
    const char *lender = starters_lender(starters, h);
    if (lender[0])
        printf("            started by the starter of step %s there: %s had no room\n", lender,
               p->adapter->name);
    else
        printf("            started %s\n", how);
}

static void print_escaped(const char *text)
{
    char shown[1000];
    text_escape(text, strlen(text), shown, sizeof(shown));
    printf("%s", shown);
}

/* The names of variables, or quoted arguments. */
static void print_words(const char *what, char *const words[])
{
    enum { MOST = 40 };
    size_t n = 0;
    for (; words[n] && n < MOST; n++) {
        AUTO_FREE char *quoted = word_quote(words[n]);
        printf("%s", n ? " " : what);
        print_escaped(quoted ? quoted : words[n]);
    }
    if (n)
        printf("%s\n", words[n] ? " ..." : "");
}

/* The program as this machine has it. Others may have another one. */
static void print_file(const struct app *a)
{
    struct error e;
    AUTO_FREE char *path = NULL;
    if (spawn_resolve(a->argv[0], a->envp, a->directory, &path, &e) == 0) {
        printf("            file: ");
        print_escaped(path);
    } else {
        printf("            no file on this machine: %s", e.text);
    }
    printf("\n");
}

static void print_programs(const struct step_plan *p)
{
    for (size_t i = 0; i < p->step.napps; i++) {
        const struct app *a = &p->step.apps[i];
        uint32_t n = rank_set_count(&a->ranks);
        char program[1000], directory[1000];
        text_escape(a->argv[0], strlen(a->argv[0]), program, sizeof(program));
        text_escape(a->directory, strlen(a->directory), directory, sizeof(directory));
        printf("program     %s: %u rank%s in %s\n", program, n, plural(n), directory);
        print_file(a);
        print_words("            arguments: ", a->argv + 1);
        print_words("            variables: ", a->given_env);
    }
}

static void print_beginning(const struct step_plan *p)
{
    printf("adapter     %s: %s\n", p->adapter->name, p->adapter_reason);
    printf("placement   %s\n", p->placement.reason);
}

void explain_plan(const struct host_table *hosts)
{
    const struct step_plan *p = hosts->plan;
    print_beginning(p);
    for (size_t i = 0; i < p->nhosts; i++) {
        print_granted(p, &hosts->all[i]);
        print_start(p, &hosts->all[i], NULL);
        display_host_plan(p, &hosts->all[i]);
    }
    print_programs(p);
}

void explain_hosts(const struct host_table *hosts)
{
    const struct step_plan *p = hosts->plan;
    for (size_t i = 0; i < p->nhosts; i++)
        print_granted(p, &hosts->all[i]);
}

/* ---- what starters found --------------------------------------------------------------------- */

static void print_transport(const struct step_plan *p)
{
    static const char *const security[] = {[LINK_PLAIN] = "not encrypted",
                                           [LINK_ENCRYPT] = "encrypted",
                                           [LINK_MAC] = "authenticated and not encrypted"};
    const char *why = p->same_machine ? "all hosts are this machine" : "hosts are other machines";
    printf("transport   %s: %s", transport_words[p->transport],
           p->cmd->transport == TRANSPORT_AUTO ? why : "asked for with --transport");
    if (p->transport != TRANSPORT_UNIX)
        printf(", %s", security[p->cmd->security]);
    printf("\n");
}

/* Cores that the ranks of a host may use. What a grant leaves of the cores of another machine is
 * known only there; as many threads to a core as it has at all are assumed. */
static unsigned usable_cores(const struct alloc_host *a, unsigned found, struct idset *threads)
{
    size_t all = idset_count(threads);
    unsigned listed = 0;
    for (const char *at = a->core_list; at && (at = strchr(at, ',')); at++)
        listed++;
    if (listed && listed < found)
        return listed;
    if (!a->cores_known)
        return found;
    idset_intersect(threads, &a->cores);
    if (a->here)
        return cpus_count_cores(threads);
    size_t left = idset_count(threads);
    return all ? (unsigned)((left * found + all - 1) / all) : 0;
}

static void print_bound(const struct step_plan *p, const struct plan_binding *b)
{
    const char *source = b->bound && p->step.bind.cores > 1 ? p->rank_cores_source : "";
    printf("            %s%s%s%s\n", b->reason, *source ? " (" : "", source, *source ? ")" : "");
}

/* The words of the planner for as many cores, whichever they are. */
static void print_binding(const struct step_plan *p, const struct host *h, unsigned ncores)
{
    struct plan_topology t = {.ncores = ncores};
    struct plan_binding b = {0};
    struct error e;
    AUTO_FREE struct plan_core *cores = calloc(ncores + 1, sizeof(*cores));
    t.cores = cores;
    const struct alloc_host *a = &p->alloc.hosts[h->index];
    t.share = a->cores_known || a->core_list ? 0 : a->granted;
    for (size_t i = 0; i < p->step.napps; i++)
        if (p->step.apps[i].bind)
            return;
    if (p->placements[h->launch_index].slots || p->step.bind.list_kind != CPU_LIST_NONE ||
        p->step.bind.map != LEVEL_NONE)
        return; /* where the cores are counts; --dry-run --topology knows it */
    if (cores && plan_binding(&t, &p->step.bind, rank_set_count(h->ranks), NULL, &b, &e) == 0)
        print_bound(p, &b);
    else if (cores)
        printf("            would fail: %s\n", e.text);
    plan_binding_free(&b);
}

static void print_found(const struct step_plan *p, const struct host *h, const struct host_facts *f,
                        const struct report_host *r)
{
    char memory[16];
    struct idset threads = {0};
    if (!f->version) {
        printf("            its starter did not answer\n");
        return;
    }
    printf("            kernel's name %s, %u core%s (hardware threads %s), memory %s, "
           "mpstarter %s\n",
           f->kernel_name, r->cores, plural(r->cores), f->allowed_threads,
           size_format(f->memory, memory, sizeof(memory)), f->version);
    if (idset_parse(f->allowed_threads, &threads, NULL) == 0)
        print_binding(p, h, usable_cores(&p->alloc.hosts[h->index], r->cores, &threads));
    idset_free(&threads);
    printf("            containment '%s': %s\n", tracking_text(r->tracking), r->tracking_reason);
}

void explain_found(const struct host_table *hosts, const struct step_record *record,
                   const struct starters *starters)
{
    const struct step_plan *p = hosts->plan;
    print_beginning(p);
    print_transport(p);
    printf("starter     %s\n", p->starter_path ? p->starter_path : "not found");
    for (size_t i = 0; i < p->nhosts; i++) {
        const struct host *h = &hosts->all[i];
        print_granted(p, h);
        print_start(p, h, starters);
        if (rank_set_count(h->ranks))
            print_found(p, h, &record->facts[h->launch_index], &record->hosts[h->launch_index]);
    }
    print_programs(p);
}
