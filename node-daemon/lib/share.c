/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/lib/share.h"

#include <stddef.h>

/* More than this is no limit, as nothing has so much; what is added to it still is a number. */
static const uint64_t LIMIT_MAX = UINT64_C(1) << 62;

/* The kernel has no more numbers for processes, and takes no larger limit (PID_MAX_LIMIT). */
static const uint64_t PIDS_MAX = 1 << 22;

/* 0: no limit */
static uint64_t asked(const struct share *s, const struct demand *d, enum demand_what what)
{
    uint64_t bytes;
    if (!d || s->slots == 0 || demand_on(d, what, s->slots, s->is_master, &bytes) == 0)
        return 0;
    return bytes < LIMIT_MAX ? bytes : 0;
}

/* The smaller of two limits, of which 0 is none. */
static uint64_t smaller(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

/* virtual: of memory and swap together */
static struct limits limits_of(uint64_t memory, uint64_t virtual)
{
    struct limits l = {.memory = {.set = 0}};
    if (memory == 0)
        return l;
    l.memory = (struct limit){.set = 1, .value = memory};
    l.swap = (struct limit){.set = 1, .value = virtual > memory ? virtual - memory : 0};
    return l;
}

struct limits share_limits(const struct share *s, const struct demand *demand)
{
    uint64_t virtual = smaller(asked(s, &s->written, DEMAND_VIRTUAL),
                               asked(s, demand, DEMAND_VIRTUAL));
    uint64_t memory =
        smaller(asked(s, &s->written, DEMAND_MEMORY), asked(s, demand, DEMAND_MEMORY));
    return limits_of(memory ? memory : virtual, virtual);
}

struct limits share_limits_by_default(const struct share *s, uint64_t per_slot)
{
    uint32_t slots = s->slots ? s->slots : 1;
    uint64_t most = per_slot < LIMIT_MAX / slots ? per_slot * slots : 0;
    struct limits l = share_limits(s, NULL);
    if (most == 0 || (l.memory.set && l.memory.value <= most))
        return l;
    return limits_of(most, asked(s, &s->written, DEMAND_VIRTUAL));
}

struct limit share_pids(long per_slot, uint32_t slots)
{
    uint64_t n = (uint64_t)per_slot * (slots ? slots : 1);
    return (struct limit){.set = n > 0, .value = n < PIDS_MAX ? n : PIDS_MAX};
}

uint32_t share_gpus(const struct share *s, const struct demand *demand)
{
    uint64_t n;
    if (!demand || s->slots == 0 ||
        demand_on(demand, DEMAND_GPU, s->slots, s->is_master, &n) == 0 || n > UINT16_MAX)
        return 0;
    return (uint32_t)n;
}
