/* SPDX-License-Identifier: BSD-3-Clause */
/* sample-pace.h - the pace at which a host samples limited amounts: fast at first and near a limit,
 * slow while nothing grows and much is left
 *
 * A look costs a host 20 us for each process: each 4 s it is 0.05 % of a core for 100 ranks. */
#pragma once

#include <stdint.h>

#include "model/limits.h"

#define SAMPLE_SECONDS_MAX 4.0
#define SAMPLE_SECONDS_MIN 0.25

struct sample_pace {
    double quiet; /* private: seconds to the next look where nothing grows */
};

static inline void sample_pace_begin(struct sample_pace *p)
{
    p->quiet = SAMPLE_SECONDS_MIN;
}

/* An amount grew. If that was much of its limit, the next look comes sooner. */
static inline void sample_pace_grew(struct sample_pace *p, uint64_t growth,
                                    const struct limit *limit)
{
    enum { MUCH_PARTS = 64 };
    if (growth > limit->value / MUCH_PARTS)
        p->quiet = SAMPLE_SECONDS_MIN;
}

/* The part of the limit that is left. CPU time on so many cores, and wall time, cannot jump: what
 * is left of them is time that needs no look, in units of SAMPLE_SECONDS_MAX. cores: 0 where they
 * are not known. */
static inline double sample_left(enum limit_kind k, const struct limit *l, uint64_t value,
                                 double cores)
{
    double left = value < l->value ? (double)(l->value - value) : 0;
    double users = k == LIMIT_WALL_TIME ? 1 : k == LIMIT_CPU_TIME ? cores : 0;
    if (users <= 0)
        return l->value ? left / (double)l->value : 0;
    return left / 1e6 / users / SAMPLE_SECONDS_MAX;
}

/* Seconds to the next look, if `left` is the least part of a limit that is left. */
static inline double sample_pace_next(struct sample_pace *p, double left)
{
    double after = SAMPLE_SECONDS_MAX * left;
    after = after > p->quiet ? p->quiet : after;
    p->quiet = p->quiet * 2 > SAMPLE_SECONDS_MAX ? SAMPLE_SECONDS_MAX : p->quiet * 2;
    return after < SAMPLE_SECONDS_MIN ? SAMPLE_SECONDS_MIN : after;
}
