/* SPDX-License-Identifier: BSD-3-Clause */
/* starter-method.h - mpstarter as a resource manager's starter method
 *
 * The manager calls mpstarter with the job's command in place of the job. mpstarter replaces itself
 * by what the manager would have run without it (rm-adapters/starter-side/starter-side.h), so that
 * exit status, signals, descriptors and process identity are the job's own; the job also gets
 * MPRUN_JOB_*. */
#pragma once

#include <stdbool.h>

/* The index in argv at which the command begins that a manager handed over; 0: no manager has. */
int method_command(int argc, char **argv);
/* Do the manager's rules forbid this process to become a job? Then standard error says why. */
bool method_is_refused(const char *command);
/* Is the command this program itself, without arguments? That is how a manager starts a starter. */
bool method_is_starter(char **command);
/* Become the job. Returns only if that fails: an exit code; standard error says why. */
int method_run(char **command);
