/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/ranks/sampled-limits.h"

#include <math.h>
#include <unistd.h>

#include "starter/containment/step-containment.h"
#include "starter/ending/step-end.h"
#include "starter/links/uplink.h"
#include "starter/ranks/ranks-private.h"
#include "starter/services.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"

/* ---- what is limited ------------------------------------------------------------------------- */

static unsigned sampled_kinds(const struct limits *l, enum limit_level level)
{
    unsigned kinds = 0;
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        kinds |= limit_is_sampled(l, (enum limit_kind)k, level) ? 1u << k : 0;
    return kinds;
}

/* ---- looking --------------------------------------------------------------------------------- */

static void tell(const struct sampled_limits *s, enum limit_level level, int k, uint64_t value,
                 struct rank_name name, uint64_t growth)
{
    Mprun__OverLimit m = MPRUN__OVER_LIMIT__INIT;
    Mprun__RankName packed;
    rank_name_pack(name, &packed);
    m.kind = (uint32_t)k;
    m.level = level;
    m.value = value;
    m.name = &packed;
    m.growth = growth;
    uplink_send(s->with->up, FRAME_OVER_LIMIT, &m.base);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void note_left(struct sampled_limits *s, int k, const struct limit *l, uint64_t value)
{
    double left = sample_left((enum limit_kind)k, l, value, s->cores);
    s->left = least(s->left, left);
    if (k == LIMIT_CPU_TIME)
        s->cpu_at = least(s->cpu_at, loop_now() + left * SAMPLE_SECONDS_MAX);
}

/* Returns whether a rank that was killed for a limit is still there: its amounts go soon. */
static bool is_one_dying(const struct ranks *all)
{
    for (const struct ranks *s = all; s; s = s->next)
        for (uint32_t i = 0; i < s->n; i++)
            if (s->ranks[i].limit_text && s->ranks[i].state == RANK_RUNNING)
                return true;
    return false;
}

static void look_at_host(struct sampled_limits *s, unsigned kinds,
                         const struct rank_amount now[LIMIT_KIND_COUNT])
{
    const struct limits *limits = &s->with->containment->host_limits;
    for (int k = 0; k < LIMIT_KIND_COUNT; k++) {
        const struct limit *l = &limits->of[k];
        if (!(kinds >> k & 1) || !limit_is_sampled(limits, (enum limit_kind)k, LIMIT_OF_HOST))
            continue;
        if (limit_words((enum limit_kind)k)->unit != LIMIT_MICROSECONDS)
            sample_pace_grew(&s->pace, now[k].growth, l);
        if (now[k].value <= l->value) {
            note_left(s, k, l, now[k].value);
            continue;
        }
        s->cpu_at = 0;
        if (!is_one_dying(s->with->ranks))
            tell(s, LIMIT_OF_HOST, k, now[k].value, now[k].grew, now[k].growth);
    }
}

static void look_at_rank(struct sampled_limits *s, struct rank *r, unsigned kinds)
{
    for (int k = 0; k < LIMIT_KIND_COUNT; k++) {
        const struct limit *l = &r->limits.of[k];
        uint64_t now = r->amounts[AMOUNTS_FOR_HOST][k];
        if (!(kinds >> k & 1) || !limit_is_sampled(&r->limits, (enum limit_kind)k, LIMIT_OF_RANK))
            continue;
        if (now <= l->value) {
            note_left(s, k, l, now);
        } else if (!(r->over_limits >> k & 1)) {
            r->over_limits |= 1u << k;
            tell(s, LIMIT_OF_RANK, k, now, r->name, 0);
        }
    }
}

/* Notes growth: each amount's is known only of the rank that grew most. */
static void look_at_growth(struct sampled_limits *s, unsigned kinds,
                           const struct rank_amount now[LIMIT_KIND_COUNT])
{
    const struct limits *limits = &s->with->containment->rank_limits;
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        if ((kinds >> k & 1) && limit_words((enum limit_kind)k)->unit != LIMIT_MICROSECONDS)
            sample_pace_grew(&s->pace, now[k].growth, &limits->of[k]);
}

/* Leaves out CPU time until it can have reached a limit, also a rank's that has just begun. Returns
 * the kinds to read now. */
static unsigned without_cpu_time(struct sampled_limits *s, unsigned kinds)
{
    const struct limit *cpu = &s->with->containment->rank_limits.cpu_time;
    double next = (s->cpu_at - loop_now()) / SAMPLE_SECONDS_MAX;
    if (next > 0) {
        s->left = next;
        return kinds & ~(1u << LIMIT_CPU_TIME);
    }
    s->cpu_at = INFINITY;
    if (cpu->set)
        note_left(s, LIMIT_CPU_TIME, cpu, 0);
    return kinds;
}

static void look(void *arg)
{
    struct sampled_limits *s = arg;
    struct rank_amount now[LIMIT_KIND_COUNT];
    unsigned of_ranks = sampled_kinds(&s->with->containment->rank_limits, LIMIT_OF_RANK);
    unsigned of_host = sampled_kinds(&s->with->containment->host_limits, LIMIT_OF_HOST);
    if (s->with->end->has_begun)
        return;
    s->left = 1;
    unsigned kinds = without_cpu_time(s, of_ranks | of_host);
    ranks_amounts(s->with->ranks, AMOUNTS_FOR_HOST, kinds, now);
    look_at_host(s, kinds, now);
    of_ranks &= kinds;
    look_at_growth(s, of_ranks, now);
    for (struct ranks *world = s->with->ranks; world; world = world->next)
        for (uint32_t i = 0; of_ranks && i < world->n; i++)
            if (world->ranks[i].state == RANK_RUNNING)
                look_at_rank(s, &world->ranks[i], of_ranks);
    loop_timer_start(&s->timer, sample_pace_next(&s->pace, s->left), 0);
}

/* ---- life ------------------------------------------------------------------------------------ */

void sampled_limits_begin(struct sampled_limits *s)
{
    const struct step_containment *c = s->with->containment;
    loop_timer_init(&s->timer, s->with->loop, look, s);
    if (!sampled_kinds(&c->rank_limits, LIMIT_OF_RANK) &&
        !sampled_kinds(&c->host_limits, LIMIT_OF_HOST))
        return;
    s->cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    sample_pace_begin(&s->pace);
    loop_timer_start(&s->timer, sample_pace_next(&s->pace, 1), 0);
}

void sampled_limits_compare(struct sampled_limits *s)
{
    if (loop_timer_is_active(&s->timer))
        look(s);
}

void sampled_limits_stop(struct sampled_limits *s)
{
    loop_timer_stop(&s->timer);
}
