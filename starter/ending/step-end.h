/* SPDX-License-Identifier: BSD-3-Clause */
/* step-end.h - whether and why the ranks of this host are to be ended, and the starter's exit code
 *
 * Every module records here that the ranks are to end; this module ends nothing. The host machine
 * looks at these facts in its turn, and the kill ladder (kill-ladder.h) acts on them. */
#pragma once

#include <stdbool.h>

struct step_end { /* written by step-end.c; other files only read it */
    const struct starter_services *with;
    double grace;     /* the step's seconds between TERM and KILL; 0 before LAUNCH */
    bool has_begun;   /* the ranks are to be ended */
    bool is_managers; /* the manager has sent TERM, and decides itself when to send KILL */
    double kill_time; /* loop_now() of KILL */
    int exit_code;    /* of the worker */
};

/* The step cannot run here: tells mprun at once (without a link, logs it), and ends the ranks with
 * the step's grace. */
void step_end_cannot_run(struct step_end *e, int exit_code, const char *text);
/* The same, where the keeper has died and this host does not know why: mprun waits a while for the
 * start client's end, which may tell more. */
void step_end_keeper_died(struct step_end *e, int exit_code, const char *text);
/* The manager has sent TERM. If KILL was to come soon, as mprun has gone, ranks have the step's
 * grace after all: a manager that ends a job may kill mprun with the job's script a moment before.
 */
void step_end_by_manager(struct step_end *e);
/* Ends the ranks: TERM now, KILL after grace seconds. A second call can only bring KILL forward. */
void step_end_kill(struct step_end *e, double grace, const char *why);
