/* SPDX-License-Identifier: BSD-3-Clause */
/* step-timeout.h - --timeout: how long the step may run */
#pragma once

#include "common/loop.h"

struct step_timeout;

/* fn(arg) when the time is over. NULL: out of memory. */
struct step_timeout *step_timeout_create(struct loop *loop, loop_fn fn, void *arg);
void step_timeout_destroy(struct step_timeout *t); /* NULL is fine */

/* From now on the step may run for so many seconds; 0: as long as it likes. */
void step_timeout_start(struct step_timeout *t, double seconds);
/* The clock stops while the job is suspended, and goes on with what was left. */
void step_timeout_pause(struct step_timeout *t);
void step_timeout_resume(struct step_timeout *t);
