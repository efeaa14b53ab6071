/* SPDX-License-Identifier: BSD-3-Clause */
/* job-variables.h - the job under one set of names, whatever the resource manager */
#pragma once

/* Put MPRUN_JOB_* into the environment, from what the manager has told this process (its variables
 * and files) and from limits. Asks nobody. What is not known is not set, and nothing is left over
 * from the environment in which the job was submitted. The names are in mpstarter(1). */
void job_variables_set(void);
