/* SPDX-License-Identifier: BSD-3-Clause */
/* share.h - a job's share of this host, and the limits that come of it */
#pragma once

#include <stdint.h>

#include "model/limits.h"
#include "rm-adapters/gridengine/job-demand.h"

struct share {      /* what the manager wrote on this host; all zero where it wrote nothing */
    uint32_t slots; /* of the job here; 0: not known */
    int is_master;  /* the job's own script runs here */
    struct demand written; /* what it limits resident memory and virtual memory to */
};

/* Limits of the job here. demand: what it asks for, where that is known, else NULL.
 *
 * Memory: of what was asked for as memory and what the manager limits as resident memory the
 * smaller; where there is neither, the limit of virtual memory. Swap: what the limit of virtual
 * memory leaves above that, else none. So a request for memory that is larger than the limit of
 * virtual memory stays what it is: memory and swap cannot be limited to less than memory.
 * held_by is not set. */
struct limits share_limits(const struct share *s, const struct demand *demand);
/* The same where it is not known what the job asks for: memory is at most per_slot for each slot;
 * 0: what the manager limits holds. */
struct limits share_limits_by_default(const struct share *s, uint64_t per_slot);
/* Processes and threads of a job with so many slots here (0: not known, so one), of which each slot
 * brings so many; 0: no limit. */
struct limit share_pids(long per_slot, uint32_t slots);
/* GPUs of the job here; 0: none, or not known. */
uint32_t share_gpus(const struct share *s, const struct demand *demand);
