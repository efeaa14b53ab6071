/* SPDX-License-Identifier: BSD-3-Clause */
/* place.c - the names of controllers, and releasing a place */
#include "containment/cgroup.h"

#include <stdlib.h>
#include <string.h>

const char *cgroup_controller_text(enum cgroup_controller c)
{
    static const char *const names[CGROUP_CONTROLLER_COUNT] = {
        [CGROUP_MEMORY] = "memory", [CGROUP_CPUSET] = "cpuset",   [CGROUP_CPU] = "cpu",
        [CGROUP_PIDS] = "pids",     [CGROUP_DEVICES] = "devices", [CGROUP_FREEZER] = "freezer",
    };
    return c < CGROUP_CONTROLLER_COUNT ? names[c] : "unknown";
}

void cgroup_place_free(struct cgroup_place *p)
{
    free(p->v2);
    free(p->v2_why);
    free(p->v2_movers);
    for (size_t c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        free(p->v1[c]);
    memset(p, 0, sizeof(*p));
}
