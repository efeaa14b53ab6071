/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-signals.c - delivers a signal to the processes of all ranks
 *
 * A rank's cgroup knows its processes; where there is none, its process tree does. */
#include <signal.h>
#include <stdlib.h>

#include "starter/containment/step-containment.h"
#include "starter/process-tree.h"
#include "starter/ranks/ranks-private.h"

static void signal_rank(const struct rank *r, int signo)
{
    pid_t *pids = NULL;
    int n = r->leaf && r->all->with.containment->level == TRACK_RANK
                ? cgroup_leaf_pids(r->leaf, &pids)
                : -1;
    if (n < 0) {
        process_tree_signal(r->pid, signo);
        return;
    }
    for (int i = 0; i < n; i++)
        if (pids[i] > 1)
            kill(pids[i], signo);
    free(pids);
}

void ranks_signal(const struct ranks *s, int signo)
{
    for (uint32_t i = 0; i < ranks_count(s); i++)
        if (s->ranks[i].state == RANK_RUNNING)
            signal_rank(&s->ranks[i], signo);
}
