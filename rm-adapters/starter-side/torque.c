/* SPDX-License-Identifier: BSD-3-Clause */
/* torque.c - Torque's $job_starter, and variables of the PBS family
 *
 * Torque (its sources of 2020, pbs_mom's start_exec.c) hands over the path of the job's shell
 * alone, whose standard input is the script or its name: without the dash of a login shell that the
 * shell would be called with. From 4.2.2 on it hands over the words of tm_spawn, too. All are
 * executed as they are. It sets PBS_ENVIRONMENT itself, behind what the user says. */
#include "rm-adapters/starter-side/starter-side.h"

#include <stdlib.h>
#include <unistd.h>

/* As root it may be anybody's job. */
static const char *torque_refusal(const char **ret_advice)
{
    if (geteuid() != 0 || !getenv("PBS_ENVIRONMENT"))
        return NULL;
    *ret_advice = "take $job_starter_run_privileged out of pbs_mom's configuration";
    return "mpstarter was called as root and does not become the job's user";
}

static const char *const task_variables[] = {"PBS_TASKNUM=", "PBS_NODENUM=", "PBS_VNODENUM=", NULL};

const struct rm_starter_side rm_starter_side_torque = {
    .name = "torque",
    .variables = {[JOB_ID] = "PBS_JOBID",
                  [JOB_TASK] = "PBS_ARRAYID",
                  [JOB_QUEUE] = "PBS_QUEUE",
                  [JOB_SLOTS] = "PBS_NP",
                  [JOB_HOSTFILE] = "PBS_NODEFILE"},
    .refusal = torque_refusal,
    .task_variables = task_variables,
};
