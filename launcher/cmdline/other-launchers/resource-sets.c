/* SPDX-License-Identifier: BSD-3-Clause */
/* resource-sets.c - jsrun's resource sets as ranks and cores */
#include <stdio.h>

#include "launcher/cmdline/other-launchers/other-launchers.h"

/* A set has so many cores; what its tasks have of them. */
static int settle_set_cores(struct cmdline *c, const struct resource_sets *sets, uint32_t tasks,
                            struct error *err)
{
    uint32_t packed = sets->packed ? sets->packed : 1;
    uint32_t cores = sets->cores ? sets->cores : packed * tasks;
    char how[96];
    if (sets->all_cores)
        return sets->shared ? cmdline_apply_named(c, "--bind-to", "none", err)
               : packed > 1 ? cmdline_apply_number(c, "--cpus-per-rank", packed, err)
                            : 0;
    if (tasks == 1 && (sets->shared || packed >= cores))
        return cores > 1 ? cmdline_apply_number(c, "--cpus-per-rank", cores, err) : 0;
    int n = snprintf(how, sizeof(how), "%u:%u", tasks, cores);
    if (!sets->shared && packed < cores)
        n += snprintf(how + n, sizeof(how) - (size_t)n, ":each=%u", packed);
    if (sets->turn && tasks > 1)
        snprintf(how + n, sizeof(how) - (size_t)n, ":turn=%u", sets->turn);
    return cmdline_apply_named(c, "--rank-sets", how, err);
}

int cmdline_settle_sets(struct cmdline *c, struct error *err)
{
    struct resource_sets sets = c->reading.sets;
    uint64_t tasks = sets.tasks ? sets.tasks : 1;
    char how[48];
    c->reading.sets = (struct resource_sets){.number = 0}; /* once */
    if (sets.number)
        c->reading.app = c->apps;
    if (!sets.tasks && sets.number && c->reading.app->nranks > sets.number)
        tasks = (c->reading.app->nranks - 1) / sets.number + 1; /* of all tasks */
    if ((sets.all_cores || sets.all_hosts) && !sets.per_host)
        sets.per_host = 1;
    snprintf(how, sizeof(how), "ppr:%u:socket", sets.per_socket);
    if ((sets.number && !c->reading.app->nranks &&
         cmdline_apply_number(c, "--np", sets.number * tasks, err) < 0) ||
        (sets.per_host && cmdline_apply_number(c, "--npernode", sets.per_host * tasks, err) < 0) ||
        (sets.per_socket && cmdline_apply_named(c, "--map-by", how, err) < 0))
        return -1;
    return settle_set_cores(c, &sets, (uint32_t)tasks, err);
}
