/* SPDX-License-Identifier: BSD-3-Clause */
#include "containment/place/place.h"

#include <stdlib.h>
#include <string.h>

void cgroup_place_free(struct cgroup_place *p)
{
    free(p->v2);
    free(p->v2_why);
    free(p->v2_movers);
    for (size_t c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        free(p->v1[c]);
    memset(p, 0, sizeof(*p));
}
