/* SPDX-License-Identifier: BSD-3-Clause */
/* With cgroup.kill the kernel does it, forks in flight included, but for processes that were moved
 * when their first thread had ended (Linux 6.18): these are killed by number. Without (v1, and v2
 * before 5.14) the processes are frozen so that none can fork, each is killed, and they are thawed:
 * on v1 a frozen process does not die before it is. Freezing may stick in FREEZING until it is
 * asked for again, so it is asked again, and after a bounded number of times they are killed as
 * they are. Thawing is never left out. Rounds go on until nobody is left; what cannot die (state D)
 * is for the caller to give up on.
 *
 * v1 and the time between two tries have no event to wait for, hence the pauses. */
#include "containment/cgroup/kill.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "containment/tunables.h"

/* The same numbers on all architectures; headers may be older. */
enum { NR_PIDFD_OPEN = 434, NR_PIDFD_SEND_SIGNAL = 424 };

/* ---- by number ------------------------------------------------------------------------------- */

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* Between reading a number and sending a signal to it, it may have become another process. A
 * descriptor holds one process; if its number is still in the cgroup after it was opened, then
 * either it is that process, or the descriptor's process is dead and the signal goes nowhere. */
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
    pid_t *still = NULL;
    ssize_t nstill = at_pids(d, &still);
    if (nstill > 0)
        qsort(still, (size_t)nstill, sizeof(*still), compare_pids);
    for (size_t i = 0; i < n; i++) {
        if (nstill > 0)
            send_kill(&targets[i], still, (size_t)nstill);
        cleanup_close(&targets[i].fd);
    }
    free(still);
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

/* ---- the ladder ------------------------------------------------------------------------------ */

void kill_ladder_init(struct kill_ladder *k, struct cgroup_at at,
                      const struct cgroup_driver *driver)
{
    *k = (struct kill_ladder){.at = at, .driver = driver};
}

static int round_pause(unsigned rounds)
{
    int ms = POLICY_KILL_PAUSE_FIRST_MS;
    for (; rounds > 1 && ms < POLICY_KILL_PAUSE_LAST_MS; rounds--)
        ms *= 2;
    return ms < POLICY_KILL_PAUSE_LAST_MS ? ms : POLICY_KILL_PAUSE_LAST_MS;
}

/* Frozen, or not to be frozen: kill and thaw. On the way there: ask again later. */
static int freeze_and_kill(struct kill_ladder *k)
{
    if (k->driver->freeze(k->at, 1) == 0 && ++k->frozen_tries < POLICY_FREEZE_TRIES)
        return POLICY_FREEZE_PAUSE_MS;
    ssize_t n = kill_each(k->at);
    (void)k->driver->freeze(k->at, 0);
    k->frozen_tries = 0;
    k->rounds++;
    return n < 0 ? -1 : round_pause(k->rounds);
}

int kill_ladder_step(struct kill_ladder *k)
{
    int populated = k->driver->populated(k->at);
    bool is_gone = populated < 0 && errno == ENOENT;
    if (is_gone || (populated == 0 && k->frozen_tries == 0))
        return 0;
    if (!k->by_file && k->driver->kill(k->at) < 0)
        return freeze_and_kill(k);
    k->by_file = true;
    if (++k->rounds > POLICY_KILL_BY_FILE_ROUNDS)
        (void)kill_each(k->at);
    return round_pause(k->rounds);
}
