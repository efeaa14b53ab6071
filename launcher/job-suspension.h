/* SPDX-License-Identifier: BSD-3-Clause */
/* job-suspension.h - is the job suspended by its manager, although mprun runs on? */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

struct job_suspension;
struct reaper;

struct job_suspension_events {
    void (*suspended)(void *arg); /* stop the ranks; keep mprun's other children running */
    /* The job is still suspended, and the manager may have stopped more processes: do it again. */
    void (*hold)(void *arg);
    void (*resumed)(void *arg);
};

enum suspension_cause {
    LOOK_CHILD,     /* a child has changed its state */
    LOOK_TICK,      /* CONT has come from the timer */
    LOOK_CONTINUED, /* CONT has come from somebody */
};

/* Begin before mprun has other children. NULL with err on failure. All functions below take NULL,
 * for jobs of which mprun is stopped like any other process: nothing is ever suspended then. */
struct job_suspension *job_suspension_create(struct reaper *reaper,
                                             const struct job_suspension_events *events, void *arg,
                                             struct error *err);
void job_suspension_destroy(struct job_suspension *s);

/* Look whether the job is suspended now; events are called before it returns. */
void job_suspension_look(struct job_suspension *s, enum suspension_cause cause);
bool job_suspension_holds(const struct job_suspension *s); /* the job is suspended */
/* Is this child of mprun's the one that it looks at? */
bool job_suspension_has(const struct job_suspension *s, pid_t pid);
/* mprun is about to stop itself, and must stay stopped: the timer rests. */
void job_suspension_rest(struct job_suspension *s, bool rest);
