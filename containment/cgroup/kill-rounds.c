/* SPDX-License-Identifier: BSD-3-Clause */
/* kill-rounds.c - with cgroup.kill the kernel kills all, forks in flight included, except processes
 * that were moved after their first thread had ended (Linux 6.18): these are killed by pid. Without
 * it (v1, and v2 before 5.14) a round freezes the processes so that none can fork, kills each, and
 * thaws them: on v1 a frozen process dies only then. Freezing may stick in FREEZING until the next
 * request; after a bounded number of requests the round kills unfrozen processes. It always thaws,
 * and then gives them as long to die as freezing took. Rounds go on until no process is left; the
 * caller gives up on what cannot die (state D).
 *
 * v1, and the time between two tries, have no event to wait for, hence the pauses. */
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

/* Kills and thaws once all is frozen, or need not be; until then asks for freezing again. */
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
