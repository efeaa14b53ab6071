/* SPDX-License-Identifier: BSD-3-Clause */
/* task-spool.h - what Grid Engine's execd wrote about this task into its spool directory
 *
 * $SGE_JOB_SPOOL_DIR names the directory, which belongs to the manager. Where an administrator has
 * closed it to users, nothing is known. */
#pragma once

#include <stddef.h>

#include "common/error.h"

struct task_spool { /* the file `config`: lines "name=value" */
    char *text;     /* each line ended by a NUL; NULL: none */
    size_t len;
};

/* Read `config`, if it is there and can be read; task_spool_free() frees what it holds. */
void task_spool_read(struct task_spool *ret);
void task_spool_free(struct task_spool *s);
/* The value of the first line with this name, or NULL. It lives as long as *s. */
const char *task_spool_value(const struct task_spool *s, const char *name);

/* The supplementary group by which Grid Engine counts and limits what the task uses, from the file
 * `addgrpid`; 0: there is none, this process is not in it, or the user could have written the file.
 * A process keeps the group unless it is root's or was begun by a login server. */
unsigned task_spool_group(void);

/* Does the job's directory on this machine let Grid Engine begin a task here? Make, write and
 * remove a file in it. 0: that worked, or the directory is not known because the script changed
 * TMPDIR and TMP. -1 with the reason.
 *
 * The execd makes a directory for the job on each host (TMPDIR). The shepherd and qrsh_starter
 * write a task's pid, errors and exit code into it. Where they cannot, the task fails with a
 * signal's code, and the queue master ends the whole job. Where the directory is missing, the task
 * never begins and its qrsh waits for ever (observed with sge_shepherd and qrsh_starter 8.1.9). */
int gridengine_directory_takes_tasks(struct error *err);
