/* SPDX-License-Identifier: BSD-3-Clause */
/* host-table.c - the hosts of a step, and how many are in which state: that is asked for with every
 * message */
#include "launcher/hosts/host-table.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/text/host-name-list.h"
#include "common/must.h"
#include "launcher/step/step-record.h"
#include "launcher/worlds/worlds.h"
#include "wire/link/heartbeat.h"
#include "wire/link/link.h"

static void add(struct host_table *t, uint32_t index, uint32_t *nused)
{
    const struct step_plan *p = t->plan;
    struct host *h = &t->all[index];
    bool used = *nused < p->nused && p->used.hosts[*nused].name == p->alloc.hosts[index].name;
    *h = (struct host){
        .table = t,
        .name = p->alloc.hosts[index].name,
        .index = index,
        .ranks = &p->placement.hosts[index],
        .state = used ? AGENT_WAITING : AGENT_UNUSED,
        .launch_index = *nused,
    };
    t->counts[h->state]++;
    if (used)
        t->used[(*nused)++] = h;
}

struct host_table *host_table_create(const struct step_plan *plan, struct step_record *record,
                                     const struct worlds *worlds)
{
    struct host_table *t = must(calloc(1, sizeof(*t)));
    uint32_t nused = 0;
    t->plan = plan;
    t->record = record;
    t->worlds = worlds;
    t->all = must(calloc(plan->nhosts + 1, sizeof(*t->all)));
    t->used = must(calloc(plan->nhosts + 1, sizeof(*t->used)));
    for (uint32_t i = 0; i < plan->nhosts; i++)
        add(t, i, &nused);
    return t;
}

void host_table_close_links(struct host_table *t)
{
    for (size_t i = 0; i < t->plan->nhosts; i++) {
        struct host *h = &t->all[i];
        link_destroy(take_ptr(h->link));
        link_destroy(take_ptr(h->first));
        link_destroy(take_ptr(h->side));
    }
}

void host_table_destroy(struct host_table *t)
{
    if (!t)
        return;
    heartbeat_destroy(t->heartbeat);
    loop_timer_stop(&t->silence);
    if (t->all)
        host_table_close_links(t);
    for (size_t i = 0; t->all && i < t->plan->nhosts; i++)
        free(t->all[i].door);
    free(t->all);
    free(t->used);
    free(t);
}

/* ---- states ---------------------------------------------------------------------------------- */

static void note_phase(struct host *h)
{
    static const struct {
        enum agent_state state;
        enum launch_phase phase;
    } phases[] = {{AGENT_STARTED, LAUNCH_BEGUN},
                  {AGENT_CONNECTED, LAUNCH_REPORTED},
                  {AGENT_PLACED, LAUNCH_PLACED},
                  {AGENT_READY, LAUNCH_READY}};
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
        if (phases[i].state == h->state)
            step_record_reached(h->table->record, h->launch_index, phases[i].phase);
}

void host_enter(struct host *h, enum agent_state state)
{
    struct host_table *t = h->table;
    t->counts[h->state]--;
    t->counts[state]++;
    h->state = state;
    note_phase(h);
    if (state == AGENT_STARTED)
        step_record_note_starts(t->record, t->counts[AGENT_STARTED]);
}

size_t hosts_before(const struct host_table *t, enum agent_state state)
{
    size_t n = 0;
    for (int s = AGENT_WAITING; s < (int)state; s++)
        n += t->counts[s];
    return n;
}

size_t hosts_with_links(const struct host_table *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->plan->nused; i++)
        n += t->used[i]->link != NULL;
    return n;
}

void host_close_link(struct host *h)
{
    link_destroy(take_ptr(h->link));
}

void host_mark_failed(struct host *h)
{
    h->failed = true;
}

void host_mark_cancelled(struct host *h)
{
    h->cancelled = true;
}

void host_mark_lost(struct host *h)
{
    h->lost = true;
}

void host_forget_start(struct host *h)
{
    host_close_link(h);
    h->failed = h->lost = false;
    host_enter(h, AGENT_WAITING);
}

/* ---- finding and naming hosts ---------------------------------------------------------------- */

struct host *host_of_rank(const struct host_table *t, struct rank_name name)
{
    int64_t host = worlds_host_of(t->worlds, name);
    return host < 0 ? NULL : t->used[host];
}

bool host_may_have_rank(const struct host *h, struct rank_name name)
{
    const struct worlds *w = h->table->worlds;
    if (!worlds_find(w, name.world))
        return name.world && name.world <= w->last_number;
    return worlds_host_of(w, name) == h->launch_index && h->state != AGENT_UNUSED;
}

struct host *host_at(const struct host_table *t, uint32_t launch_index)
{
    return launch_index < t->plan->nused ? t->used[launch_index] : NULL;
}

size_t hosts_list(const struct host_table *t, host_question which, const void *arg, char *buf,
                  size_t size)
{
    size_t n = 0;
    AUTO_FREE const char **names = must(calloc(t->plan->nused + 1, sizeof(*names)));
    for (size_t i = 0; i < t->plan->nused; i++)
        if (which(arg, t->used[i]))
            names[n++] = t->used[i]->name;
    buf[0] = 0;
    name_run_list(names, n, buf, size);
    return n;
}
