/* SPDX-License-Identifier: BSD-3-Clause */
/* step-limits.c - see step-limits.h */
#include "launcher/outcome/step-limits.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "launcher/hosts/host-links.h"
#include "launcher/outcome/verdict.h"
#include "launcher/tunables.h"
#include "model/rank-end.h"
#include "wire/messages/values.h"

struct host_amounts {
    uint32_t turn; /* of the answer; 0: there was none */
    uint64_t value[LIMIT_KIND_COUNT];
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

/* The part of the limit that is left, of the limit of which the least is; negative: none. */
static double headroom(const struct step_limits *l)
{
    double least = 1;
    for (int k = 0; k < LIMIT_KIND_COUNT; k++) {
        const struct limit *limit = limit_of(l, k);
        double left = limit->set ? 1 - (double)l->of[k].sum / (double)limit->value : 1;
        least = left < least ? left : least;
    }
    return least;
}

/* Often at first and where little is left; seldom while nothing grows and much is left. */
static void ask_later(struct step_limits *l)
{
    double after = LIMIT_SAMPLE_SECONDS * headroom(l);
    after = after > l->quiet ? l->quiet : after;
    l->quiet = l->quiet * 2 > LIMIT_SAMPLE_SECONDS ? LIMIT_SAMPLE_SECONDS : l->quiet * 2;
    loop_timer_start(&l->timer, after < LIMIT_SAMPLE_MIN_SECONDS ? LIMIT_SAMPLE_MIN_SECONDS : after,
                     0);
}

/* A host that does not answer holds up the next question for a while only: the others are watched.
 */
static void ask(void *arg)
{
    struct step_limits *l = arg;
    Mprun__PresentAsk m = MPRUN__PRESENT_ASK__INIT;
    if (verdict_is_ending(l->verdict))
        return;
    if (l->awaited == 0 || loop_now() - l->asked >= LIMIT_SAMPLE_SECONDS) {
        l->awaited = l->hosts->plan->nused;
        l->asked = loop_now();
        m.turn = ++l->turn;
        m.amounts = 1;
        hosts_broadcast(l->hosts, FRAME_PRESENT_ASK, &m.base);
    }
    ask_later(l);
}

void step_limits_begin(struct step_limits *l)
{
    if (limits_is_any_set(&cmd_of(l)->step_limits))
        ask_later(l);
}

/* ---- what is said and done ------------------------------------------------------------------- */

/* "rank 4 on n2 grew last, by 10 MiB" */
static void grower_text(const struct step_limits *l, int k, char *buf, size_t n)
{
    const struct limit_state *s = &l->of[k];
    char name[RANK_NAME_TEXT], by[32];
    buf[0] = 0;
    if (!s->growth)
        return;
    limit_format((enum limit_kind)k, s->growth, by, sizeof(by));
    snprintf(buf, n, ": rank %s on %s grew last, by %s", rank_name_format(s->grew, name),
             l->hosts->used[s->host]->name, by);
}

/* "the step exceeded its limit of memory: 45 MiB of 30 MiB (--limit mem): rank 4 on n2 ..." */
static void describe(const struct step_limits *l, int k, const char *how, char *buf, size_t n)
{
    char used[32], limit[32], who[160];
    limit_format((enum limit_kind)k, l->of[k].sum, used, sizeof(used));
    limit_format((enum limit_kind)k, limit_of(l, k)->value, limit, sizeof(limit));
    grower_text(l, k, who, sizeof(who));
    snprintf(buf, n, "the step %s its limit of %s: %s of %s (--limit %s)%s", how,
             limit_words((enum limit_kind)k)->name, used, limit,
             limit_words((enum limit_kind)k)->step_word, who);
}

static void kill_rank(struct step_limits *l, int k, const char *text)
{
    const struct limit_state *s = &l->of[k];
    Mprun__KillRank m = MPRUN__KILL_RANK__INIT;
    Mprun__RankName name;
    if (!s->growth || l->killed_in == l->turn) /* the effect is seen in the next turn */
        return;
    l->killed_in = l->turn;
    rank_name_pack(s->grew, &name);
    m.name = &name;
    m.text = (char *)(uintptr_t)text;
    host_send(l->hosts->used[s->host], FRAME_KILL_RANK, &m.base);
}

static void kill_step(struct step_limits *l, const char *text)
{
    const char *job = l->hosts->plan->alloc.job_id;
    if (job[0] && !verdict_is_ending(l->verdict))
        log_error(">> Job %s exceeded resource allocation -- killed", job);
    verdict_fail(l->verdict, EXIT_CODE_SIGNAL + 9, "%s; its ranks are ended", text);
}

static void exceeded(struct step_limits *l, int k)
{
    char text[400];
    describe(l, k, "exceeded", text, sizeof(text));
    switch (cmd_of(l)->on_limit) {
    case ON_LIMIT_KILL_STEP:
        kill_step(l, text);
        break;
    case ON_LIMIT_KILL_RANK:
        kill_rank(l, k, text);
        break;
    case ON_LIMIT_WARN:
        if (!l->of[k].has_told)
            log_warn("%s", text);
        l->of[k].has_told = true;
    }
}

static void warn(struct step_limits *l, int k)
{
    char text[400];
    if (l->of[k].has_warned)
        return;
    l->of[k].has_warned = true;
    describe(l, k, "is near", text, sizeof(text));
    log_warn("%s", text);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void take_amount(struct step_limits *l, const struct host *h,
                        const Mprun__Present__Amount *a)
{
    struct limit_state *s = &l->of[a->kind];
    uint64_t *before = &l->last[h->launch_index].value[a->kind];
    s->sum += a->value - *before;
    *before = a->value;
    struct rank_name grew = rank_name_unpack(a->grew);
    if (!limit_of(l, (int)a->kind)->set || !a->growth || !host_may_have_rank(h, grew))
        return;
    if (a->growth > limit_of(l, (int)a->kind)->value / LIMIT_GROWTH_PARTS)
        l->quiet = LIMIT_SAMPLE_MIN_SECONDS;
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
            exceeded(l, k);
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
    for (size_t i = 0; i < m->n_amounts; i++)
        if (m->amounts[i]->kind < LIMIT_KIND_COUNT)
            take_amount(l, h, m->amounts[i]);
    if (m->turn == l->turn && l->awaited > 0)
        l->awaited--;
    compare(l);
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

int step_limits_init(struct step_limits *l, struct loop *loop, struct host_table *hosts,
                     struct verdict *verdict)
{
    *l =
        (struct step_limits){.hosts = hosts, .verdict = verdict, .quiet = LIMIT_SAMPLE_MIN_SECONDS};
    l->last = calloc(hosts->plan->nused + 1, sizeof(*l->last));
    loop_timer_init(&l->timer, loop, ask, l);
    return l->last ? 0 : -1;
}

void step_limits_free(struct step_limits *l)
{
    loop_timer_stop(&l->timer);
    free(l->last);
}
