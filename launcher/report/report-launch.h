/* SPDX-License-Identifier: BSD-3-Clause */
/* report-launch.h - how the start of a step went: its phases over all hosts, and who was slow */
#pragma once

#include "launcher/report/report.h"

enum { LAUNCH_SLOWEST = 3 };

struct launch_sum {
    size_t hosts;               /* that got so far; 0: the times mean nothing */
    double first, median, last; /* seconds since the step began */
    size_t nslowest;            /* hosts that took the longest from the phase before, */
    struct {                    /* the slowest first */
        size_t host;
        double seconds;
    } slowest[LAUNCH_SLOWEST];
};

int launch_sum(const struct report *r, enum launch_phase phase, struct launch_sum *ret,
               struct error *err);

/* For people; caller frees. NULL: out of memory. */
char *report_launch_text(const struct report *r);
