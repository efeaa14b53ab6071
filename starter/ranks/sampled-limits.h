/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled-limits.h - limits of this host and its ranks that the kernel does not hold: looks what
 * the ranks use, and reports an exceeded limit (OVER_LIMIT) to mprun, which decides what happens */
#pragma once

#include "common/loop.h"
#include "model/sample-pace.h"

struct starter_services;

struct sampled_limits { /* private to sampled-limits.c; zero but for `with` at first */
    const struct starter_services *with;
    struct loop_timer timer;
    struct sample_pace pace;
    double cores;  /* of the machine */
    double left;   /* smallest part of a limit that is left (0 to 1), as far as this look knows */
    double cpu_at; /* loop_now() at which CPU time can reach a limit at the earliest */
};

/* Ranks may start from now on: begins to look, if there is such a limit. */
void sampled_limits_begin(struct sampled_limits *s);
/* mprun has asked for the amounts of the step: compares them with this host's limits, too, while
 * they are fresh. So one look at the processes serves both. */
void sampled_limits_compare(struct sampled_limits *s);
void sampled_limits_stop(struct sampled_limits *s);
