/* SPDX-License-Identifier: BSD-3-Clause */
/* sweep.h - ending and removing steps' cgroups after a crash, for a process that knows only their
 * paths (the keeper, mprun): no loop, may wait */
#pragma once

#include <stddef.h>

#include "common/error.h"

/* Kill what is in the cgroup directories, wait at most timeout_ms for them to empty, and remove
 * them and what is below. 0, or -1 with the first that stayed and why (pid, state, wait channel).
 */
int cgroup_sweep(const char *const *paths, size_t n, int timeout_ms, struct error *err);
