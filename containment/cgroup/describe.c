/* SPDX-License-Identifier: BSD-3-Clause */
/* describe.c - lists the processes in a cgroup, for messages */
#include <errno.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/processes/proc.h"
#include "containment/cgroup/dir.h"

void at_describe(struct cgroup_at d, char *buf, size_t n)
{
    AUTO_FREE pid_t *pids = NULL;
    ssize_t count = at_pids(d, &pids);
    buf[0] = 0;
    if (count > 0)
        proc_describe(pids, (size_t)count, buf, n);
    if (!buf[0])
        snprintf(buf, n, "no process that can be named");
}

int at_remove_or_tell(struct cgroup_at d, const char *path, struct error *err)
{
    char who[400];
    if (at_remove(d) == 0)
        return 0;
    int saved = errno;
    at_describe(d, who, sizeof(who));
    return error_errno(err, saved, "remove cgroup '%s', in which is %s", path, who);
}
