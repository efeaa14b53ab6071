/* SPDX-License-Identifier: BSD-3-Clause */
/* report-sums.c - the sums and ratios of a report, and words for the ends of ranks */
#include "launcher/report/report.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/must.h"
#include "common/processes/signal-name.h"

void report_sums_free(struct report_sums *s)
{
    free(s->hosts);
    *s = (struct report_sums){0};
}

/* A total that the host knows exactly counts instead of the sum. */
static void override(struct report_host_sum *sum, const struct usage *total)
{
    for (unsigned f = 0; f < USAGE_FIELD_COUNT; f++)
        if (usage_has(total, f) && f != USAGE_WALL && f != USAGE_RSS_PEAK)
            usage_set(&sum->usage, f, total->value[f]);
    sum->memory_exact = usage_has(total, USAGE_MEMORY_PEAK);
}

/* A rank that ran and of which nothing is known (its host was lost) makes the sum unknown. */
static void forget_incomplete(const struct report *r, struct report_host_sum *hosts)
{
    for (size_t i = 0; i < r->nranks; i++)
        if (r->ranks[i].pid > 0 && !r->ranks[i].usage.known)
            hosts[r->ranks[i].host].usage = (struct usage){0};
}

static void add_ranks(const struct report *r, struct report_host_sum *hosts)
{
    for (size_t i = 0; i < r->nranks; i++) {
        const struct report_rank *rank = &r->ranks[i];
        struct report_host_sum *h = &hosts[rank->host];
        usage_add(&h->usage, &rank->usage);
        if (rank->name.incarnation == 0 && !h->nranks++)
            h->any_rank = i;
        h->cores += rank->cores;
        h->has_later |= rank->name.world || rank->name.incarnation;
        if (rank->start_ns && (!h->first_ns || rank->start_ns < h->first_ns))
            h->first_ns = rank->start_ns;
        if (rank->end && rank->end->time_ns > h->last_ns)
            h->last_ns = rank->end->time_ns;
        h->at_once +=
            usage_has(&rank->usage, USAGE_WALL) ? (double)rank->usage.value[USAGE_WALL] : 0;
    }
}

/* Ranks that ran one after another: not the longest counts, but the time of all. */
static void span_wall(struct report_host_sum *h)
{
    bool is_known = h->has_later && usage_has(&h->usage, USAGE_WALL) && h->first_ns;
    if (is_known && h->last_ns > h->first_ns)
        usage_max(&h->usage, USAGE_WALL, (h->last_ns - h->first_ns) / 1000);
    h->at_once = is_known && h->usage.value[USAGE_WALL]
                     ? h->at_once / (double)h->usage.value[USAGE_WALL]
                     : h->nranks;
    if (h->at_once < 1)
        h->at_once = 1;
}

/* Processes of no known rank have no wall time to add. */
static void add_others(struct usage *sum, const struct usage *others)
{
    struct usage wall = *sum;
    if (!sum->known)
        return;
    usage_add(sum, others);
    if (usage_has(&wall, USAGE_WALL))
        usage_set(sum, USAGE_WALL, wall.value[USAGE_WALL]);
}

/* Ranks that are not bound have all the cores of the host. */
static void mark_unbound(const struct report *r, struct report_host_sum *hosts)
{
    for (size_t i = 0; i < r->nranks; i++)
        if (!r->ranks[i].cores)
            hosts[r->ranks[i].host].cores = UINT32_MAX;
    for (size_t i = 0; i < r->nhosts; i++) {
        uint32_t here = r->hosts[i].ready ? r->hosts[i].cores : 0;
        if (hosts[i].cores > here) /* unbound, or bound to shared cores */
            hosts[i].cores = here;
    }
}

