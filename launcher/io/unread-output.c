/* SPDX-License-Identifier: BSD-3-Clause */
/* unread-output.c - output that nobody reads does not keep a step from ending */
#include "launcher/io/unread-output.h"

#include <stdint.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/loop.h"
#include "launcher/io/output.h"
#include "launcher/policy.h"

struct unread_output {
    struct output *output;
    struct loop_defer *turn;
    struct loop_timer timer;
    uint64_t taken; /* at the last look */
};

/* Readers have taken nothing since the last look: nobody reads. */
static void look(void *arg)
{
    struct unread_output *u = arg;
    uint64_t taken = output_taken(u->output), dropped = 0;
    if (taken == u->taken)
        dropped = output_drop(u->output);
    u->taken = taken;
    if (dropped)
        log_warn("%llu bytes of output, and what ranks still had to say, are dropped: nobody "
                 "reads them",
                 (unsigned long long)dropped);
    loop_defer_schedule(u->turn);
}

struct unread_output *unread_output_create(struct loop *loop, struct output *o,
                                           struct loop_defer *turn)
{
    struct unread_output *u = calloc(1, sizeof(*u));
    if (!u)
        return NULL;
    u->output = o;
    u->turn = turn;
    loop_timer_init(&u->timer, loop, look, u);
    return u;
}

void unread_output_destroy(struct unread_output *u)
{
    if (u)
        loop_timer_stop(&u->timer);
    free(u);
}

void unread_output_drop(struct unread_output *u, double grace)
{
    u->taken = UINT64_MAX;
    loop_timer_start(&u->timer, grace, UNREAD_SECONDS);
}
