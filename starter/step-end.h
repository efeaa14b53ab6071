/* SPDX-License-Identifier: BSD-3-Clause */
/* step-end.h - whether and why the ranks of this host are to be ended, and the starter's exit code
 *
 * Every module records here; nothing is ended here. The host machine looks at these facts in its
 * turn, and the kill ladder (ending/kill-ladder.h) acts on them. */
#pragma once

#include <stdbool.h>

struct loop_defer;
struct step_end;
struct uplink;

/* turn: scheduled whenever something is recorded. hostname, for messages, must live as long. NULL:
 * no memory. */
struct step_end *step_end_create(struct uplink *up, struct loop_defer *turn, const char *hostname);
void step_end_destroy(struct step_end *e); /* NULL is fine */

/* The step cannot run here: tell mprun at once (without a link, the log), and end the ranks with
 * the step's grace. */
void step_end_cannot_run(struct step_end *e, int exit_code, const char *text);
/* The ranks are to be ended: TERM now, KILL after grace seconds. A second call can only bring KILL
 * forward. */
void step_end_kill(struct step_end *e, double grace, const char *why);
/* LAUNCH has come: the step's own seconds between TERM and KILL; 0 before. */
void step_end_set_grace(struct step_end *e, double seconds);
/* The worker's exit code, where its last one is not to be 0. */
void step_end_set_exit_code(struct step_end *e, int code);

bool step_end_has_begun(const struct step_end *e);   /* the ranks are to be ended */
double step_end_kill_time(const struct step_end *e); /* of KILL, as of loop_now() */
int step_end_exit_code(const struct step_end *e);