/* The sum over the hosts that had ranks. */
static void add_hosts(struct report_sums *s, size_t nhosts)
{
    struct report_host_sum *sum = &s->ranks;
    size_t with_ranks = 0;
    int complete = 1, cores_known = 1, exact = 1;
    for (size_t i = 0; i < nhosts; i++) {
        const struct report_host_sum *h = &s->hosts[i];
        if (!h->nranks)
            continue;
        usage_add(&sum->usage, &h->usage);
        sum->nranks += h->nranks;
        sum->cores += h->cores;
        with_ranks++;
        complete &= h->usage.known != 0;
        cores_known &= h->cores > 0;
        exact &= h->memory_exact;
    }
    if (!complete)
        sum->usage = (struct usage){0};
    if (!cores_known)
        sum->cores = 0;
    sum->memory_exact = exact && with_ranks == 1; /* peaks of several need not coincide */
}

/* mprun and what it started to run the ranks. */
static void add_mprun(const struct report *r, struct report_sums *s)
{
    int complete = r->launcher.known != 0;
    usage_add(&s->mprun, &r->launcher);
    for (size_t i = 0; i < r->nhosts; i++) {
        usage_add(&s->mprun, &r->hosts[i].starter);
        complete &= !r->hosts[i].ready || r->hosts[i].starter.known != 0;
    }
    if (!complete)
        s->mprun = (struct usage){0};
    if (s->mprun.known && s->ranks.usage.known) {
        usage_add(&s->step, &s->ranks.usage);
        usage_add(&s->step, &s->mprun);
    }
}

void report_sums_create(const struct report *r, struct report_sums *ret)
{
    struct report_sums s = {.hosts = must(calloc(r->nhosts + 1, sizeof(*s.hosts)))};
    add_ranks(r, s.hosts);
    forget_incomplete(r, s.hosts);
    mark_unbound(r, s.hosts);
    for (size_t i = 0; i < r->nhosts; i++) {
        span_wall(&s.hosts[i]);
        add_others(&s.hosts[i].usage, &r->hosts[i].others);
        override(&s.hosts[i], &r->hosts[i].total);
    }
    add_hosts(&s, r->nhosts);
    add_mprun(r, &s);
    *ret = s;
}

double report_efficiency(const struct usage *u, double cores)
{
    double cpu = usage_cpu_seconds(u);
    if (cpu < 0 || cores <= 0 || !usage_has(u, USAGE_WALL) || u->value[USAGE_WALL] == 0)
        return -1;
    return cpu / ((double)u->value[USAGE_WALL] / 1e6 * cores);
}

double report_rank_cores(const struct report *r, const struct report_sums *s, size_t rank)
{
    const struct report_rank *k = &r->ranks[rank];
    const struct report_host *h = &r->hosts[k->host];
    if (k->cores)
        return k->cores;
    if (!h->ready || !s->hosts[k->host].nranks)
        return 0;
    return (double)h->cores / s->hosts[k->host].at_once;
}

static const struct {
    const char *key;  /* for programs */
    const char *text; /* for people */
} causes[] = {
    [END_LIMIT] = {"limit", "over limit"},
    [END_SIGNAL] = {"signal", "signal"},
    [END_ABORT] = {"abort", "abort"},
    [END_NOT_STARTED] = {"not_started", "not started"},
    [END_CODE] = {"exit_code", "code"},
    [END_NO_FINALIZE] = {"no_finalize", "no finalize"},
    [END_NO_INIT] = {"no_init", "no init"},
    [END_OK] = {"ok", "ok"},
    [END_KILLED] = {"ended_by_mprun", "ended by mprun"},
};

const char *report_cause_key(enum end_cause cause)
{
    return causes[cause].key;
}

const char *report_end_text(const struct rank_end *e, char *buf, size_t n)
{
    const char *text = causes[e->cause].text;
    if (e->cause == END_SIGNAL)
        snprintf(buf, n, "%s %d (%s)", text, e->code, signal_name(e->code));
    else if (e->cause == END_CODE || e->cause == END_ABORT)
        snprintf(buf, n, "%s %d", text, e->code);
    else
        snprintf(buf, n, "%s", text);
    return buf;
}
