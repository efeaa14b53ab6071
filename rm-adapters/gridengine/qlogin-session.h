/* SPDX-License-Identifier: BSD-3-Clause */
/* qlogin-session.h - a session of Grid Engine, whose shell lacks the job's variables */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct error;

/* Returns the number of the job whose shepherd is an ancestor of this process, and the shepherd's
 * pid in *ret_shepherd; 0: there is none. */
unsigned gridengine_session_job(pid_t *ret_shepherd);

/* Set the variables of the job that this process lacks. Runs qconf to find the spool directory. 0,
 * or -1 with what the user can do. */
int gridengine_session_enter(unsigned job, struct error *err);

/* Set the variables in text, lines NAME=VALUE, that describe a job (JOB_ID, PE_HOSTFILE, SGE_...)
 * and not its shell (PATH, HOME), and that this process lacks. Changes text. Their number. */
size_t gridengine_session_adopt(char *text);
