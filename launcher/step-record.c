/* SPDX-License-Identifier: BSD-3-Clause */
/* step-record.c - what hosts and ranks have said of themselves */
#include "launcher/step-record.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/words.h"
#include "wire/tree/tree.h"

struct rank_facts {
    struct rank_end end; /* valid where `ended` */
    char *end_text;
    bool started, ended;
};

int step_record_init(struct step_record *r, const struct step_plan *plan)
{
    *r = (struct step_record){.plan = plan};
    r->facts = calloc(plan->nused + 1, sizeof(*r->facts));
    r->hosts = calloc(plan->nused + 1, sizeof(*r->hosts));
    r->ranks = calloc(plan->step.nranks + 1, sizeof(*r->ranks));
    r->endings = calloc(plan->step.nranks + 1, sizeof(*r->endings));
    if (!r->facts || !r->hosts || !r->ranks || !r->endings)
        return -1;
    r->launch.fanout = plan->fanout;
    r->launch.depth = plan->fanout ? tree_depth(plan->fanout, (uint32_t)plan->nused) : 1;
    for (uint32_t i = 0; i < plan->nused; i++) {
        const struct rank_set *ranks = &plan->placements[i].ranks;
        r->hosts[i].name = plan->used.hosts[i].name;
        for (uint32_t k = 0; k < rank_set_count(ranks); k++) {
            struct rank_name name = rank_set_at(ranks, k);
            r->ranks[name.rank] = (struct report_rank){.name = name, .host = i};
        }
    }
    return 0;
}

void step_record_free(struct step_record *r)
{
    for (size_t i = 0; r->facts && i < r->plan->nused; i++) {
        struct host_facts *f = &r->facts[i];
        free(f->kernel_name);
        free(f->version);
        free(f->allowed_threads);
        words_free(f->cgroup_paths);
        words_free(f->directories);
    }
    for (size_t i = 0; r->hosts && i < r->plan->nused; i++) {
        free((char *)(uintptr_t)r->hosts[i].tracking_reason);
        free((char *)(uintptr_t)r->hosts[i].cgroup_kind);
    }
    for (uint32_t i = 0; r->ranks && r->endings && i < r->plan->step.nranks; i++) {
        free((char *)(uintptr_t)r->ranks[i].bound_threads);
        free(r->endings[i].end_text);
    }
    free(r->facts);
    free(r->hosts);
    free(r->ranks);
    free(r->endings);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

void step_record_reached(struct step_record *r, uint32_t host, enum launch_phase phase)
{
    float *reached = &r->hosts[host].reached[phase];
    if (*reached == 0)
        *reached = (float)step_plan_seconds(r->plan);
}

static char **strings_of(const ProtobufCBinaryData *b, size_t n)
{
    char **s = calloc(n + 1, sizeof(*s));
    for (size_t i = 0, k = 0; s && i < n; i++)
        if ((s[k] = bytes_dup(&b[i])))
            k++;
    return s;
}

static void set_text(const char **to, const char *text)
{
    free((char *)(uintptr_t)*to);
    *to = strdup(text);
}

static void set_tracking(struct report_host *h, uint32_t tracking, const char *reason)
{
    h->tracking = tracking <= TRACK_TREE ? (enum tracking)tracking : TRACK_TREE;
    set_text(&h->tracking_reason, reason);
}

void step_record_hello(struct step_record *r, uint32_t host, const Mprun__Hello *m)
{
    struct host_facts *f = &r->facts[host];
    f->kernel_name = bytes_dup(&m->hostname);
    f->version = strdup(m->version);
    f->allowed_threads = strdup(m->allowed_threads);
    f->memory = m->memory;
    f->worker = (pid_t)m->worker_pid;
    r->hosts[host].cores = m->allowed_cores;
    set_tracking(&r->hosts[host], m->tracking, m->tracking_reason);
}

void step_record_ready(struct step_record *r, uint32_t host, const Mprun__Ready *m)
{
    struct host_facts *f = &r->facts[host];
    struct report_host *h = &r->hosts[host];
    const struct rank_set *ranks = &r->plan->placements[host].ranks;
    struct limits rank_limits;
    f->cgroup_paths = strings_of(m->cgroup_paths, m->n_cgroup_paths);
    f->directories = strings_of(m->directories, m->n_directories);
    h->ready = 1;
    set_tracking(h, m->tracking, m->tracking_reason);
    set_text(&h->cgroup_kind, m->cgroup_kind);
    h->cores = m->cores;
    limits_unpack(m->host_limits, &h->limits);
    limits_unpack(m->rank_limits, &rank_limits);
    for (uint32_t i = 0; i < rank_set_count(ranks); i++)
        r->ranks[rank_set_at(ranks, i).rank].limits = rank_limits;
}

static void take_rank_report(struct report_rank *rank, const Mprun__Report__Rank *m)
{
    usage_unpack(m->usage, &rank->usage);
    rank->cores = m->cores;
    set_text(&rank->bound_threads, m->bound_threads);
    if (m->limits)
        limits_unpack(m->limits, &rank->limits);
}

void step_record_report(struct step_record *r, uint32_t host, const Mprun__Report *m)
{
    struct report_host *h = &r->hosts[host];
    for (size_t i = 0; i < m->n_ranks; i++) {
        struct rank_name name = rank_name_unpack(m->ranks[i]->name);
        if (rank_set_has(&r->plan->placements[host].ranks, name))
            take_rank_report(&r->ranks[name.rank], m->ranks[i]);
    }
    usage_unpack(m->starter, &h->starter);
    usage_unpack(m->others, &h->others);
    usage_unpack(m->step, &h->total);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

bool step_record_started(struct step_record *r, struct rank_name name, pid_t pid, uint64_t start_ns)
{
    struct rank_facts *f = &r->endings[name.rank];
    struct report_rank *rank = &r->ranks[name.rank];
    if (f->started)
        return false;
    f->started = true;
    rank->pid = pid;
    rank->start_ns = start_ns;
    r->counts.started++;
    r->counts.known += !f->ended;
    if (++r->facts[rank->host].started == rank_set_count(&r->plan->placements[rank->host].ranks))
        step_record_reached(r, rank->host, LAUNCH_RUNNING);
    return true;
}

bool step_record_ended(struct step_record *r, const struct rank_end *end, const Mprun__Usage *usage,
                       const char *text)
{
    struct rank_facts *f = &r->endings[end->name.rank];
    struct report_rank *rank = &r->ranks[end->name.rank];
    if (f->ended)
        return false;
    f->ended = true;
    f->end = *end;
    f->end_text = *text ? strdup(text) : NULL;
    rank->end = &f->end;
    usage_unpack(usage, &rank->usage);
    r->counts.ended++;
    r->counts.known += !f->started;
    r->facts[rank->host].ended++;
    return true;
}

const char *step_record_end_text(const struct step_record *r, struct rank_name name)
{
    return r->endings[name.rank].end_text;
}

void step_record_change_cause(struct step_record *r, struct rank_name name, enum end_cause cause)
{
    r->endings[name.rank].end.cause = cause;
}

/* ---- the start of the step ------------------------------------------------------------------- */

void step_record_note_starts(struct step_record *r, size_t under_way)
{
    if (under_way > r->launch.starts_at_once)
        r->launch.starts_at_once = under_way;
}

void step_record_all_running(struct step_record *r, size_t links)
{
    r->launch.running = step_plan_seconds(r->plan);
    r->launch.messages = r->nmessages;
    r->launch.cpu = (double)clock() / CLOCKS_PER_SEC;
    r->launch.links = links;
}
