/* SPDX-License-Identifier: BSD-3-Clause */
/* job-variables.c - MPRUN_JOB_*, from the variables of each manager, limits and affinity */
#include "starter/job-variables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "starter/spool.h"

enum variable {
    RM,
    ID,
    TASK,
    QUEUE,
    PE,
    SLOTS,
    HOSTS,
    HOST_SLOTS,
    HOSTFILE,
    VMEM,
    CPU_TIME,
    CPUS,
    COUNT
};

static const char *const names[COUNT] = {
    [RM] = "MPRUN_JOB_RM",
    [ID] = "MPRUN_JOB_ID",
    [TASK] = "MPRUN_JOB_TASK",
    [QUEUE] = "MPRUN_JOB_QUEUE",
    [PE] = "MPRUN_JOB_PE",
    [SLOTS] = "MPRUN_JOB_SLOTS",
    [HOSTS] = "MPRUN_JOB_HOSTS",
    [HOST_SLOTS] = "MPRUN_JOB_HOST_SLOTS",
    [HOSTFILE] = "MPRUN_JOB_HOSTFILE",
    [VMEM] = "MPRUN_JOB_VMEM",
    [CPU_TIME] = "MPRUN_JOB_CPU_TIME",
    [CPUS] = "MPRUN_JOB_CPUS",
};

/* What a manager calls them. NULL: it has no such variable, or one that means something else. */
static const struct manager {
    const char *name;
    const char *variables[COUNT];
} managers[] = {
    /* the numbers of Grid Engine are below */
    {"gridengine",
     {[ID] = "JOB_ID",
      [TASK] = "SGE_TASK_ID",
      [QUEUE] = "QUEUE",
      [PE] = "PE",
      [HOSTFILE] = "PE_HOSTFILE"}},
    {"lsf",
     {[ID] = "LSB_JOBID",
      [TASK] = "LSB_JOBINDEX",
      [QUEUE] = "LSB_QUEUE",
      [SLOTS] = "LSB_DJOB_NUMPROC",
      [HOSTFILE] = "LSB_DJOB_HOSTFILE"}},
    {"torque",
     {[ID] = "PBS_JOBID",
      [TASK] = "PBS_ARRAYID",
      [QUEUE] = "PBS_QUEUE",
      [SLOTS] = "PBS_NP",
      [HOSTFILE] = "PBS_NODEFILE"}},
};

static const struct manager *find_manager(void)
{
    /* JOB_ID is a name that anybody may have taken */
    size_t first = getenv("SGE_STARTER_SHELL_START_MODE") ? 0 : 1;
    for (size_t i = first; i < sizeof(managers) / sizeof(managers[0]); i++)
        if (getenv(managers[i].variables[ID]))
            return &managers[i];
    return NULL;
}

static void set(enum variable v, const char *value)
{
    if (value && value[0])
        setenv(names[v], value, 1);
}

/* A count of 0 is Grid Engine's way to say that it does not apply. */
static int set_count(enum variable v, const char *value)
{
    if (!value || strtol(value, NULL, 10) <= 0)
        return 0;
    set(v, value);
    return 1;
}

/* In a task of qrsh -inherit the numbers are those of its host, or of the job where that is the
 * job's first host; `config` has the host's on both. Such a task has a PE, but no file of hosts. */
static void set_gridengine_counts(const struct spool *spool)
{
    const char *slots = getenv("NSLOTS");
    if (!getenv("PE") || getenv("PE_HOSTFILE")) {
        set_count(SLOTS, slots);
        set_count(HOSTS, getenv("NHOSTS"));
    }
    if (!set_count(HOST_SLOTS, spool_value(spool, "host_slots")) && !getenv("PE"))
        set_count(HOST_SLOTS, slots);
}

static void set_limit(enum variable v, int resource)
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
        set(CPUS, text);
    }
    idset_free(&allowed);
}

void job_variables_set(const struct spool *spool)
{
    for (size_t v = 0; v < COUNT; v++)
        unsetenv(names[v]);
    const struct manager *m = find_manager();
    if (m) {
        set(RM, m->name);
        for (size_t v = 0; v < COUNT; v++)
            if (m->variables[v] && v != TASK)
                set((enum variable)v, getenv(m->variables[v]));
        /* "undefined" in Grid Engine and 0 in LSF where the job is no array */
        set_count(TASK, getenv(m->variables[TASK]));
        if (m == &managers[0])
            set_gridengine_counts(spool);
    }
    set_limit(VMEM, RLIMIT_AS);
    set_limit(CPU_TIME, RLIMIT_CPU);
    set_cpus();
}
