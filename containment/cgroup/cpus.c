/* SPDX-License-Identifier: BSD-3-Clause */
/* cpus.c - the hardware threads and memory nodes of a cpuset */
#include <errno.h>

#include "common/cleanup.h"
#include "containment/cgroup/dir.h"

enum { CPU_LIST_MAX = 16384 }; /* every second one of 4096 threads, with room to spare */

/* v1 before 3.17 tells only what was set. */
static int read_first(struct cgroup_at d, const char *const files[3], struct idset *ret)
{
    char text[CPU_LIST_MAX];
    for (size_t i = 0; i < 3; i++)
        if (at_read(d, files[i], text, sizeof(text)) >= 0)
            return idset_parse(text, ret, NULL);
    return -1;
}

int at_read_cpus(struct cgroup_at d, struct idset *ret)
{
    static const char *const files[] = {"cpuset.cpus.effective", "cpuset.effective_cpus",
                                        "cpuset.cpus"};
    return read_first(d, files, ret);
}

int at_read_memory_nodes(struct cgroup_at d, struct idset *ret)
{
    static const char *const files[] = {"cpuset.mems.effective", "cpuset.effective_mems",
                                        "cpuset.mems"};
    return read_first(d, files, ret);
}

/* Both versions accept a set of which nothing can be had, without an error (v2 then gives all that
 * the parent has). So this reads back what holds. */
int at_write_cpus(struct cgroup_at d, const struct idset *cpus, struct error *err)
{
    AUTO(idset_free) struct idset held = {0};
    AUTO_FREE char *text = idset_format(cpus);
    if (at_write(d, "cpuset.cpus", text) < 0 || at_read_cpus(d, &held) < 0)
        return error_errno(err, errno, "give it hardware threads %s", text);
    if (idset_equal(cpus, &held))
        return 0;
    AUTO_FREE char *has = idset_format(&held);
    return error_set(err, ENOTSUP, "give it hardware threads %s: it has %s", text, has);
}
