/* SPDX-License-Identifier: BSD-3-Clause */
/* removal.h - removes the step's cgroups and directories, and lists what could not be removed or
 * killed */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/loop.h"

enum { REMOVAL_STUCK_MAX = 16 }; /* sentences that are kept; further ones are dropped */

struct removal { /* private to removal.c but for is_done */
    bool is_done;
    const struct starter_services *with;
    struct loop_timer again;
    double last_try, wait; /* loop_now(); seconds until the next try */
    char *stuck[REMOVAL_STUCK_MAX];
    size_t nstuck;
};

void removal_init(struct removal *c, const struct starter_services *with);
void removal_end(struct removal *c);
/* Adds a sentence for mprun: something stays behind. Copies text. */
void removal_add_stuck(struct removal *c, const char *text);
/* Removes cgroups and directories, again and again for REMOVAL_SECONDS at most. Then schedules the
 * host machine's turn. */
void removal_begin(struct removal *c);
/* Tells the keeper and mprun (CLEANED) that all is removed, or what is not. Without a link it logs
 * that. */
void removal_report(const struct removal *c);
