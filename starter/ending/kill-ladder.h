/* SPDX-License-Identifier: BSD-3-Clause */
/* kill-ladder.h - ends the ranks: TERM, KILL after the grace, until nothing of them is left
 *
 * With a cgroup the kernel kills. Without one everything below this process is killed level by
 * level: as a child subreaper this process inherits whatever loses its parent. */
#pragma once

#include <stdbool.h>

#include "common/loop.h"

struct rank_kill_ladder { /* private to kill-ladder.c */
    const struct starter_services *with;
    bool has_sent_term, has_sent_kill;
    double kill_time;              /* of KILL, as of loop_now() */
    struct loop_timer grace;       /* until KILL */
    struct loop_timer stuck_timer; /* for ranks that do not end although they were killed */
    struct loop_timer pmi_timer;   /* for the PMI server to end by itself */
    bool has_said_why;             /* why the cgroup could not be killed */
    struct loop_timer leftovers_timer;
    bool has_leftovers_begun;
    double leftovers_end; /* of loop_now() */
    bool is_cgroup_empty; /* as the kernel says */
    bool has_given_up;
};

void rank_kill_ladder_init(struct rank_kill_ladder *k, const struct starter_services *with);
void rank_kill_ladder_stop(struct rank_kill_ladder *k);

/* Do what is due now, if step-end.h says that the ranks are to be ended. */
void rank_kill_ladder_step(struct rank_kill_ladder *k);
/* All ranks have ended: kill what they left behind. Returns whether nothing is left, or the time
 * for it is over. */
bool rank_kill_ladder_leftovers(struct rank_kill_ladder *k);
