/* SPDX-License-Identifier: BSD-3-Clause */
/* task-lists.h - the lists of a step's hosts and tasks that srun gives to each task */
#pragma once

#include <stddef.h>

#include "model/step.h"

enum { TASK_LISTS = 4 };
/* Make "NAME=value" of each for ranks of the host `here` of these nhosts, without those that are
 * longer than a variable can be; NULL behind the last. The caller frees each. */
void task_lists_make(const struct placement *hosts, size_t nhosts, size_t here,
                     char *ret[TASK_LISTS + 1]);
