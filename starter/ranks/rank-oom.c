/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-oom.c - the sentence about a rank that was killed for want of memory */
#include <stdio.h>

#include "common/number.h"
#include "containment/step/tree.h"
#include "starter/containment/step-containment.h"
#include "starter/ranks/ranks-private.h"
#include "starter/services.h"
#include "wire/messages/launch.h"

bool rank_oom_text(const struct rank *r, char *text, size_t n)
{
    char name[RANK_NAME_TEXT], limit[16], peak[16];
    const struct limits *host = &r->all->with->containment->host_limits;
    const struct limits *l = r->leaf ? cgroup_leaf_limits(r->leaf) : NULL;
    bool own = usage_has(&r->usage, USAGE_OOM_KILLS) && r->usage.value[USAGE_OOM_KILLS] > 0;
    if (!own && !r->oom_kills)
        return false;
    rank_name_format(r->name, name);
    size_format(usage_has(&r->usage, USAGE_MEMORY_PEAK) ? r->usage.value[USAGE_MEMORY_PEAK]
                                                        : r->usage.value[USAGE_RSS_PEAK],
                peak, sizeof(peak));
    if (l && l->memory.set && l->memory.held_by == HELD_BY_CGROUP && own)
        snprintf(text, n, "rank %s on %s exceeded its memory limit %s (peak %s)", name,
                 launch_here(r->all->with->launch)->host,
                 size_format(l->memory.value, limit, sizeof(limit)), peak);
    else if (host->memory.set)
        snprintf(text, n,
                 "rank %s on %s was killed: the ranks of this host exceeded --mem %s (peak of this "
                 "rank %s)",
                 name, launch_here(r->all->with->launch)->host,
                 size_format(host->memory.value, limit, sizeof(limit)), peak);
    else
        snprintf(text, n, "rank %s on %s was killed: out of memory (its peak %s)", name,
                 launch_here(r->all->with->launch)->host, peak);
    return true;
}
