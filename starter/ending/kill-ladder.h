/* SPDX-License-Identifier: BSD-3-Clause */
/* kill-ladder.h - ends the ranks: TERM, and KILL after the grace
 *
 * With a cgroup the kernel kills. Without one the ladder kills everything below this process level
 * by level: this process is a child subreaper and inherits every process that loses its parent. */
#pragma once

#include <stdbool.h>

#include "common/loop.h"

struct rank_kill_ladder { /* private to kill-ladder.c */
    const struct starter_services *with;
    bool has_sent_term, has_sent_kill;
    double kill_time;              /* loop_now() of KILL */
    struct loop_timer grace;       /* until KILL */
    struct loop_timer stuck_timer; /* until ranks that survive KILL are given up */
    struct loop_timer pmi_timer;   /* until a PMI server that does not end by itself is killed */
    bool has_said_why;             /* has logged why the cgroup could not be killed */
};

void rank_kill_ladder_init(struct rank_kill_ladder *k, const struct starter_services *with);
void rank_kill_ladder_stop(struct rank_kill_ladder *k);

/* Takes the next step that is due, if step-end.h says that the ranks are to be ended. */
void rank_kill_ladder_step(struct rank_kill_ladder *k);
/* The PMI server was told to end: after a KILL it has PMI_END_SECONDS. */
void rank_kill_ladder_pmi_ends(struct rank_kill_ladder *k);
/* Kills all ranks and what they started now: by cgroup, and by descent, since a rank may have moved
 * itself out of its cgroup. */
void rank_kill_ladder_kill_all(struct rank_kill_ladder *k);
/* Kills everything below this process but the PMI server. Returns whether there was anything. */
bool rank_kill_ladder_kill_children(const struct rank_kill_ladder *k);
