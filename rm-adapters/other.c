/* SPDX-License-Identifier: BSD-3-Clause */
/* other.c - jobs that mprun cannot serve: a sentence instead of ranks on one host
 *
 * For managers without an adapter, and for jobs that lack a part of what their adapter needs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rm-adapters/adapter.h"

static const struct {
    const char *variable, *name;
    const char *hosts; /* variable with the name of a file of hosts; NULL: none */
} others[] = {
    {"FLUX_JOB_ID", "Flux", NULL},
    {"PALS_APID", "PALS", NULL},
    {"COBALT_JOBID", "Cobalt", "COBALT_NODEFILE"},
    {"OAR_JOB_ID", "OAR", "OAR_NODEFILE"},
    {"LOADL_STEP_ID", "LoadLeveler", "LOADL_HOSTFILE"},
    {"PJM_JOBID", "Technical Computing Suite", "PJM_O_NODEINF"},
};

/* A file of hosts that a manager's job may have besides what its adapter needs. */
static const char *file_of(const struct rm_adapter *a)
{
    const char *const files[] = {"PBS_NODEFILE", "PE_HOSTFILE", "LSB_DJOB_HOSTFILE"};
    const struct rm_adapter *const owners[] = {&rm_adapter_pbs, &rm_adapter_gridengine,
                                               &rm_adapter_lsf};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (a == owners[i] && getenv(files[i]) && access(getenv(files[i]), R_OK) == 0)
            return files[i];
    return NULL;
}

/* Returns true when there is a job of another manager, and in *ret_file the variable of a file of
 * its hosts, or NULL. */
static bool find(const struct host_request *request, const char **ret_file, char *reason, size_t n)
{
    char why[200];
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (!getenv(others[i].variable))
            continue;
        snprintf(reason, n, "this is a job of %s (%s), of which mprun does not know the hosts",
                 others[i].name, others[i].variable);
        *ret_file = others[i].hosts && getenv(others[i].hosts) ? others[i].hosts : NULL;
        return true;
    }
    for (size_t i = 0; rm_adapters[i]; i++) {
        why[0] = 0;
        if (!rm_adapters[i]->parents || rm_adapters[i]->detect(request, why, sizeof(why)) || !*why)
            continue;
        snprintf(reason, n, "this is part of a job of '%s' only: %s", rm_adapters[i]->name, why);
        *ret_file = file_of(rm_adapters[i]);
        return true;
    }
    return false;
}

static bool other_detect(const struct host_request *request, char *reason, size_t n)
{
    const char *file;
    return find(request, &file, reason, n);
}

static int other_read_allocation(const struct host_request *request, struct allocation *ret,
                                 struct error *err)
{
    char reason[300] = "";
    const char *file = NULL;
    find(request, &file, reason, sizeof(reason));
    return error_set(err, ENOTSUP,
                     "%s; name them with %s%s, or write '--rm local' for this host alone", reason,
                     file ? "--hostfile $" : "--host or --hostfile", file ? file : "");
}

const struct rm_adapter rm_adapter_other = {
    .name = "other",
    .detect = other_detect,
    .read_allocation = other_read_allocation,
    .stdio_channel = STDIO_NONE,
    .stdio_reason = "nothing is started",
    .unaccounted = "nothing is started",
};
