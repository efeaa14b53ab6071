/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/step/step-fit.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "launcher/step/step-placement.h"

/* Do other steps leave the planned slots? A host that they do not use is enough, because a step may
 * have more ranks than slots. */
static bool is_planned_free(const struct step_plan *p, const uint64_t *taken)
{
    for (size_t i = 0; i < p->nhosts; i++) {
        uint64_t n = step_placement_slots(p, i);
        if (n > 0 && taken[i] > 0 && taken[i] + n > p->alloc.hosts[i].slots.value)
            return false;
    }
    return true;
}

/* --nodes: the first hosts that have slots for as many ranks as each of them would have. */
static bool offer_nodes(const struct step_plan *p, uint64_t *taken, size_t nhosts)
{
    const struct placement_options *place = &p->cmd->place;
    uint32_t nodes = place->nodes_max, chosen = 0;
    uint64_t n =
        nodes ? binding_slots(&place->bind, (p->placement.map.nranks + nodes - 1) / nodes) : 0;
    for (size_t i = 0; nodes && i < nhosts; i++)
        if (chosen < nodes && taken[i] + n <= p->alloc.hosts[i].slots.value)
            chosen++;
        else
            taken[i] = STEP_NOT_OFFERED;
    return !nodes || chosen >= place->nodes_min;
}

/* Places the ranks anew, on other hosts than planned. The user may have chosen the host of each
 * rank, or more ranks than slots. */
static bool place_elsewhere(struct step_plan *p, const uint64_t *taken)
{
    const struct placement_options *place = &p->cmd->place;
    struct step_plan planned = *p;
    if (place->in_sequence || place->rank_file || p->placement.oversubscribed)
        return false;
    size_t all = p->alloc.nhosts + p->nspare;
    AUTO_FREE uint64_t *free_of = must(calloc(all + 1, sizeof(*free_of)));
    memcpy(free_of, taken, all * sizeof(*free_of));
    if (!offer_nodes(p, free_of, all))
        return false;
    p->alloc.nhosts = p->nhosts = all;
    p->nspare = 0;
    int rc = step_placement_on_free(p, planned.placement.map.nranks, free_of, NULL);
    plan_free(rc == 0 ? &planned.placement : &p->placement);
    if (rc < 0)
        *p = planned;
    else if (place->nodes_max)
        step_placement_leave_out_unused(p);
    return rc == 0;
}

bool step_fit(struct step_plan *p, const uint64_t *taken)
{
    return is_planned_free(p, taken) || place_elsewhere(p, taken);
}
