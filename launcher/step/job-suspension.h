/* SPDX-License-Identifier: BSD-3-Clause */
/* job-suspension.h - is the job suspended by its manager, although mprun runs on? */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "common/error.h"

struct reaper;

struct job_suspension_events {
    void (*suspended)(void *arg); /* stop the ranks; keep mprun's other children running */
    /* The job is still suspended, and the manager may have stopped more children: continue them. */
    void (*hold)(void *arg);
    void (*resumed)(void *arg);
};

enum suspension_cause {
    LOOK_CHILD,     /* a child has changed its state */
    LOOK_TICK,      /* CONT came from our own timer */
    LOOK_CONTINUED, /* CONT came from another process */
};

/* job-suspension.c alone changes it. All 0 where the manager stops mprun like any other process:
 * nothing is ever suspended then. */
struct job_suspension {
    struct reaper *reaper;
    const struct job_suspension_events *events;
    void *arg;
    pid_t witness; /* the child of mprun whose state shows a suspension; 0: none */
    timer_t timer, late_timer;
    bool suspended;
    int settling; /* calls of `hold` that are left */
};

/* Begins; before mprun has other children. -1 with err. */
int job_suspension_begin(struct job_suspension *s, struct reaper *reaper,
                         const struct job_suspension_events *events, void *arg, struct error *err);
void job_suspension_end(struct job_suspension *s);

/* Looks whether the job is suspended now; events are called before it returns. */
void job_suspension_look(struct job_suspension *s, enum suspension_cause cause);
/* rest: mprun is about to stop itself, so pauses the timers, which would continue it. */
void job_suspension_rest(struct job_suspension *s, bool rest);
