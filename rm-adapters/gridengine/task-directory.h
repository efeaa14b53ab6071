/* SPDX-License-Identifier: BSD-3-Clause */
/* task-directory.h - does the job's directory on this machine let Grid Engine begin a task here?
 *
 * The execd makes a directory for the job on each host (TMPDIR). The shepherd and qrsh_starter
 * write a task's pid, errors and exit code into it. Where they cannot, the task fails with a
 * signal's code, and the queue master ends the whole job. Where the directory is missing, the task
 * never begins and its qrsh waits for ever (observed with sge_shepherd and qrsh_starter 8.1.9). */
#pragma once

#include "common/error.h"

/* Make, write and remove a file in it. 0: that worked, or the directory is not known because the
 * script changed TMPDIR and TMP. -1 with the reason. */
int gridengine_directory_takes_tasks(struct error *err);
