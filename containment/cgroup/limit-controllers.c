/* SPDX-License-Identifier: BSD-3-Clause */
/* limit-controllers.c - which controllers hold which limits */
#include "containment/cgroup/controllers.h"

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
