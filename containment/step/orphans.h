/* SPDX-License-Identifier: BSD-3-Clause */
/* orphans.h - kills and removes cgroups of steps whose starter is gone: no loop, may wait */
#pragma once

#include <stddef.h>

#include "common/error.h"

/* For a process that knows only the paths of a step's cgroups (the keeper, mprun): kills what is in
 * these directories, waits at most timeout_ms until they are empty, and removes them and all below.
 * Returns 0; -1 with err: the first that stayed and why (pid, state, wait channel). */
int cgroup_sweep(const char *const *paths, size_t n, int timeout_ms, struct error *err);

/* Kills and removes the cgroups of steps below parent that are this user's, are at least min_age
 * seconds old, and have no owner (the owner locks `top`). */
void orphans_sweep(const char *parent, int min_age);
