/* SPDX-License-Identifier: BSD-3-Clause */
/* method.h - mpstarter as a manager's starter method: Grid Engine's starter_method, LSF's
 * JOB_STARTER, Torque's $job_starter
 *
 * The manager calls it with the job's command in place of the job. It is replaced by what the
 * manager would have run without it, so that exit status, signals, descriptors and process identity
 * are the job's own; the environment has MPRUN_JOB_* besides. */
#ifndef STARTER_METHOD_H
#define STARTER_METHOD_H

/* Where in argv the command begins that a manager has handed over; 0: this is no such call. */
int method_command(int argc, char **argv);
/* Is it called as root for a job of Torque, which may be anybody's? Then standard error says so. */
int method_is_refused(const char *command);
/* Is the command this program itself, and nothing more? A manager's start of a starter comes so. */
int method_is_starter(char **command);
/* Become the job. Returns only where that failed: an exit code; why is on standard error. */
int method_run(char **command);

#endif
