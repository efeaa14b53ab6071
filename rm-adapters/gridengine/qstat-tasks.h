/* SPDX-License-Identifier: BSD-3-Clause */
/* qstat-tasks.h - reads the hosts of a job from `qstat -xml -g t -r`
 *
 * Grid Engine's `qstat -j` does not say where a job runs. This list does, with an entry for each
 * task of a parallel job. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rm-adapters/hosts/hostlist.h"

/* Read the hosts of task `task` (1 where the job is no array) of job `id`, the master task's first,
 * with their slots; none where it does not run. 0 with *ret, which hostlist_free() empties, or -1.
 */
int gridengine_tasks_parse(const char *bytes, size_t n, uint32_t id, uint32_t task,
                           struct hostlist *ret, struct error *err);
