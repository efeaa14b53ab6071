/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/outcome/step-limits.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/must.h"
#include "launcher/hosts/host-links.h"
#include "launcher/outcome/verdict.h"
#include "launcher/tunables.h"
#include "model/rank-end.h"
#include "wire/messages/values.h"

struct host_amounts {
    uint32_t turn; /* of the answer; 0: there was none */
    uint32_t told; /* bits 1 << kind: limits of the host that --on-limit warn has told of */
    uint64_t value[LIMIT_KIND_COUNT];
};

/* Somebody has more than a limit. */
struct excess {
    enum limit_kind kind;
    enum limit_level level;
    uint64_t value;
    const struct limit *limit;
    const struct host *host; /* of `rank`; NULL: that is not known */
    struct rank_name rank;   /* the rank; of hosts and steps the one that grew last, */
    uint64_t growth;         /* by so much; 0: none has */
};

static const struct cmdline *cmd_of(const struct step_limits *l)
{
    return l->hosts->plan->cmd;
}

static const struct limit *limit_of(const struct step_limits *l, int k)
{
    return &cmd_of(l)->step_limits.of[k];
}

/* ---- questions ------------------------------------------------------------------------------- */

/* The part of the limit that is left, of the limit of which the least is. */
static double headroom(const struct step_limits *l)
{
    double least = 1;
    for (int k = 0; k < LIMIT_KIND_COUNT; k++) {
        const struct limit *limit = limit_of(l, k);
        uint64_t now = l->of[k].sum;
        if (k == LIMIT_WALL_TIME && now)
            now += (uint64_t)((loop_now() - l->answered) * 1e6);
        double left = limit->set ? sample_left((enum limit_kind)k, limit, now, 0) : 1;
        least = left < least ? left : least;
    }
    return least;
}

/* A host that does not answer holds up the next question for a while: the others are watched. */
static void ask(void *arg)
{
    struct step_limits *l = arg;
    Mprun__PresentAsk m = MPRUN__PRESENT_ASK__INIT;
    if (verdict_is_ending(l->verdict))
        return;
    if (l->awaited == 0 || loop_now() - l->asked >= SAMPLE_SECONDS_MAX) {
        l->awaited = l->hosts->plan->nused;
        l->asked = loop_now();
        m.turn = ++l->turn;
        for (int k = 0; k < LIMIT_KIND_COUNT; k++)
            m.amounts |= limit_of(l, k)->set ? 1u << k : 0;
        hosts_broadcast(l->hosts, FRAME_PRESENT_ASK, &m.base);
    }
    loop_timer_start(&l->timer, sample_pace_next(&l->pace, headroom(l)), 0);
}

void step_limits_begin(struct step_limits *l)
{
    if (limits_is_any_set(&cmd_of(l)->step_limits))
        loop_timer_start(&l->timer, sample_pace_next(&l->pace, 1), 0);
}

/* ---- what is said and done ------------------------------------------------------------------- */

/* ": rank 4 on n2 grew last, by 10 MiB" */
static void grower_text(const struct excess *e, char *buf, size_t n)
{
    char name[RANK_NAME_TEXT], by[32];
    buf[0] = 0;
    if (!e->growth || e->level == LIMIT_OF_RANK)
        return;
    limit_format(e->kind, e->growth, by, sizeof(by));
    snprintf(buf, n, ": rank %s on %s grew last, by %s", rank_name_format(e->rank, name),
             e->host->name, by);
}

/* "rank 4 on n2", "host n2", "the step" */
static void subject_text(const struct excess *e, char *buf, size_t n)
{
    char name[RANK_NAME_TEXT];
    if (e->level == LIMIT_OF_RANK)
        snprintf(buf, n, "rank %s on %s", rank_name_format(e->rank, name), e->host->name);
    else if (e->level == LIMIT_OF_HOST)
        snprintf(buf, n, "host %s", e->host->name);
    else
        snprintf(buf, n, "the step");
}

/* "the step exceeded its limit of memory: 45 MiB of 30 MiB (--limit mem): rank 4 on n2 ..." */
static void describe(const struct excess *e, const char *how, char *buf, size_t n)
{
    char used[32], limit[32], subject[120], grower[160];
    const struct limit_words *w = limit_words(e->kind);
    limit_format(e->kind, e->value, used, sizeof(used));
    limit_format(e->kind, e->limit->value, limit, sizeof(limit));
    subject_text(e, subject, sizeof(subject));
    grower_text(e, grower, sizeof(grower));
    snprintf(buf, n, "%s %s its limit of %s: %s of %s (--limit %s%s%s)%s", subject, how, w->name,
             used, limit, e->level == LIMIT_OF_STEP ? "" : limit_level_text(e->level),
             e->level == LIMIT_OF_STEP ? "" : ":", w->word, grower);
}

static void kill_rank(const struct excess *e, const char *text)
{
    Mprun__KillRank m = MPRUN__KILL_RANK__INIT;
    Mprun__RankName name;
    rank_name_pack(e->rank, &name);
    m.name = &name;
    m.text = (char *)(uintptr_t)text;
    host_send((struct host *)(uintptr_t)e->host, FRAME_KILL_RANK, &m.base);
}

void step_limits_say_killed(const struct step_plan *plan)
{
    log_error(">> Job %s exceeded resource allocation -- killed",
              plan->alloc.job_id[0] ? plan->alloc.job_id : plan->step.id);
}

static void kill_step(struct step_limits *l, const char *text)
{
    if (!verdict_is_ending(l->verdict))
        step_limits_say_killed(l->hosts->plan);
    verdict_fail(l->verdict, EXIT_CODE_SIGNAL + 9, "%s; all ranks are ended", text);
}

