/* SPDX-License-Identifier: BSD-3-Clause */
/* job-demand.h - a job's requests for memory, virtual memory and GPUs, in a few bytes that go to
 * other hosts
 *
 * Each request stays as it was written: for one slot, for the job or for a host. Each host computes
 * its own share from it, with its number of slots. */
#pragma once

#include <stdint.h>

#include "rm-adapters/gridengine/job-resources.h"

enum demand_what { DEMAND_MEMORY = 1, DEMAND_VIRTUAL = 2, DEMAND_GPU = 3 };

enum { DEMAND_PARTS = 6, DEMAND_BYTES = 8 + 16 * DEMAND_PARTS };

struct demand_part {
    uint8_t what;       /* enum demand_what */
    uint8_t consumable; /* enum gridengine_consumable */
    uint8_t scope;      /* enum gridengine_scope */
    uint8_t infinite;   /* 1: no limit; whole and millionths are 0 */
    uint32_t millionths;
    uint64_t whole;
};

struct demand { /* all zero: the job asks for nothing */
    uint32_t n;
    struct demand_part part[DEMAND_PARTS];
};

/* Collect the requests of a job. 0 with *ret, or -1 with err: they are more than DEMAND_PARTS. */
int demand_of_job(const struct gridengine_job *job, const struct resource_names *names,
                  struct demand *ret, struct error *err);
/* Compute how much a host with so many slots of the job may use. True with *ret; false: the job
 * asks for nothing there, for no limit, or for more than there can be. A request for memory that
 * counts once for the job is an upper bound on the hosts without the master task. */
bool demand_on(const struct demand *d, enum demand_what what, uint32_t slots, bool is_master,
               uint64_t *ret);

/* Write d as bytes for a pipe or another host: least significant first, unused bytes zero. */
void demand_put(const struct demand *d, uint8_t buf[DEMAND_BYTES]);
/* Read it. 0 with *ret, or -1: demand_put() does not write such bytes. */
int demand_get(const uint8_t buf[DEMAND_BYTES], struct demand *ret);
