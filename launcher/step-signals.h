/* SPDX-License-Identifier: BSD-3-Clause */
/* step-signals.h - what signals to mprun, and a suspension of the job, mean for the step */
#pragma once

#include "common/error.h"
#include "launcher/signals/job-suspension.h"

struct run;
struct step_signals;

/* From now on signals wait for the loop. Called once in a program. NULL with err on failure. */
struct step_signals *step_signals_create(struct run *r, struct error *err);
void step_signals_destroy(struct step_signals *s); /* NULL is fine; the signals stay blocked */

/* For job_suspension_create(); arg is the run. */
extern const struct job_suspension_events step_suspension_events;
