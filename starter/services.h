/* SPDX-License-Identifier: BSD-3-Clause */
/* services.h - what all parts of the worker use: set by worker.c and host_create(), and only read
 * by others; all must live as long as the host */
#pragma once

#include <sys/types.h>

struct loop;
struct loop_defer;
struct other_processes;
struct reaper;
struct step_containment;
struct step_end;
struct uplink;

struct starter_services {
    struct loop *loop;
    struct reaper *reaper;
    const struct other_processes *others; /* what processes of no known rank have used */
    const char *hostname;                 /* for messages */
    pid_t keeper;
    int keeper_fd;
    /* made by host_create() */
    struct loop_defer *turn; /* of the host machine: scheduled when there is something to look at */
    struct uplink *up;
    struct step_end *end;
    struct step_containment *containment;
};
