/* SPDX-License-Identifier: BSD-3-Clause */
/* job-variables.h - the job under one set of names, whatever the resource manager */
#ifndef STARTER_JOB_VARIABLES_H
#define STARTER_JOB_VARIABLES_H

struct spool;

/* Put MPRUN_JOB_* into the environment, from what the manager has told this process: its variables,
 * the execd's `config`, limits. Nobody is asked. What is not known is not set, nor left over from
 * the environment in which the job was submitted. The names are in mpstarter(1). */
void job_variables_set(const struct spool *spool);

#endif
