/* SPDX-License-Identifier: BSD-3-Clause */
/* kill-ladder.h - ends the ranks: TERM, KILL after the grace, until nothing of them is left
 *
 * With a cgroup the kernel kills. Without one everything below this process is killed level by
 * level: as a child subreaper this process inherits whatever loses its parent. */
#pragma once

#include <stdbool.h>

struct cleanup;
struct rank_kill_ladder;
struct loop;
struct loop_defer;
struct pmi_server;
struct ranks;
struct step_containment;
struct step_end;

struct rank_kill_ladder_setup { /* all must live as long as the ladder */
    struct loop *loop;
    struct loop_defer *turn; /* scheduled when there is something to look at */
    const struct step_end *end;
    struct step_containment *containment;
    struct pmi_server *pmi;  /* NULL: no PMI */
    struct cleanup *cleanup; /* gets what cannot be killed */
    const char *hostname;
};

struct rank_kill_ladder *
rank_kill_ladder_create(const struct rank_kill_ladder_setup *setup); /* NULL: no memory */
void rank_kill_ladder_destroy(struct rank_kill_ladder *k);           /* NULL is fine */
void rank_kill_ladder_set_ranks(struct rank_kill_ladder *k, struct ranks *ranks); /* none before */

/* Do what is due now, if step-end.h says that the ranks are to be ended. */
void rank_kill_ladder_step(struct rank_kill_ladder *k);
/* All ranks have ended: kill what they left behind. Returns whether nothing is left, or the time
 * for it is over. */
bool rank_kill_ladder_leftovers(struct rank_kill_ladder *k);
