/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/cmdline/placement-options.h"

static void take_hydra_defaults(const struct placement_options *place, struct binding_request *b)
{
    if (b->map == LEVEL_NONE && !place->says_map && !b->ppr && b->list_kind == CPU_LIST_NONE &&
        b->policy == BIND_TO && b->to != LEVEL_HWTHREAD)
        b->map = b->to;
    b->in_turn |= b->map != LEVEL_NONE && place->rank_by == RANK_BY_DEFAULT && !b->ppr;
}

static void take_mpirun_defaults(const struct placement_options *place, uint64_t nranks,
                                 struct binding_request *b)
{
    bool is_mapped = b->map != LEVEL_NONE;
    b->in_turn |= place->rank_by == RANK_BY_DEFAULT && !b->ppr;
    if (place->says_bind || b->list_kind != CPU_LIST_NONE || b->cores || place->by_core ||
        place->rank_file)
        return;
    if (is_mapped && !b->ppr) {
        b->to = b->map;
    } else if (nranks > 2) {
        b->to = LEVEL_NUMA;
        b->map = is_mapped || place->says_map ? b->map : LEVEL_NUMA;
        b->if_supported = true;
    }
}

void placement_take_defaults(enum dialect d, const struct placement_options *place, uint64_t nranks,
                             struct binding_request *b)
{
    if (d == DIALECT_MPIRUN)
        take_mpirun_defaults(place, nranks, b);
    if (d == DIALECT_MPIEXEC)
        take_hydra_defaults(place, b);
}
