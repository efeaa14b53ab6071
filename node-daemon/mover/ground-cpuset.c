/* SPDX-License-Identifier: BSD-3-Clause */
/* ground-cpuset.c - the jobs' parent cpuset in v1, made ready when the manager's daemon starts */
#include <errno.h>

#include "node-daemon/command/make-ground.h"

int ground_prepare(const struct ground *g, int exclusive, struct error *err)
{
    for (size_t i = 0; i < g->n; i++) {
        const struct ground_part *p = &g->part[i];
        struct cgroup_at here = ground_at(g, i, "."), above = ground_at(g, i, "..");
        if (p->driver->version != 1 || !(p->controllers & CGROUP_BIT(CGROUP_CPUSET)))
            continue;
        if (p->driver->prepare(above, here, p->controllers) < 0)
            return error_errno(err, errno, "give cpus and memory nodes to cgroup '%s'", p->path);
        if (exclusive && at_write(here, "cpuset.cpu_exclusive", "1") < 0)
            return error_errno(err, errno, "make the cpus of cgroup '%s' exclusive", p->path);
    }
    return 0;
}
