/* SPDX-License-Identifier: BSD-3-Clause */
/* orphans.h - ending and removing cgroups of steps whose starter is gone: no loop, may wait */
#pragma once

#include <stddef.h>

#include "common/error.h"

/* For a process that knows only the paths of a step's cgroups (the keeper, mprun): kill what is in
 * these directories, wait at most timeout_ms for them to empty, and remove them and what is below.
 * 0, or -1 with the first that stayed and why (pid, state, wait channel). */
int cgroup_sweep(const char *const *paths, size_t n, int timeout_ms, struct error *err);

/* End and remove the cgroups of steps below parent that are this user's, have no owner (a lock on
 * top), and are at least min_age seconds old. */
void orphans_sweep(const char *parent, int min_age);
