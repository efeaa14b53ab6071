/* SPDX-License-Identifier: BSD-3-Clause */
/* syscalls.h - system calls that a process of mprund's is never to make, refused by the kernel */
#pragma once

#include "node-daemon/lib/start.h"

/* Those that none of mprund's processes makes, root's among them: before the first of them is
 * started. 0, or -1 with err. */
int syscalls_restrict_all(struct error *err);
/* And those that this one does not make. From here on, for this process and what it starts. 0, or
 * -1 with err: the kernel has no filters.
 */
int syscalls_restrict(enum role role, struct error *err);
/* From here on no other process is sent a signal, or has its limits and priority changed. 0, or -1
 * with err. */
int syscalls_keep_to_self(struct error *err);
