/* SPDX-License-Identifier: BSD-3-Clause */
/* kill.h - ending every process of a cgroup, by cgroup.kill; else freeze, kill each, thaw, again */
#pragma once

#include <stdbool.h>

#include "common/error.h"
#include "common/loop.h"
#include "containment/cgroup/driver.h"

struct kill_ladder {     /* without a loop; written by kill-rounds.c alone */
    struct cgroup_at at; /* the caller keeps fd and name as long as the ladder is used */
    const struct cgroup_driver *driver;
    bool by_file;     /* cgroup.kill did it */
    int frozen_tries; /* requests to freeze in this round */
    unsigned rounds;  /* of kill and thaw */
};
void kill_ladder_init(struct kill_ladder *k, struct cgroup_at at,
                      const struct cgroup_driver *driver);
/* Do what can be done now, without waiting. Returns the milliseconds until the next call, 0 when
 * no process is left, -1 with errno when nothing can be done. */
int kill_ladder_step(struct kill_ladder *k);
/* Give up: kill what is there now, and leave nothing frozen. */
void kill_ladder_stop(struct kill_ladder *k);

struct killer { /* on a loop: goes on by itself until no process is left; written by kill.c alone */
    struct kill_ladder ladder;
    struct loop_timer timer;
};
/* k: zero, or used before. 0, or -1 with err. */
int killer_start(struct killer *k, struct loop *l, struct cgroup_at at,
                 const struct cgroup_driver *driver, struct error *err);
void killer_stop(struct killer *k);

/* Send SIGKILL to every process there and below, but not to the caller: the number of processes, or
 * -1 with errno. Never kills a process that has got the number of an earlier one. */
ssize_t kill_each(struct cgroup_at d);
