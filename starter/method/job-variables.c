/* SPDX-License-Identifier: BSD-3-Clause */
/* job-variables.c - MPRUN_JOB_*, from the variables of the job's manager, limits and affinity */
#include "starter/method/job-variables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "rm-adapters/starter-side/starter-side.h"

static const char *const names[JOB_VARIABLES] = {
    [JOB_RM] = "MPRUN_JOB_RM",
    [JOB_ID] = "MPRUN_JOB_ID",
    [JOB_TASK] = "MPRUN_JOB_TASK",
    [JOB_QUEUE] = "MPRUN_JOB_QUEUE",
    [JOB_PE] = "MPRUN_JOB_PE",
    [JOB_SLOTS] = "MPRUN_JOB_SLOTS",
    [JOB_HOSTS] = "MPRUN_JOB_HOSTS",
    [JOB_HOST_SLOTS] = "MPRUN_JOB_HOST_SLOTS",
    [JOB_HOSTFILE] = "MPRUN_JOB_HOSTFILE",
    [JOB_VMEM] = "MPRUN_JOB_VMEM",
    [JOB_CPU_TIME] = "MPRUN_JOB_CPU_TIME",
    [JOB_CPUS] = "MPRUN_JOB_CPUS",
};

static void set(enum job_variable v, const char *value)
{
    if (value && value[0])
        setenv(names[v], value, 1);
}

static bool set_count(enum job_variable v, const char *value)
{
    if (!value || strtol(value, NULL, 10) <= 0)
        return false;
    set(v, value);
    return true;
}

static void set_limit(enum job_variable v, int resource)
{
    struct rlimit limit;
    char text[24];
    if (getrlimit(resource, &limit) < 0 || limit.rlim_max == RLIM_INFINITY)
        return;
    snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)limit.rlim_max);
    set(v, text);
}

static void set_cpus(void)
{
    struct idset allowed = {0};
    if (cpus_allowed(&allowed, NULL) == 0) {
        AUTO_FREE char *text = idset_format(&allowed);
        set(JOB_CPUS, text);
    }
    idset_free(&allowed);
}

static void set_from_manager(const struct rm_starter_side *m)
{
    set(JOB_RM, m->name);
    for (size_t v = 0; v < JOB_VARIABLES; v++)
        if (m->variables[v] && v != JOB_TASK)
            set((enum job_variable)v, getenv(m->variables[v]));
    /* "undefined" or 0 where the job is no array */
    if (m->variables[JOB_TASK])
        set_count(JOB_TASK, getenv(m->variables[JOB_TASK]));
    if (m->set_counts)
        m->set_counts(set_count);
}

void job_variables_set(void)
{
    const struct rm_starter_side *m = rm_starter_side_of_job();
    for (size_t v = 0; v < JOB_VARIABLES; v++)
        unsetenv(names[v]);
    if (m)
        set_from_manager(m);
    set_limit(JOB_VMEM, RLIMIT_AS);
    set_limit(JOB_CPU_TIME, RLIMIT_CPU);
    set_cpus();
}
