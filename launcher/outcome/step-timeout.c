/* SPDX-License-Identifier: BSD-3-Clause */
/* step-timeout.c - --timeout */
#include "launcher/outcome/step-timeout.h"

#include <stdlib.h>

struct step_timeout {
    struct loop_timer timer;
    double end;  /* loop_now() when the time is over */
    double left; /* seconds, while the clock stands still; 0: there is no limit */
};

struct step_timeout *step_timeout_create(struct loop *loop, loop_fn fn, void *arg)
{
    struct step_timeout *t = calloc(1, sizeof(*t));
    if (t)
        loop_timer_init(&t->timer, loop, fn, arg);
    return t;
}

void step_timeout_destroy(struct step_timeout *t)
{
    if (t)
        loop_timer_stop(&t->timer);
    free(t);
}

void step_timeout_start(struct step_timeout *t, double seconds)
{
    if (seconds <= 0)
        return;
    t->end = loop_now() + seconds;
    loop_timer_start(&t->timer, seconds, 0);
}

void step_timeout_pause(struct step_timeout *t)
{
    t->left = loop_timer_active(&t->timer) ? t->end - loop_now() : 0;
    loop_timer_stop(&t->timer);
}

void step_timeout_resume(struct step_timeout *t)
{
    step_timeout_start(t, t->left);
}
