/* SPDX-License-Identifier: BSD-3-Clause */
/* cleanup.h - removes the step's cgroups and directories, and lists what could not be removed or
 * killed */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/loop.h"

enum { CLEANUP_STUCK_MAX = 16 }; /* sentences; more are not told */

struct cleanup { /* private to cleanup.c but for is_done */
    bool is_done;
    const struct starter_services *with;
    struct loop_timer again;
    double last_try, wait; /* of loop_now(); seconds */
    char *stuck[CLEANUP_STUCK_MAX];
    size_t nstuck;
};

void cleanup_init(struct cleanup *c, const struct starter_services *with);
void cleanup_end(struct cleanup *c);
/* Something stays behind: a sentence for mprun. */
void cleanup_add_stuck(struct cleanup *c, const char *text);
/* Remove cgroups and directories, again and again for CLEANUP_SECONDS at most. The host machine's
 * turn is scheduled when that is done. */
void cleanup_begin(struct cleanup *c);
/* Tell the keeper and mprun (CLEANED) that all is removed, or what is not. Without a link it is
 * logged. */
void cleanup_report(const struct cleanup *c);
