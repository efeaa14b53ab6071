/* SPDX-License-Identifier: BSD-3-Clause */
/* kill.c - all processes of a cgroup, killed by number */
#include "containment/cgroup/kill.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "containment/tunables.h"

/* The same numbers on all architectures; headers may be older. */
enum { NR_PIDFD_OPEN = 434, NR_PIDFD_SEND_SIGNAL = 424 };

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* Between reading a pid and signalling it, the pid may have become another process's. A descriptor
 * holds one process: if its pid is still in the cgroup after it was opened, then either it is that
 * process, or the descriptor's process is dead and the signal has no effect. */
struct target {
    pid_t pid;
    int fd;
};

static void open_targets(struct target *targets, const pid_t *pids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        targets[i].pid = pids[i];
        targets[i].fd = (int)syscall(NR_PIDFD_OPEN, pids[i], 0);
        if (targets[i].fd < 0 && errno != ENOSYS && errno != EPERM)
            targets[i].pid = 0; /* gone already */
    }
}

static void send_kill(struct target *t, const pid_t *still, size_t nstill)
{
    if (t->pid <= 1 || t->pid == getpid())
        return;
    if (!bsearch(&t->pid, still, nstill, sizeof(*still), compare_pids))
        return;
    if (t->fd >= 0)
        (void)syscall(NR_PIDFD_SEND_SIGNAL, t->fd, SIGKILL, NULL, 0);
    else
        (void)kill(t->pid, SIGKILL); /* a kernel before 5.3 */
}

static int kill_batch(struct cgroup_at d, const pid_t *pids, size_t n)
{
    struct target targets[POLICY_KILL_BATCH];
    open_targets(targets, pids, n);
    AUTO_FREE pid_t *still = NULL;
    ssize_t nstill = at_pids(d, &still);
    if (nstill > 0)
        qsort(still, (size_t)nstill, sizeof(*still), compare_pids);
    for (size_t i = 0; i < n; i++) {
        if (nstill > 0)
            send_kill(&targets[i], still, (size_t)nstill);
        cleanup_close(&targets[i].fd);
    }
    return nstill < 0 ? -1 : 0;
}

ssize_t kill_each(struct cgroup_at d)
{
    AUTO_FREE pid_t *pids = NULL;
    ssize_t n = at_pids(d, &pids);
    for (ssize_t at = 0; at < n; at += POLICY_KILL_BATCH) {
        size_t batch = n - at < POLICY_KILL_BATCH ? (size_t)(n - at) : POLICY_KILL_BATCH;
        if (kill_batch(d, pids + at, batch) < 0)
            return -1;
    }
    return n;
}
