/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-grants.h - what mprund of this host signs of the job, for the daemons of its other hosts
 *
 * Asked for when the allocation is known; hosts are started when the answer is there, or has taken
 * too long. It is only carried here, to where the manager's own daemon writes it down beside the
 * task. Without mprund, or where it signs nothing, starters are started without. */
#pragma once

#include <stdbool.h>

#include "common/loop.h"
#include "launcher/step-plan.h"

/* mprund-grants.c alone changes it. */
struct grants {
    const struct step_plan *plan;
    bool said; /* that an mprund is silent */
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
/* The mprund of this host gives no answer. It is said once, of the host that says it first. */
void grants_mprund_is_silent(struct grants *g, const char *host, const char *why);
/* Stops waiting; `then` will not be called. True if it was still to come. */
bool grants_forget(struct grants *g);
