/* SPDX-License-Identifier: BSD-3-Clause */
/* gridengine-tasks.h - the hosts of a job from `qstat -xml -g t -r`
 *
 * Grid Engine's `qstat -j` does not say where a job runs; this list does, with a line for each task
 * of a parallel job. */
#ifndef RM_ADAPTERS_GRIDENGINE_TASKS_H
#define RM_ADAPTERS_GRIDENGINE_TASKS_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "rm-adapters/hostlist.h"

/* The hosts of task `task` of job `id` (1 where the job has no tasks), the master task's first,
 * with their slots; none where it does not run. 0 with *ret, which hostlist_free() empties, or -1.
 */
int gridengine_tasks_parse(const char *bytes, size_t n, uint32_t id, uint32_t task,
                           struct hostlist *ret, struct error *err);

#endif
