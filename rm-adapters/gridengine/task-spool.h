/* SPDX-License-Identifier: BSD-3-Clause */
/* task-spool.h - what Grid Engine's execd wrote about this task into its spool directory
 *
 * $SGE_JOB_SPOOL_DIR names the directory, which belongs to the manager. Where an administrator has
 * closed it to users, nothing is known. */
#pragma once

#include <stddef.h>

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
