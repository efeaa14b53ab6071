/* SPDX-License-Identifier: BSD-3-Clause */
/* delegate.h - handing a cgroup v2 directory over to a user */
#pragma once

#include <sys/types.h>

#include "containment/cgroup/dir.h"

/* The directory, and of its files those that the kernel says are safe (/sys/kernel/cgroup/delegate)
 * become the user's: never the limits. 0, or -1 with errno. */
int delegate_to(struct cgroup_at d, uid_t uid);
