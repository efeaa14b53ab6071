/* SPDX-License-Identifier: BSD-3-Clause */
/* killer.c - the ladder of kill.c on a loop */
#include <errno.h>

#include "containment/cgroup/kill.h"
#include "containment/tunables.h"

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

int killer_start(struct killer *k, struct loop *l, struct cgroup_at at,
                 const struct cgroup_driver *driver, struct error *err)
{
    loop_timer_stop(&k->timer);
    loop_timer_init(&k->timer, l, killer_turn, k);
    kill_ladder_init(&k->ladder, at, driver);
    return killer_step(k) < 0 ? error_errno(err, errno, "kill processes by cgroup") : 0;
}

void killer_stop(struct killer *k)
{
    loop_timer_stop(&k->timer);
}
