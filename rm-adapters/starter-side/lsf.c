/* SPDX-License-Identifier: BSD-3-Clause */
/* lsf.c - LSF's JOB_STARTER and its variables
 *
 * It hands over words that a shell has split already, or (JOB_STARTER = mpstarter "%USRCMD") one
 * command line: what mpstarter does with any command. A job that is no array has index 0. */
#include "rm-adapters/starter-side/starter-side.h"

static const char *const task_variables[] = {"LSF_PM_TASKID=", NULL};

const struct rm_starter_side rm_starter_side_lsf = {
    .name = "lsf",
    .variables = {[JOB_ID] = "LSB_JOBID",
                  [JOB_TASK] = "LSB_JOBINDEX",
                  [JOB_QUEUE] = "LSB_QUEUE",
                  [JOB_SLOTS] = "LSB_DJOB_NUMPROC",
                  [JOB_HOSTFILE] = "LSB_DJOB_HOSTFILE"},
    .task_variables = task_variables,
};
