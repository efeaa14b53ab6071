/* SPDX-License-Identifier: BSD-3-Clause */
/* gpus.h - deals the GPUs of a host to its ranks. Pure: the result depends on the arguments
 * alone */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/text/idset.h"

enum {
    PLAN_GPU_WHOLE = 720720, /* parts of a GPU: up to 16 ranks share one without a rest */
};

struct plan_gpu {
    const struct idset *near; /* hardware threads near it, borrowed; empty: not known */
    uint32_t used;            /* parts of it that ranks have */
};

struct plan_gpu_wish {        /* of a rank; as zero, none */
    uint32_t gpus;            /* for itself */
    uint32_t sharers;         /* instead: so many ranks share one; at most GPU_SHARERS_MAX */
    const struct idset *cpus; /* hardware threads that it is bound to, borrowed; NULL: any */
};

/* The parts of each of its GPUs that a rank with a wish has. */
uint32_t plan_gpu_part(const struct plan_gpu_wish *wish);
/* The GPUs that so many parts are, rounded up. */
uint64_t plan_gpus_needed(const struct plan_gpu_wish *wish, uint32_t nranks);
/* Deal GPUs to ranks: those near their cores first, to all ranks, and among those that are shared
 * the one that is used least. ret: nranks empty sets, of indexes of gpu. True: there are too few;
 * ret and used then have the part that was dealt. */
bool plan_gpus_deal(struct plan_gpu *gpu, size_t n, const struct plan_gpu_wish *wish,
                    uint32_t nranks, struct idset *ret);
