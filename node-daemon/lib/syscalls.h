/* SPDX-License-Identifier: BSD-3-Clause */
/* syscalls.h - system calls that a process of mprund's is never to make, refused by the kernel */
#pragma once

#include "node-daemon/lib/start.h"

/* From here on, for this process and what it starts. 0, or -1 with err: the kernel has no filters.
 */
int syscalls_restrict(enum role role, struct error *err);
/* From here on no other process is sent a signal, or has its limits and priority changed. 0, or -1
 * with err. */
int syscalls_keep_to_self(struct error *err);
