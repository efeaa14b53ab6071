/* SPDX-License-Identifier: BSD-3-Clause */
/* services.h - what the parts of the worker use of each other. The worker sets each pointer once;
 * parts only read them; all live as long as the worker */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct starter_services {
    struct loop *loop;
    struct reaper *reaper;
    const struct other_processes *others; /* usage of processes that belong to no known rank */
    const char *hostname;                 /* for messages; ranks see that of LAUNCH */
    pid_t keeper;
    int keeper_fd;
    bool keeper_is_agent;    /* of the job: it outlives the step */
    struct loop_defer *turn; /* of the host machine: schedule it when there is something to do */
    struct uplink *up;
    struct step_end *end;
    struct removal *removal;
    struct step_containment *containment;
    struct pmi_server *pmi; /* NULL: no PMI */
    struct preload *preload;
    const struct brought *brought;
    /* all zero until LAUNCH has come */
    struct host_directories *directories;
    struct rank_io *io;
    /* Of world 0. The parts of a spawned world have a copy of this struct, with that world's own
     * pointers below. */
    const struct launch *launch;
    struct rank_binding *binding;
    struct gpu_shares *gpus;
    struct ranks *ranks; /* the first of a list, by worlds */
    char **pmi_env;      /* for the world's ranks, "NAME=value", NULL-terminated; NULL: the PMI
                            server is not ready for the world */
};
