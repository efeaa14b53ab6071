/* SPDX-License-Identifier: BSD-3-Clause */
/* slurm.c - Slurm's variables of one task: mprun may itself be such a task */
#include "rm-adapters/starter-side/starter-side.h"

static const char *const task_variables[] = {
    "SLURM_PROCID=", "SLURM_LOCALID=", "SLURM_NODEID=", "SLURM_TASK_PID=", "SLURM_GTIDS=", NULL,
};

const struct rm_starter_side rm_starter_side_slurm = {
    .name = "slurm",
    .task_variables = task_variables,
};
