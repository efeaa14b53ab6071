/* SPDX-License-Identifier: BSD-3-Clause */
/* demand.h - what a job asks of a host, small enough to be handed on
 *
 * The requests of a job for memory, virtual memory and GPUs, each as it was written: for one slot,
 * for the job or for a host. What a host gives is reckoned from it with the slots of that host,
 * which that host knows. */
#ifndef RM_ADAPTERS_DEMAND_H
#define RM_ADAPTERS_DEMAND_H

#include <stddef.h>
#include <stdint.h>

#include "rm-adapters/resources.h"

enum demand_what { DEMAND_MEMORY = 1, DEMAND_VIRTUAL = 2, DEMAND_GPU = 3 };

enum { DEMAND_PARTS = 6, DEMAND_BYTES = 8 + 16 * DEMAND_PARTS };

struct demand_part {
    uint8_t what, consumable, scope; /* of which enum gridengine_consumable, gridengine_scope */
    uint8_t infinite;                /* 1: no limit; whole and millionths are 0 */
    uint32_t millionths;
    uint64_t whole;
};

struct demand { /* all zero: nothing is asked for */
    uint32_t n;
    struct demand_part part[DEMAND_PARTS];
};

/* 0, or -1 with err: more requests for one thing than there is room for. */
int demand_of_job(const struct gridengine_job *job, const struct resource_names *names,
                  struct demand *ret, struct error *err);
/* How much of it a host with so many slots of the job may use: 1 with *ret; 0: nothing was asked
 * for there, or without a limit, or more than there can be. A request for memory that counts once
 * for the job counts, on the other hosts than the master task's, as what no host may exceed. */
int demand_on(const struct demand *d, enum demand_what what, uint32_t slots, int is_master,
              uint64_t *ret);

/* As bytes, for a pipe or another host: least significant first, unused ones zero. */
void demand_put(const struct demand *d, uint8_t buf[DEMAND_BYTES]);
/* 0 with *ret, or -1: not what demand_put() writes. */
int demand_get(const uint8_t buf[DEMAND_BYTES], struct demand *ret);

#endif
