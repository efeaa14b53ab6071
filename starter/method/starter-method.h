/* SPDX-License-Identifier: BSD-3-Clause */
/* starter-method.h - mpstarter as a resource manager's starter method
 *
 * The manager calls mpstarter with the job's command in place of the job. mpstarter replaces itself
 * by the program that the manager would have run without it
 * (rm-adapters/starter-side/starter-side.h). So the job keeps its own exit status, signals,
 * descriptors and process identity; it also gets MPRUN_JOB_*. */
#pragma once

#include <stdbool.h>

/* Returns the index in argv of the command that a manager handed over; 0: there is none. */
int method_command(int argc, char **argv);
/* Returns whether the manager's rules forbid this process to become a job; then says why on
 * standard error. */
bool method_is_refused(const char *command);
/* Returns whether the command is this program without arguments: a manager starts a starter so. */
bool method_is_starter(char **command);
/* Becomes the job. Returns an exit code only if that fails, and says why on standard error. */
int method_run(char **command);
