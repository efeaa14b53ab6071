/* SPDX-License-Identifier: BSD-3-Clause */
/* step-record.c - what hosts and ranks have said of themselves */
#include "launcher/step/step-record.h"

#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "common/text/words.h"
#include "launcher/worlds/worlds.h"
#include "wire/tree/tree.h"

struct rank_facts {
    struct rank_end end; /* valid where `ended` */
    char *end_text;
    char *bound_text; /* of --explain and --dry-run: its cores in words; NULL: not known */
    bool started, ended;
};

/* ---- worlds ---------------------------------------------------------------------------------- */

static void free_row(struct report_rank *row, struct rank_facts *facts)
{
    free((char *)(uintptr_t)row->bound_threads);
    free(facts->end_text);
    free(facts->bound_text);
}

static void free_formers(struct world_record *w)
{
    while (w->formers) {
        struct former_rank *f = w->formers;
        w->formers = f->next;
        free_row(&f->row, f->facts);
        free(f->facts);
        free(f);
    }
}

static void free_world(struct world_record *w)
{
    for (uint32_t i = 0; w->ranks && w->endings && i < w->nranks; i++)
        free_row(&w->ranks[i], &w->endings[i]);
    free_formers(w);
    free(w->ranks);
    free(w->endings);
    free(w);
}

void step_record_add_world(struct step_record *r, const struct world *world)
{
    struct world_record **at = &r->worlds, *w = must(calloc(1, sizeof(*w)));
    *w = (struct world_record){.number = world->number,
                               .nranks = world->nranks,
                               .ranks = must(calloc(world->nranks, sizeof(*w->ranks))),
                               .endings = must(calloc(world->nranks, sizeof(*w->endings)))};
    for (uint32_t i = 0; i < world->nranks; i++) {
        struct rank_name name = {.world = world->number, .rank = i};
        uint32_t host = (uint32_t)rank_map_host(&world->map, name);
        w->ranks[i] =
            (struct report_rank){.name = name, .host = host, .limits = r->facts[host].rank_limits};
    }
    while (*at)
        at = &(*at)->next;
    *at = w;
    r->nranks += w->nranks;
}

/* Rows of ranks that have ended: does a report need them? */
static bool are_rows_wanted(const struct step_record *r)
{
    const struct cmdline *cmd = r->plan->cmd;
    return cmd->report.usage || cmd->report.json || cmd->report.launch || cmd->report.containment;
}

void step_record_world_ended(struct step_record *r, uint32_t world)
{
    if (are_rows_wanted(r))
        return;
    for (struct world_record **at = &r->worlds; *at; at = &(*at)->next)
        if ((*at)->number == world) {
            struct world_record *w = *at;
            *at = w->next;
            free_world(w);
            return;
        }
}

/* NULL: its world's rows are not kept, or there is no such rank. */
static struct world_record *world_of(const struct step_record *r, struct rank_name name)
{
    struct world_record *w = r->worlds;
    while (w && w->number != name.world)
        w = w->next;
    return w && name.rank < w->nranks ? w : NULL;
}

/* NULL: its row is not kept, or there is no such rank. */
static struct report_rank *find(const struct step_record *r, struct rank_name name,
                                struct rank_facts **ret_facts)
{
    struct world_record *w = world_of(r, name);
    struct former_rank *f = w ? w->formers : NULL;
    if (w && w->ranks[name.rank].name.incarnation == name.incarnation) {
        if (ret_facts)
            *ret_facts = &w->endings[name.rank];
        return &w->ranks[name.rank];
    }
    while (f && !rank_name_equal(f->row.name, name))
        f = f->next;
    if (f && ret_facts)
        *ret_facts = f->facts;
    return f ? &f->row : NULL;
}

const struct report_rank *step_record_rank(const struct step_record *r, struct rank_name name)
{
    const struct world_record *w = world_of(r, name);
    return w ? &w->ranks[name.rank] : NULL;
}

