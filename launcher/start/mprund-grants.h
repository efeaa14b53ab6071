/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-grants.h - the grants that mprund of this host signs for the job's other hosts
 *
 * mprun asks for them when it knows the allocation, and starts hosts when the answer has come or
 * takes too long. mprun only carries a grant to the host, where the manager's own daemon writes it
 * down beside the task. Without mprund, or if mprund signs nothing, starters get no grant. */
#pragma once

#include <stdbool.h>

#include "common/loop.h"
#include "launcher/step/step-plan.h"

/* mprund-grants.c alone changes it. */
struct grants {
    const struct step_plan *plan;
    bool said; /* mprun has reported that an mprund does not answer */
    char *
        *variables; /* of each host of `used`: "NAME=VALUE" for its starter, or NULL; NULL: none */
    int fd;         /* to mprund; -1: not asked, or it has answered */
    int n;          /* answers that have come */
    double since;   /* loop_now() when it was asked */
    struct loop_io *io;
    struct loop_timer timer;
    void (*then)(void *arg); /* NULL: nobody waits */
    void *arg;
};

/* Asks mprund, where the manager carries what it signs to the job's other hosts. */
void grants_ask(struct grants *g, const struct step_plan *plan);
void grants_close(struct grants *g);
/* Calls `then` when the answer has come, or none is to be expected, or after GRANTS_SECONDS; at
 * once where nothing was asked for. */
void grants_await(struct grants *g, struct loop *loop, void (*then)(void *arg), void *arg);
/* mprund of that host does not answer. Reports it once, for the first such host. */
void grants_mprund_is_silent(struct grants *g, const char *host, const char *why);
/* Stops waiting; `then` will not be called. True if it was still to come. */
bool grants_forget(struct grants *g);
