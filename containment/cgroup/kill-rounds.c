/* SPDX-License-Identifier: BSD-3-Clause */
/* With cgroup.kill the kernel does it, forks in flight included, but for processes that were moved
 * when their first thread had ended (Linux 6.18): these are killed by number. Without (v1, and v2
 * before 5.14) the processes are frozen so that none can fork, each is killed, and they are thawed:
 * on v1 a frozen process does not die before it is. Freezing may stick in FREEZING until it is
 * asked for again, so it is asked again, and after a bounded number of times they are killed as
 * they are. Thawing is never left out, and then they have as long to die as it took to freeze them.
 * Rounds go on until nobody is left; what cannot die (state D) is for the caller to give up on.
 *
 * v1 and the time between two tries have no event to wait for, hence the pauses. */
#include "containment/cgroup/kill.h"

#include <errno.h>

#include "containment/tunables.h"

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
    int frozen_ms = k->frozen_tries * POLICY_FREEZE_PAUSE_MS;
    ssize_t n = kill_each(k->at);
    (void)k->driver->freeze(k->at, 0);
    k->frozen_tries = 0;
    int pause = round_pause(++k->rounds);
    return n < 0 ? -1 : pause > frozen_ms ? pause : frozen_ms;
}

int kill_ladder_step(struct kill_ladder *k)
{
    int populated = k->driver->populated(k->at);
    bool is_gone = populated < 0 && errno == ENOENT;
    if (is_gone || (populated == 0 && k->frozen_tries == 0))
        return 0;
    if (!k->by_file && (!k->driver->kill || k->driver->kill(k->at) < 0))
        return freeze_and_kill(k);
    k->by_file = true;
    if (++k->rounds > POLICY_KILL_BY_FILE_ROUNDS)
        (void)kill_each(k->at);
    return round_pause(k->rounds);
}
