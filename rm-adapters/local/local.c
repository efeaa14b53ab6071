/* SPDX-License-Identifier: BSD-3-Clause */
/* local.c - no resource manager: this machine, as one host or posing as several
 *
 * "local" is one host with all the cores that mprun may use. "local:N" is N hosts, each with a
 * starter and cores of its own while there are enough: for trying out what needs several hosts.
 * Starters are children of mprun; one is spawned per turn of the loop. */
#include "rm-adapters/adapter.h"

#include <stdint.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/machine/cpus.h"
#include "common/text/number.h"
#include "rm-adapters/hosts/requested-hosts.h"
#include "rm-adapters/tunables.h"
#include "rm-adapters/processes/start-many.h"

/* ---- allocation ------------------------------------------------------------------------------ */

static bool local_detect(const struct host_request *request, char *reason, size_t n)
{
    snprintf(reason, n, "no resource manager is needed: this machine alone");
    return true;
}

static struct alloc_host *add_host(struct allocation *a, const char *name,
                                   const struct idset *threads)
{
    struct alloc_host *h = allocation_add_host(a, name);
    unsigned cores = cpus_count_cores(threads);
    h->slots.value = cores ? cores : 1;
    snprintf(h->slots.source, sizeof(h->slots.source), "cores of this machine");
    h->here = 1;
    return h;
}

static void add_parts(struct allocation *a, const char *name, const struct idset *allowed,
                      unsigned nhosts)
{
    struct idset parts[LOCAL_HOSTS_MAX] = {0};
    char full[320];
    cpus_split(allowed, nhosts, parts);
    for (unsigned i = 0; i < nhosts; i++) {
        snprintf(full, sizeof(full), "%s-%u", name, i);
        struct alloc_host *h = add_host(a, full, &parts[i]);
        h->cores_known = 1;
        h->cores = parts[i];
        snprintf(h->cores_source, sizeof(h->cores_source), "local:N's share of this machine");
    }
}

static int local_read_allocation(const struct host_request *request, struct allocation *ret,
                                 struct error *err)
{
    const char *argument = request->argument;
    struct allocation a = {.may_oversubscribe = 1};
    AUTO(idset_free) struct idset allowed = {0};
    int64_t nhosts = 0;
    char name[256];
    if (named_refuse(request, rm_adapter_local.name, err) < 0)
        return -1;
    if (argument &&
        number_parse(argument, "hosts of 'local:N'", 1, LOCAL_HOSTS_MAX, &nhosts, err) < 0)
        return -1;
    if (named_self(name, sizeof(name), err) < 0 || cpus_allowed(&allowed, err) < 0)
        return -1;
    if (argument)
        add_parts(&a, name, &allowed, (unsigned)nhosts);
    else
        add_host(&a, name, &allowed);
    *ret = a;
    return 0;
}

/* ---- start ----------------------------------------------------------------------------------- */

static struct starting *local_start(const struct start_request *request, struct error *err)
{
    static const struct fanout_way way = {.open = fanout_starter, .at_once = LOCAL_HOSTS_MAX};
    return fanout_begin(request, &way, NULL);
}

static void local_describe(const struct start_request *request, const struct alloc_host *host,
                           char *buf, size_t n)
{
    snprintf(buf, n, "by mprun itself: %s", request->starter_path);
}

const struct rm_adapter rm_adapter_local = {
    .name = "local",
    .detect = local_detect,
    .read_allocation = local_read_allocation,
    .start = local_start,
    .cancel = fanout_cancel,
    .destroy = fanout_destroy,
    .reported = fanout_reported,
    .describe = local_describe,
    .gpu_env = RM_GPU_ENV,
    .stdio_channel = STDIO_PER_HOST,
};
