/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-oom.c - the sentence about a rank that was killed for a limit, mostly for want of memory */
#include <stdio.h>

#include "common/number.h"
#include "containment/step/tree.h"
#include "starter/containment/step-containment.h"
#include "starter/ranks/ranks-private.h"
#include "starter/services.h"
#include "wire/messages/launch.h"

/* The rank's own cgroup says it, or, where all ranks share one, that cgroup says it and no other
 * rank's end has been explained by. 0: nothing says it. */
static uint64_t counted_kills(const struct rank *r, bool *ret_is_counted)
{
    const struct step_containment *c = r->all->with->containment;
    struct usage u = {0};
    if (c->level == TRACK_STEP)
        cgroup_tree_usage(c->tree, &u);
    else
        u = r->usage;
    *ret_is_counted = c->level == TRACK_RANK && usage_has(&u, USAGE_OOM_KILLS);
    uint64_t kills = usage_has(&u, USAGE_OOM_KILLS) ? u.value[USAGE_OOM_KILLS] : 0;
    uint64_t told = c->level == TRACK_STEP ? r->all->oom_told : 0;
    return kills > told ? kills - told : 0;
}

bool rank_oom_text(const struct rank *r, char *text, size_t n)
{
    char name[RANK_NAME_TEXT], limit[256], size[16], peak[16];
    struct step_containment *c = r->all->with->containment;
    const char *host = launch_here(r->all->with->launch)->host;
    bool is_counted;
    if (r->limit_text) {
        snprintf(text, n, "%s", r->limit_text);
        return true;
    }
    uint64_t kills = counted_kills(r, &is_counted);
    if (kills == 0 && (is_counted || r->was_killed))
        return false;
    if (!oom_kills_explain(&c->oom_kills, limit, sizeof(limit)) && kills == 0)
        return false;
    r->all->oom_told += kills > 0;
    rank_name_format(r->name, name);
    size_format(usage_has(&r->usage, USAGE_MEMORY_PEAK) ? r->usage.value[USAGE_MEMORY_PEAK]
                                                        : r->usage.value[USAGE_RSS_PEAK],
                peak, sizeof(peak));
    if (r->leaf && cgroup_leaf_reached_limit(r->leaf))
        snprintf(text, n, "rank %s on %s exceeded its memory limit %s (peak %s)", name, host,
                 size_format(cgroup_leaf_limits(r->leaf)->memory.value, size, sizeof(size)), peak);
    else if (c->tree && cgroup_tree_reached_limit(c->tree))
        snprintf(text, n,
                 "rank %s on %s was killed: the ranks of this host exceeded --mem %s (peak of this "
                 "rank %s)",
                 name, host, size_format(c->host_limits.memory.value, size, sizeof(size)), peak);
    else
        snprintf(text, n, "rank %s on %s " OOM_KILLED " (%s; its peak %s)", name, host, limit,
                 peak);
    return true;
}
