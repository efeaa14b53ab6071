/* SPDX-License-Identifier: BSD-3-Clause */
/* gridengine-directory.h - can Grid Engine begin a task of this job on this machine, as far as the
 * job's directory here goes?
 *
 * Its shepherd and qrsh_starter write a task's pid, errors and exit code into the directory that
 * the execd made for the job on the host (TMPDIR). Where they cannot, the task fails by a signal's
 * code, for which the queue master ends the whole job; where the directory is not there, the task
 * never begins and its qrsh waits for ever (sge_shepherd and qrsh_starter 8.1.9, as observed). */
#ifndef RM_ADAPTERS_GRIDENGINE_DIRECTORY_H
#define RM_ADAPTERS_GRIDENGINE_DIRECTORY_H

#include "common/error.h"

/* 0: a file was made in it, written and removed, or it is not known, because the script has changed
 * TMPDIR and TMP. -1 with the reason: none can be. */
int gridengine_directory_takes_tasks(struct error *err);

#endif
