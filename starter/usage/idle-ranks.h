/* SPDX-License-Identifier: BSD-3-Clause */
/* idle-ranks.h - ranks of this host that have used no CPU and done no I/O for so long (--stuck) */
#pragma once

#include <stdint.h>

#include "common/loop.h"

struct starter_services;

struct idle_ranks { /* private to idle-ranks.c; zero but for `with` at first */
    const struct starter_services *with;
    struct loop_timer timer;
    double period;            /* seconds between two looks */
    struct rank_activity *of; /* by index on this host */
    uint32_t active;          /* computing ranks, as last sent to mprun */
};

/* LAUNCH has come: begins to look, if the step asks for it. */
void idle_ranks_begin(struct idle_ranks *r);
void idle_ranks_free(struct idle_ranks *r);
