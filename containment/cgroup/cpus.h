/* SPDX-License-Identifier: BSD-3-Clause */
/* cpus.h - the hardware threads of a cgroup that has the controller cpuset */
#pragma once

#include "common/error.h"
#include "common/idset.h"
#include "containment/cgroup/dir.h"

/* The threads that the cgroup really has. 0, or -1 with errno. */
int at_read_cpus(struct cgroup_at d, struct idset *ret);
/* Give it these threads, and read back what it has: 0, or -1 with err when that is something else.
 * v1 takes only threads that the parent has. */
int at_write_cpus(struct cgroup_at d, const struct idset *cpus, struct error *err);
