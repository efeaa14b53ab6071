/* SPDX-License-Identifier: BSD-3-Clause */
/* kill.h - kills every process of a cgroup: by cgroup.kill; else freezes, kills each, thaws */
#pragma once

#include <stdbool.h>

#include "common/error.h"
#include "common/loop.h"
#include "containment/cgroup/driver.h"

struct kill_ladder {     /* needs no loop; written by kill-rounds.c alone */
    struct cgroup_at at; /* the caller keeps fd and name as long as the ladder is used */
    const struct cgroup_driver *driver;
    bool by_file;     /* cgroup.kill was used */
    int frozen_tries; /* requests to freeze in this round */
    unsigned rounds;  /* rounds of kill and thaw so far */
};
void kill_ladder_init(struct kill_ladder *k, struct cgroup_at at,
                      const struct cgroup_driver *driver);
/* Does what can be done now, without waiting. Returns the milliseconds until the next call; 0: no
 * process is left; -1 with errno: nothing can be done. */
int kill_ladder_step(struct kill_ladder *k);
/* Gives up: kills what is there now, and leaves nothing frozen. */
void kill_ladder_stop(struct kill_ladder *k);

struct killer { /* goes on by itself, on a loop, until no process is left; written by kill.c */
    struct kill_ladder ladder;
    struct loop_timer timer;
};
/* k: all zero, or used before. Returns 0, or -1 with err. */
int killer_start(struct killer *k, struct loop *l, struct cgroup_at at,
                 const struct cgroup_driver *driver, struct error *err);
void killer_stop(struct killer *k);

/* Sends SIGKILL to every process there and below, except the caller. Returns the number of
 * processes, or -1 with errno. Never kills a process that has reused the pid of an earlier one. */
ssize_t kill_each(struct cgroup_at d);
