/* SPDX-License-Identifier: BSD-3-Clause */
/* stuck-ranks.h - reports ranks that do nothing while others compute (--stuck): once, and again
 * only after they have computed */
#pragma once

#include "common/loop.h"
#include "launcher/hosts/host-table.h"
#include "wire/mprun.pb-c.h"

struct stack_report;

struct stuck_ranks { /* private to stuck-ranks.c */
    const struct host_table *hosts;
    struct stack_report *stacks;
    struct loop_timer timer; /* runs while other hosts may still report stuck ranks */
    uint32_t *active;        /* by launch_index: ranks that compute */
    struct stuck_rank *of;   /* by rank */
};

void stuck_ranks_init(struct stuck_ranks *s, struct loop *loop, const struct host_table *hosts,
                      struct stack_report *stacks);
void stuck_ranks_free(struct stuck_ranks *s); /* what it holds, not itself; zero is fine */
/* IDLE of a host. */
void stuck_ranks_told(struct stuck_ranks *s, const struct host *h, const Mprun__Idle *m);
