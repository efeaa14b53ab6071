/* SPDX-License-Identifier: BSD-3-Clause */
/* other.c - managers that mprun knows by name alone: a sentence instead of ranks on one host */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "rm-adapters/adapter.h"

static const struct {
    const char *variable, *name;
} others[] = {
    {"FLUX_JOB_ID", "Flux"},
    {"PALS_APID", "PALS"},
};

static bool other_detect(const struct host_request *request, char *reason, size_t n)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (!getenv(others[i].variable))
            continue;
        snprintf(reason, n, "this is a job of %s (%s)", others[i].name, others[i].variable);
        return true;
    }
    return false;
}

static int other_read_allocation(const struct host_request *request, struct allocation *ret,
                                 struct error *err)
{
    char reason[160] = "";
    other_detect(request, reason, sizeof(reason));
    return error_set(err, ENOTSUP,
                     "%s, of which mprun does not know the hosts: name them with --host or "
                     "--hostfile, or write '--rm local' for this host alone",
                     reason);
}

const struct rm_adapter rm_adapter_other = {
    .name = "other",
    .detect = other_detect,
    .read_allocation = other_read_allocation,
    .stdio_channel = STDIO_NONE,
    .stdio_reason = "nothing is started",
    .unaccounted = "nothing is started",
};