void step_record_init(struct step_record *r, const struct step_plan *plan)
{
    *r = (struct step_record){.plan = plan};
    r->facts = must(calloc(plan->nused + 1, sizeof(*r->facts)));
    r->hosts = must(calloc(plan->nused + 1, sizeof(*r->hosts)));
    r->launch.fanout = plan->fanout;
    r->launch.depth = plan->fanout ? tree_depth(plan->fanout, (uint32_t)plan->nused) : 1;
    for (uint32_t i = 0; i < plan->nused; i++)
        r->hosts[i].name = plan->used.hosts[i].name;
}

void step_record_free(struct step_record *r)
{
    for (size_t i = 0; r->facts && i < r->plan->nused; i++) {
        struct host_facts *f = &r->facts[i];
        free(f->kernel_name);
        free(f->version);
        free(f->allowed_threads);
        free(f->bind_reason);
        words_free(f->cgroup_paths);
        words_free(f->directories);
    }
    for (size_t i = 0; r->hosts && i < r->plan->nused; i++) {
        free((char *)(uintptr_t)r->hosts[i].tracking_reason);
        free((char *)(uintptr_t)r->hosts[i].cgroup_kind);
        free((char *)(uintptr_t)r->hosts[i].threads);
        free((char *)(uintptr_t)r->hosts[i].memory_nodes);
        free((char *)(uintptr_t)r->hosts[i].gpus);
        free((char *)(uintptr_t)r->hosts[i].gpus_why);
    }
    while (r->worlds) {
        struct world_record *next = r->worlds->next;
        free_world(r->worlds);
        r->worlds = next;
    }
    free(r->facts);
    free(r->hosts);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

void step_record_reached(struct step_record *r, uint32_t host, enum launch_phase phase)
{
    float *reached = &r->hosts[host].reached[phase];
    if (*reached == 0)
        *reached = (float)step_plan_seconds(r->plan);
}

static void set_text(const char **to, const char *text)
{
    free((char *)(uintptr_t)*to);
    *to = must(strdup(text));
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
    f->version = must(strdup(m->version));
    f->allowed_threads = must(strdup(m->allowed_threads));
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
    f->cgroup_paths = strings_unpack(m->cgroup_paths, m->n_cgroup_paths);
    f->directories = strings_unpack(m->directories, m->n_directories);
    f->bind_reason = must(strdup(m->bind_reason));
    h->ready = 1;
    if (!r->plan->cmd->explain || m->tracking_reason[0]) /* HELLO has said more than nothing */
        set_tracking(h, m->tracking, m->tracking_reason);
    if (!r->plan->cmd->explain) /* what was granted is said elsewhere there */
        h->cores = m->cores;
    set_text(&h->cgroup_kind, m->cgroup_kind);
    set_text(&h->threads, m->threads);
    if (m->memory_nodes[0])
        set_text(&h->memory_nodes, m->memory_nodes);
    if (m->gpus[0])
        set_text(&h->gpus, m->gpus);
    h->gpus_held =
        m->gpus_held < DEVICES_OF_RANK ? (enum devices_held)m->gpus_held : DEVICES_OF_RANK;
    if (m->gpus_why[0])
        set_text(&h->gpus_why, m->gpus_why);
    limits_unpack(m->host_limits, &h->limits);
    limits_unpack(m->rank_limits, &f->rank_limits);
    for (uint32_t i = 0; i < rank_set_count(ranks); i++)
        find(r, rank_set_at(ranks, i), NULL)->limits = f->rank_limits;
}

static void take_rank_report(struct report_rank *rank, const Mprun__Report__Rank *m)
{
    usage_unpack(m->usage, &rank->usage);
    rank->cores = m->cores;
    set_text(&rank->bound_threads, m->bound_threads);
    if (m->limits)
        limits_unpack(m->limits, &rank->limits);
}

void step_record_rank_reports(struct step_record *r, uint32_t host, const Mprun__Report *m)
{
    for (size_t i = 0; i < m->n_ranks; i++) {
        struct report_rank *rank = find(r, rank_name_unpack(m->ranks[i]->name), NULL);
        if (rank && rank->host == host)
            take_rank_report(rank, m->ranks[i]);
    }
}

void step_record_report(struct step_record *r, uint32_t host, const Mprun__Report *m)
{
    struct report_host *h = &r->hosts[host];
    step_record_rank_reports(r, host, m);
    usage_unpack(m->starter, &h->starter);
    usage_unpack(m->others, &h->others);
    usage_unpack(m->step, &h->total);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

bool step_record_started(struct step_record *r, struct rank_name name,
                         const Mprun__Started__Rank *m)
{
    struct rank_facts *f;
    struct report_rank *rank = find(r, name, &f);
    if (!rank || f->started)
        return false;
    f->started = true;
    rank->pid = (pid_t)m->pid;
    rank->start_ns = m->time_ns;
    if (r->plan->cmd->explain)
        f->bound_text = must(strdup(m->bound_text));
    r->counts.started++;
    r->counts.known += !f->ended;
    if (name.world == 0 &&
        ++r->facts[rank->host].started == rank_set_count(&r->plan->placements[rank->host].ranks))
        step_record_reached(r, rank->host, LAUNCH_RUNNING);
    return true;
}

bool step_record_ended(struct step_record *r, const struct rank_end *end, const Mprun__Usage *usage,
                       const char *text)
{
    struct rank_facts *f;
    struct report_rank *rank = find(r, end->name, &f);
    if (!rank || f->ended)
        return false;
    f->ended = true;
    f->end = *end;
    f->end_text = *text ? must(strdup(text)) : NULL;
    rank->end = &f->end;
    usage_unpack(usage, &rank->usage);
    r->counts.ended++;
    r->counts.known += !f->started;
    r->facts[rank->host].ended += end->name.world == 0;
    return true;
}

/* Keeps the row, whose end points to its facts. */
static void keep(struct step_record *r, struct world_record *w, uint32_t rank)
{
    if (!are_rows_wanted(r)) {
        free_row(&w->ranks[rank], &w->endings[rank]);
        return;
    }
    struct former_rank *f = must(calloc(1, sizeof(*f)));
    f->facts = must(malloc(sizeof(*f->facts)));
    *f->facts = w->endings[rank];
    f->row = w->ranks[rank];
    f->row.end = &f->facts->end;
    f->next = w->formers;
    w->formers = f;
    r->nformers++;
}

struct rank_name step_record_restart(struct step_record *r, struct rank_name name)
{
    struct world_record *w = world_of(r, name);
    struct rank_name next = {name.world, name.rank, name.incarnation + 1};
    if (!w)
        return next;
    struct report_rank *row = &w->ranks[name.rank];
    uint32_t host = row->host;
    bool had_started = w->endings[name.rank].started;
    keep(r, w, name.rank);
    *row = (struct report_rank){.name = next, .host = host, .limits = r->facts[host].rank_limits};
    w->endings[name.rank] = (struct rank_facts){0};
    r->counts.started -= had_started;
    r->counts.ended--;
    r->counts.known--;
    if (name.world == 0) {
        r->facts[host].started -= had_started;
        r->facts[host].ended--;
    }
    return next;
}

const char *step_record_end_text(const struct step_record *r, struct rank_name name)
{
    struct rank_facts *f;
    return find(r, name, &f) ? f->end_text : NULL;
}

const char *step_record_bound_text(const struct step_record *r, struct rank_name name)
{
    struct rank_facts *f;
    return find(r, name, &f) ? f->bound_text : NULL;
}

void step_record_change_cause(struct step_record *r, struct rank_name name, enum end_cause cause)
{
    struct rank_facts *f;
    if (find(r, name, &f))
        f->end.cause = cause;
}

/* ---- --dry-run ------------------------------------------------------------------------------- */

void step_record_foreseen(struct step_record *r, uint32_t host, const char *bind_reason)
{
    free(r->facts[host].bind_reason);
    r->facts[host].bind_reason = must(strdup(bind_reason));
}

void step_record_foreseen_rank(struct step_record *r, struct rank_name name, const char *threads,
                               const char *text)
{
    struct rank_facts *f;
    struct report_rank *rank = find(r, name, &f);
    if (!rank || !threads || !text)
        return;
    set_text(&rank->bound_threads, threads);
    free(f->bound_text);
    f->bound_text = must(strdup(text));
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
