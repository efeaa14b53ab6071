/* SPDX-License-Identifier: BSD-3-Clause */
/* describe.c - who is in a cgroup, for messages */
#include <errno.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/proc.h"
#include "containment/cgroup/dir.h"

void at_describe(struct cgroup_at d, char *buf, size_t n)
{
    AUTO_FREE pid_t *pids = NULL;
    ssize_t count = at_pids(d, &pids);
    struct proc_stat st;
    char wchan[64] = "";
    if (count <= 0 || proc_stat_read(pids[0], &st) < 0) {
        snprintf(buf, n, "no process that can be named");
        return;
    }
    proc_wchan(pids[0], wchan, sizeof(wchan));
    int len = snprintf(buf, n, "pid %d (%s, state %c%s%s)", (int)pids[0], st.comm, st.state,
                       *wchan ? ", waiting in " : "", wchan);
    if (count > 1 && len > 0 && (size_t)len < n)
        snprintf(buf + len, n - (size_t)len, " and %zd more", count - 1);
}

int at_remove_or_tell(struct cgroup_at d, const char *path, struct error *err)
{
    char who[256];
    if (at_remove(d) == 0)
        return 0;
    int saved = errno;
    at_describe(d, who, sizeof(who));
    return error_errno(err, saved, "remove cgroup '%s', in which is %s", path, who);
}
