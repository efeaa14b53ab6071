/* SPDX-License-Identifier: BSD-3-Clause */
/* start-options.h - what users say of the start of hosts, and of the agents that stay there */
#pragma once

#include <stdint.h>

/* How long agents stay, other than so many seconds: while there is a step; until the job ends; this
 * step starts none; KEEP_STEP where the manager has perhaps no room for two tasks, else KEEP_NO. */
enum { KEEP_STEP = 0, KEEP_JOB = -1, KEEP_NO = -2, KEEP_AS_NEEDED = -3 };

struct start_options {
    char **agent;         /* words of --agent; NULL: none */
    const char *prefix;   /* where mprun is installed on other machines; NULL: as here */
    int64_t tree;         /* from so many hosts on they start others; 0: never; -1: not said */
    double keep;          /* seconds that the job's agents stay without a step, or a KEEP_ */
    int wait_cores;       /* for those of other steps that wait, too */
    uint32_t concurrency; /* 0: the adapter's default */
    double timeout;       /* seconds that a host has to report back */
};
