/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/cmdline/options/placement-options.h"

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
    if (place->by_core && b->threads && !place->says_bind) {
        b->threads = false; /* whole cores */
        b->by_threads = true;
        b->map = LEVEL_NONE;
    }
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

static void take_srun_defaults(const struct placement_options *place, struct binding_request *b)
{
    bool is_dealt = place->by_core || place->turn > 1 || place->rank_file || place->in_sequence;
    if (b->map == LEVEL_NONE && b->list_kind != CPU_LIST_EACH && b->policy != BIND_NONE &&
        !is_dealt) {
        b->map = LEVEL_PACKAGE;
        b->if_supported = true;
    }
    b->in_turn |= b->map != LEVEL_NONE && place->rank_by == RANK_BY_DEFAULT;
    b->by_threads &= !place->one_thread;
    if (b->to == LEVEL_HWTHREAD && place->one_thread)
        b->to = LEVEL_NONE;
    if (b->to == LEVEL_HWTHREAD && b->by_threads) {
        b->by_threads = false;
        b->threads = true;
    }
}

void placement_take_defaults(enum dialect d, const struct placement_options *place, uint64_t nranks,
                             struct binding_request *b)
{
    if (d == DIALECT_MPIRUN)
        take_mpirun_defaults(place, nranks, b);
    if (d == DIALECT_MPIEXEC)
        take_hydra_defaults(place, b);
    if (d == DIALECT_SRUN)
        take_srun_defaults(place, b);
}
