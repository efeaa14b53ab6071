/* SPDX-License-Identifier: BSD-3-Clause */
/* slurm.c - a task of Slurm: its number, and the cgroup by which Slurm counts and ends it */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/text/idset.h"
#include "common/text/number.h"
#include "rm-adapters/slurm/slurm-private.h"
#include "rm-adapters/starter-side/starter-side.h"

static int slurm_task_number(unsigned *ret)
{
    const char *text = getenv("SLURM_PROCID"), *list = getenv(SRUN_HOSTS_VARIABLE);
    AUTO(idset_free) struct idset hosts = {.words = NULL};
    int64_t n;
    if (!text || number_parse(text, NULL, 0, IDSET_MAX, &n, NULL) < 0 || !list ||
        idset_parse(list, &hosts, NULL) < 0)
        return -1;
    int host = idset_next(&hosts, 0);
    for (; host >= 0 && n > 0; n--)
        host = idset_next(&hosts, (unsigned)host + 1);
    *ret = (unsigned)host;
    return host < 0 ? -1 : 0;
}

/* proctrack/cgroup: slurmstepd puts every task below .../job_J/step_S, with root's rights. */
static bool slurm_is_tracked(char *how, size_t n)
{
    char text[4096];
    ssize_t length = file_read_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text) - 1);
    const char *slurm, *job;
    if (length <= 0)
        return false;
    text[length] = 0;
    if (!(slurm = strstr(text, "slurm")) || !(job = strstr(slurm, "/job_")) ||
        !strstr(job, "/step_"))
        return false;
    job++;
    snprintf(how, n, "rm:cgroup: Slurm counts them by its cgroup %.*s", (int)strcspn(job, "\n"),
             job);
    return true;
}

/* mprun may itself be a task. */
static const char *const task_variables[] = {
    "SLURM_PROCID=", "SLURM_LOCALID=", "SLURM_NODEID=", "SLURM_TASK_PID=", "SLURM_GTIDS=", NULL};

const struct rm_starter_side rm_starter_side_slurm = {
    .name = "slurm",
    .variables = {[JOB_ID] = "SLURM_JOB_ID",
                  [JOB_TASK] = "SLURM_ARRAY_TASK_ID",
                  [JOB_QUEUE] = "SLURM_JOB_PARTITION",
                  [JOB_SLOTS] = "SLURM_NTASKS",
                  [JOB_HOSTS] = "SLURM_JOB_NUM_NODES"},
    .task_number = slurm_task_number,
    .is_tracked = slurm_is_tracked,
    .gpu_numbers = (const char *const[]){"SLURM_STEP_GPUS", "SLURM_JOB_GPUS", NULL},
    .task_variables = task_variables,
};
