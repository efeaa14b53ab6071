/* SPDX-License-Identifier: BSD-3-Clause */
/* kill-ladder.h - ends the ranks: TERM, and KILL after the grace
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
};

void rank_kill_ladder_init(struct rank_kill_ladder *k, const struct starter_services *with);
void rank_kill_ladder_stop(struct rank_kill_ladder *k);

/* Do what is due now, if step-end.h says that the ranks are to be ended. */
void rank_kill_ladder_step(struct rank_kill_ladder *k);
/* The PMI server was told to end: behind a KILL it has PMI_END_SECONDS for it. */
void rank_kill_ladder_pmi_ends(struct rank_kill_ladder *k);
/* Kill all ranks and what they started now: by cgroup, and by descent, since a rank may have moved
 * itself out of its cgroup. */
void rank_kill_ladder_kill_all(struct rank_kill_ladder *k);
/* Kill everything below this process but the PMI server. Returns whether there was anything. */
bool rank_kill_ladder_kill_children(const struct rank_kill_ladder *k);