/* has_told: by --on-limit warn, which tells once. */
static void exceeded(struct step_limits *l, const struct excess *e, bool has_told)
{
    char text[400];
    bool has_culprit = e->host && (e->level == LIMIT_OF_RANK || e->growth);
    describe(e, "exceeded", text, sizeof(text));
    switch (cmd_of(l)->on_limit) {
    case ON_LIMIT_KILL_STEP:
        kill_step(l, text);
        break;
    case ON_LIMIT_KILL_RANK:
        if (has_culprit)
            kill_rank(e, text);
        else if (limit_words(e->kind)->is_longest) /* no rank alone is to blame */
            kill_step(l, text);
        break;
    case ON_LIMIT_WARN:
        if (!has_told)
            log_warn("%s", text);
    }
}

static struct excess step_excess(const struct step_limits *l, int k)
{
    const struct limit_state *s = &l->of[k];
    return (struct excess){.kind = (enum limit_kind)k,
                           .level = LIMIT_OF_STEP,
                           .value = s->sum,
                           .limit = limit_of(l, k),
                           .host = l->hosts->used[s->host],
                           .rank = s->grew,
                           .growth = s->growth};
}

static void step_exceeded(struct step_limits *l, int k)
{
    const struct excess e = step_excess(l, k);
    if (cmd_of(l)->on_limit == ON_LIMIT_KILL_RANK) {
        if (l->killed_in == l->turn) /* the effect is seen in the next turn */
            return;
        l->killed_in = l->turn;
    }
    exceeded(l, &e, l->of[k].has_told);
    l->of[k].has_told = true;
}

static void warn(struct step_limits *l, int k)
{
    char text[400];
    if (l->of[k].has_warned)
        return;
    l->of[k].has_warned = true;
    const struct excess e = step_excess(l, k);
    describe(&e, "is near", text, sizeof(text));
    log_warn("%s", text);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void take_amount(struct step_limits *l, const struct host *h,
                        const Mprun__Present__Amount *a)
{
    struct limit_state *s = &l->of[a->kind];
    uint64_t *before = &l->last[h->launch_index].value[a->kind];
    if (!limit_words(a->kind)->is_longest)
        s->sum += a->value - *before;
    else if (a->value > s->sum)
        s->sum = a->value;
    *before = a->value;
    struct rank_name grew = rank_name_unpack(a->grew);
    if (!limit_of(l, (int)a->kind)->set || !a->growth || !host_may_have_rank(h, grew))
        return;
    sample_pace_grew(&l->pace, a->growth, limit_of(l, (int)a->kind));
    if (s->grew_in == l->turn && s->growth > a->growth)
        return; /* a rank of another host grew more meanwhile */
    s->grew = grew;
    s->growth = a->growth;
    s->host = h->launch_index;
    s->grew_in = l->turn;
}

static void compare(struct step_limits *l)
{
    for (int k = 0; k < LIMIT_KIND_COUNT && !verdict_is_ending(l->verdict); k++) {
        const struct limit *limit = limit_of(l, k);
        if (!limit->set)
            continue;
        if (l->of[k].sum > limit->value)
            step_exceeded(l, k);
        else if ((double)l->of[k].sum >= LIMIT_WARN_PART * (double)limit->value)
            warn(l, k);
    }
}

int step_limits_answer(struct step_limits *l, const struct host *h, const Mprun__Present *m)
{
    struct host_amounts *last = &l->last[h->launch_index];
    if (m->turn == 0 || m->turn > l->turn || m->turn <= last->turn)
        return -1;
    last->turn = m->turn;
    l->answered = loop_now();
    for (size_t i = 0; i < m->n_amounts; i++)
        if (m->amounts[i]->kind < LIMIT_KIND_COUNT)
            take_amount(l, h, m->amounts[i]);
    if (m->turn == l->turn && l->awaited > 0)
        l->awaited--;
    compare(l);
    return 0;
}

int step_limits_over(struct step_limits *l, const struct host *h, const Mprun__OverLimit *m)
{
    const struct step *step = &l->hosts->plan->step;
    struct excess e = {.kind = (enum limit_kind)m->kind,
                       .level = (enum limit_level)m->level,
                       .value = m->value,
                       .host = h,
                       .rank = rank_name_unpack(m->name),
                       .growth = m->growth};
    if (m->kind >= LIMIT_KIND_COUNT || (m->level != LIMIT_OF_RANK && m->level != LIMIT_OF_HOST))
        return -1;
    e.limit = &(m->level == LIMIT_OF_RANK ? step_rank_limits(step, step_app_of(step, e.rank))
                                          : &step->host_limits)
                   ->of[m->kind];
    if (!e.limit->set || !limit_words(e.kind)->word ||
        ((m->level == LIMIT_OF_RANK || m->growth) && !host_may_have_rank(h, e.rank)))
        return -1;
    uint32_t *told = &l->last[h->launch_index].told, bit = 1u << m->kind;
    bool is_host = m->level == LIMIT_OF_HOST;
    if (!verdict_is_ending(l->verdict))
        exceeded(l, &e, is_host && (*told & bit));
    *told |= is_host ? bit : 0;
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

void step_limits_init(struct step_limits *l, struct loop *loop, struct host_table *hosts,
                      struct verdict *verdict)
{
    *l = (struct step_limits){.hosts = hosts, .verdict = verdict};
    sample_pace_begin(&l->pace);
    l->last = must(calloc(hosts->plan->nused + 1, sizeof(*l->last)));
    loop_timer_init(&l->timer, loop, ask, l);
}

void step_limits_free(struct step_limits *l)
{
    loop_timer_stop(&l->timer);
    free(l->last);
}
