/* SPDX-License-Identifier: BSD-3-Clause */
/* first-failure.c - the one end that explains a step
 *
 * When a rank fails the others fail after it, within milliseconds and on other hosts with other
 * clocks. Within the window the stronger cause is the likelier origin; beyond it, the earlier. */
#include "launcher/outcome/first-failure.h"

#include <stdbool.h>

static bool is_failure(const struct rank_end *e)
{
    return e->cause != END_OK && e->cause != END_KILLED;
}

/* Does a explain the step better than b? Both are failures within the window. */
static bool explains_better(const struct rank_end *a, const struct rank_end *b)
{
    if (a->cause != b->cause)
        return a->cause < b->cause;
    if (a->name.world != b->name.world)
        return a->name.world < b->name.world;
    if (a->name.rank != b->name.rank)
        return a->name.rank < b->name.rank;
    return a->time_ns < b->time_ns;
}

const struct rank_end *outcome_first_failure(const struct rank_end *ends, size_t n)
{
    const uint64_t window = OUTCOME_WINDOW_MS * UINT64_C(1000000);
    const struct rank_end *first = NULL, *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (is_failure(&ends[i]) && (!first || ends[i].time_ns < first->time_ns))
            first = &ends[i];
    for (size_t i = 0; i < n; i++)
        if (is_failure(&ends[i]) && ends[i].time_ns - first->time_ns <= window &&
            (!best || explains_better(&ends[i], best)))
            best = &ends[i];
    return best;
}
