/* SPDX-License-Identifier: BSD-3-Clause */
/* syscalls.h - has the kernel refuse system calls that a process of mprund never makes */
#pragma once

#include "node-daemon/lib/start.h"

/* Refuse calls that no process of mprund makes, not even as root. Call it before the first is
 * started. 0, or -1 with err. */
int syscalls_restrict_all(struct error *err);
/* Refuse calls that this role does not make, for this process and its children. 0, or -1 with err:
 * the kernel has no filters. */
int syscalls_restrict(enum role role, struct error *err);
/* From here on this process cannot signal others, or change their limits and priority. 0, or -1
 * with err. */
int syscalls_keep_to_self(struct error *err);
