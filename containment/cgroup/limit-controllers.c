/* SPDX-License-Identifier: BSD-3-Clause */
/* limit-controllers.c - the controller of each limit, and limits for which no file exists as
 * such */
#include "containment/cgroup/driver.h"

unsigned cgroup_limit_controller(enum limit_kind k)
{
    return cgroup_controllers_in(limit_words(k)->controller, ~0u);
}

unsigned cgroup_limits_controllers(const struct limits *l)
{
    unsigned controllers = 0;
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        controllers |= l->of[k].set ? cgroup_limit_controller(k) : 0;
    return controllers;
}

/* Splits memory and swap together into memory, and swap beside it. Without a limit of memory alone,
 * all may be memory; v1 then takes swap for it, v2 takes none, which is less than was allowed. */
static void split_memory_swap(struct limits *l)
{
    uint64_t both = l->memory_swap.value;
    if (!l->memory.set || l->memory.value > both)
        l->memory = (struct limit){.set = 1, .value = both};
    l->swap = (struct limit){.set = 1, .value = both - l->memory.value};
}

void cgroup_limit(const struct cgroup_driver *driver, struct cgroup_at d, unsigned controllers,
                  struct limits *l)
{
    struct limits parts = *l;
    struct limit *both = &l->memory_swap;
    if (both->set)
        split_memory_swap(&parts);
    driver->limit(d, controllers, &parts);
    if (both->set && parts.memory.held_by == HELD_BY_CGROUP &&
        parts.swap.held_by == HELD_BY_CGROUP) {
        both->value = parts.memory.value + parts.swap.value;
        both->held_by = HELD_BY_CGROUP;
    }
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        if (l->of[k].set && k != LIMIT_MEMORY_SWAP)
            l->of[k] = parts.of[k];
}
