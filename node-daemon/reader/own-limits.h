/* SPDX-License-Identifier: BSD-3-Clause */
/* own-limits.h - what a process that this daemon knows is limited to by its cgroup */
#pragma once

#include <sys/types.h>

#include "model/limits.h"

/* The smallest limit of memory (bytes) of the cgroups that it is in, v1 and v2; not set: none, or
 * none that can be read. */
struct limit own_memory_limit(pid_t pid);
