/* SPDX-License-Identifier: BSD-3-Clause */
/* leftovers.h - kills the processes that ranks have left behind, again and again until none is left
 *
 * The kernel tells when the step's cgroup is empty; without a cgroup this process looks for
 * processes below itself. */
#pragma once

#include <stdbool.h>

#include "common/loop.h"

struct rank_kill_ladder;

struct leftovers { /* private to leftovers.c */
    const struct starter_services *with;
    struct rank_kill_ladder *ladder;
    struct loop_timer timer;
    bool has_begun;
    double give_up_time;  /* loop_now() */
    bool is_cgroup_empty; /* the kernel has told so */
    bool has_given_up;
};

void leftovers_init(struct leftovers *l, const struct starter_services *with,
                    struct rank_kill_ladder *ladder);
void leftovers_stop(struct leftovers *l);
/* All ranks have ended: kills what they left behind. Returns true when nothing is left, or the time
 * for it is over. */
bool leftovers_end(struct leftovers *l);
