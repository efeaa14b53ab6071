/* SPDX-License-Identifier: BSD-3-Clause */
/* killer.c - runs the kill ladder on a loop, and gives it up */
#include <errno.h>

#include "containment/cgroup/kill.h"
#include "containment/tunables.h"

/* A process in state D does not freeze, and the caller may give up while the ladder waits for that.
 * If the cgroup then froze later, the process would stay stopped for ever after state D. */
void kill_ladder_stop(struct kill_ladder *k)
{
    if (k->frozen_tries == 0)
        return;
    (void)kill_each(k->at);
    (void)k->driver->freeze(k->at, 0);
    k->frozen_tries = 0;
}

/* A kernel that kills whole cgroups needs no further help, and tells the end. */
static int killer_step(struct killer *k)
{
    int ms = kill_ladder_step(&k->ladder);
    if (ms > 0 && !k->ladder.by_file)
        loop_timer_start(&k->timer, ms / 1e3, 0);
    return ms;
}

static void killer_turn(void *arg)
{
    struct killer *k = arg;
    if (killer_step(k) < 0 && !k->ladder.by_file) /* memory or descriptors are short for now */
        loop_timer_start(&k->timer, POLICY_KILL_PAUSE_LAST_MS / 1e3, 0);
}

void killer_stop(struct killer *k)
{
    loop_timer_stop(&k->timer);
    kill_ladder_stop(&k->ladder);
}

int killer_start(struct killer *k, struct loop *l, struct cgroup_at at,
                 const struct cgroup_driver *driver, struct error *err)
{
    if (loop_timer_is_active(&k->timer))
        return 0; /* a new ladder would freeze processes again that had no time to die */
    loop_timer_init(&k->timer, l, killer_turn, k);
    kill_ladder_init(&k->ladder, at, driver);
    return killer_step(k) < 0 ? error_errno(err, errno, "kill processes by cgroup") : 0;
}
