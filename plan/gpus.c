/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/gpus.h"

uint32_t plan_gpu_part(const struct plan_gpu_wish *w)
{
    return w->gpus ? PLAN_GPU_WHOLE : PLAN_GPU_WHOLE / w->sharers;
}

static size_t number_of(const struct plan_gpu_wish *w)
{
    return w->gpus ? w->gpus : w->sharers > 0;
}

uint64_t plan_gpus_needed(const struct plan_gpu_wish *wish, uint32_t nranks)
{
    uint64_t parts = 0;
    for (uint32_t r = 0; r < nranks; r++)
        if (number_of(&wish[r]) > 0)
            parts += (uint64_t)number_of(&wish[r]) * plan_gpu_part(&wish[r]);
    return (parts + PLAN_GPU_WHOLE - 1) / PLAN_GPU_WHOLE;
}

static bool is_near(const struct plan_gpu *g, const struct idset *cpus)
{
    if (!cpus || idset_count(g->near) == 0)
        return true;
    for (int t = idset_next(cpus, 0); t >= 0; t = idset_next(cpus, (unsigned)t + 1))
        if (idset_has(g->near, (unsigned)t))
            return true;
    return false;
}

/* The one that has room for the wish and is used least, the first of several; n: there is none. */
static size_t find(const struct plan_gpu *gpu, size_t n, const struct plan_gpu_wish *w,
                   bool any_place)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (PLAN_GPU_WHOLE - gpu[i].used >= plan_gpu_part(w) &&
            (best == n || gpu[i].used < gpu[best].used) && (any_place || is_near(&gpu[i], w->cpus)))
            best = i;
    return best;
}

bool plan_gpus_deal(struct plan_gpu *gpu, size_t n, const struct plan_gpu_wish *wish,
                    uint32_t nranks, struct idset *ret)
{
    bool too_few = false;
    for (int any_place = 0; any_place < 2; any_place++)
        for (uint32_t r = 0; r < nranks; r++)
            while (idset_count(&ret[r]) < number_of(&wish[r])) {
                size_t i = find(gpu, n, &wish[r], any_place);
                too_few |= i == n && any_place;
                if (i == n)
                    break;
                idset_add(&ret[r], (unsigned)i);
                gpu[i].used += plan_gpu_part(&wish[r]);
            }
    return too_few;
}
