/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled-limits.h - limits of this host and its ranks that no kernel holds: looks what the ranks
 * use, and tells mprun of what is exceeded (OVER_LIMIT), which decides what happens */
#pragma once

#include "common/loop.h"
#include "model/sample-pace.h"

struct starter_services;

struct sampled_limits { /* private to sampled-limits.c; zero but for `with` at first */
    const struct starter_services *with;
    struct loop_timer timer;
    struct sample_pace pace;
    double cores;  /* of the machine */
    double left;   /* least part of a limit that is left, as far as this look knows */
    double cpu_at; /* loop_now() at which CPU time can reach a limit at the earliest */
};

/* Ranks may be started from now on: look, if there is such a limit. */
void sampled_limits_begin(struct sampled_limits *s);
/* mprun has asked for the amounts of the step: while they are fresh, compare them with this host's
 * limits, too. So one look at the processes serves both. */
void sampled_limits_compare(struct sampled_limits *s);
void sampled_limits_stop(struct sampled_limits *s);
