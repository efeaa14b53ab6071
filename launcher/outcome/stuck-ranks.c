/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/outcome/stuck-ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "launcher/report/stack-report.h"
#include "launcher/step/step-record.h"
#include "launcher/tunables.h"
#include "wire/messages/values.h"

struct stuck_rank {
    bool is_idle, is_said;
    char text[160]; /* where its last process is */
};

/* ---- what is said ---------------------------------------------------------------------------- */

static bool is_due(const struct stuck_rank *r)
{
    return r->is_idle && !r->is_said;
}

/* "rank 3 on n1 (pid 17)", or ranks on several hosts. */
static char *describe(const struct stuck_ranks *s, const struct rank_set *ranks)
{
    const struct step_record *record = s->hosts->record;
    const struct report_rank *r = step_record_rank(record, rank_set_at(ranks, 0));
    AUTO_FREE char *names = rank_set_format(ranks);
    if (rank_set_count(ranks) > 1)
        return take_ptr(names);
    return text_format("%s on %s (pid %d)", names, record->hosts[r->host].name, (int)r->pid);
}

/* The rank, and those behind it that are in the same place. */
static void say_group(const struct stuck_ranks *s, uint32_t first, uint32_t active)
{
    AUTO(rank_set_free) struct rank_set same = {0};
    char time[32], others[80] = ", and no rank computes";
    for (uint32_t i = first; i < s->hosts->plan->step.nranks; i++)
        if (is_due(&s->of[i]) && strcmp(s->of[i].text, s->of[first].text) == 0) {
            s->of[i].is_said = true;
            rank_set_add(&same, (struct rank_name){.rank = i});
        }
    AUTO_FREE char *who = describe(s, &same);
    duration_format(s->hosts->plan->step.stuck_time, time, sizeof(time));
    if (active)
        snprintf(others, sizeof(others), ", while %u other rank%s compute%s", active,
                 plural(active), active == 1 ? "s" : "");
    log_warn("--stuck: %s used no CPU and did no I/O for %s%s: %s", who ? who : "a rank", time,
             others, s->of[first].text);
}

static void say(void *arg)
{
    struct stuck_ranks *s = arg;
    uint32_t active = 0;
    bool is_any = false;
    for (size_t i = 0; i < s->hosts->plan->nused; i++)
        active += s->active[i];
    for (uint32_t i = 0; i < s->hosts->plan->step.nranks; i++)
        if (is_due(&s->of[i])) {
            say_group(s, i, active);
            is_any = true;
        }
    if (is_any)
        stack_report_ask(s->stacks, !s->hosts->plan->cmd->debug.stack_traces);
}

/* ---- what hosts tell ------------------------------------------------------------------------- */

void stuck_ranks_told(struct stuck_ranks *s, const struct host *h, const Mprun__Idle *m)
{
    bool is_any = false;
    uint32_t n = rank_set_count(h->ranks);
    s->active[h->launch_index] = m->active < n ? m->active : n;
    for (uint32_t i = 0; i < n; i++)
        s->of[rank_set_at(h->ranks, i).rank].is_idle = false;
    for (size_t i = 0; i < m->n_ranks; i++) {
        struct rank_name name = rank_name_unpack(m->ranks[i]->name);
        if (!rank_set_has(h->ranks, name))
            continue;
        struct stuck_rank *r = &s->of[name.rank];
        r->is_idle = true;
        snprintf(r->text, sizeof(r->text), "%s", m->ranks[i]->text);
        text_make_printable(r->text, strlen(r->text));
        is_any |= is_due(r);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct stuck_rank *r = &s->of[rank_set_at(h->ranks, i).rank];
        r->is_said &= r->is_idle;
    }
    if (is_any && !loop_timer_is_active(&s->timer))
        loop_timer_start(&s->timer, STUCK_GATHER_SECONDS, 0);
}

/* ---- life ------------------------------------------------------------------------------------ */

void stuck_ranks_init(struct stuck_ranks *s, struct loop *loop, const struct host_table *hosts,
                      struct stack_report *stacks)
{
    *s = (struct stuck_ranks){.hosts = hosts, .stacks = stacks};
    s->active = must(calloc(hosts->plan->nused + 1, sizeof(*s->active)));
    s->of = must(calloc(hosts->plan->step.nranks + 1u, sizeof(*s->of)));
    for (size_t i = 0; i < hosts->plan->nused; i++)
        s->active[i] = rank_set_count(hosts->used[i]->ranks);
    loop_timer_init(&s->timer, loop, say, s);
}

void stuck_ranks_free(struct stuck_ranks *s)
{
    loop_timer_stop(&s->timer);
    free(s->active);
    free(s->of);
}
