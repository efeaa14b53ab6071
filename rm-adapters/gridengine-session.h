/* SPDX-License-Identifier: BSD-3-Clause */
/* gridengine-session.h - a session of Grid Engine: qlogin, or qrsh without a command
 *
 * Its shell is a login shell, and has none of the job's variables. The job's number stands in the
 * name of the shepherd that is among the shell's ancestors ("sge_shepherd-12"), and the variables
 * in the file `environment` of the job's spool directory on this host, which anybody may read. */
#ifndef RM_ADAPTERS_GRIDENGINE_SESSION_H
#define RM_ADAPTERS_GRIDENGINE_SESSION_H

#include <sys/types.h>

#include "common/error.h"

/* The job whose shepherd is an ancestor of this process: its number, and in *ret_shepherd the
 * process. 0: none. */
unsigned gridengine_session_job(pid_t *ret_shepherd);

/* Give this process the job's variables that it has not got. Asks qconf where the spool directory
 * is. 0, or -1 with what to do. */
int gridengine_session_enter(unsigned job, struct error *err);

/* Set, of the lines NAME=VALUE in text, those that are of a job (JOB_ID, PE_HOSTFILE, SGE_...) and
 * not of its shell (PATH, HOME), and only where this process has no such variable. Their number. */
size_t gridengine_session_adopt(char *text);

#endif
