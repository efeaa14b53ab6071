/* SPDX-License-Identifier: BSD-3-Clause */
/* run.h - the objects of one step, and the files that put them together
 *
 *     main.c           phases of the program
 *     run.c            the objects: made, and destroyed
 *     step-states.c    the states a step goes through
 *     step-messages.c  what each message of a starter does
 *     step-signals.c   what signals to mprun mean
 *     step-status.c    what tools get over the control socket
 *     step-streams.c   what ranks write, read, and see of the terminal
 *
 * Only these files know struct run. Every other file has one object, and is given what it needs. */
#pragma once

#include "common/loop.h"
#include "common/reaper.h"
#include "launcher/control-socket.h"
#include "launcher/hosts/host-links.h"
#include "launcher/hosts/silent-hosts.h"
#include "launcher/io/input.h"
#include "launcher/io/output.h"
#include "launcher/io/terminal.h"
#include "launcher/io/unread-output.h"
#include "launcher/outcome/host-failures.h"
#include "launcher/outcome/rank-failures.h"
#include "launcher/outcome/step-timeout.h"
#include "launcher/outcome/verdict.h"
#include "launcher/pmi-exchange.h"
#include "launcher/preload/preload.h"
#include "launcher/report/usage-now.h"
#include "launcher/signals/job-suspension.h"
#include "launcher/socket-directory.h"
#include "launcher/start/starters.h"
#include "launcher/step-plan.h"
#include "launcher/step-record.h"
#include "wire/link/link.h"

enum step_state {
    STEP_STARTING,   /* starters are being started */
    STEP_PRELOADING, /* files are brought to the hosts */
    STEP_LAUNCHING,  /* LAUNCH was sent, not every rank runs */
    STEP_RUNNING,
    STEP_ENDING,    /* all ranks have ended, or are being ended; reports are awaited */
    STEP_CLEANING,  /* every host reported; CLEANED is awaited */
    STEP_RELEASING, /* starters are told to go */
    STEP_DONE,
    STEP_STATE_COUNT,
};

struct run {
    struct loop *loop;
    struct reaper *reaper;
    struct loop_defer turn; /* of the step machine: to be scheduled when anything has happened */
    const struct step_plan *plan;
    struct step_record *record;
    struct verdict *verdict;
    enum step_state state; /* the step machine's */
    bool oversubscription_said;
    bool tracking_said, gpus_unchecked_said, gpus_outside_said; /* step-messages.c */
    struct host_table *hosts;
    struct socket_directory directory;
    struct starters *starters;         /* NULL with --dry-run */
    struct preload *preload;           /* NULL: nothing is brought to the hosts */
    struct silent_hosts *silent;       /* NULL: no host is watched */
    struct job_suspension *suspension; /* NULL: mprun is stopped like any other process */
    struct step_timeout *timeout;
    struct step_signals *signals;
    struct rank_failures *rank_failures;
    struct host_failures *host_failures;
    struct output *output;
    struct unread_output *unread;
    struct input *input;       /* NULL: no rank has any */
    struct terminal *terminal; /* NULL: no rank has one */
    struct pmi_exchange *exchange;
    struct usage_now *usage_now;
    struct control_socket *control;
};

/* ---- run.c ----------------------------------------------------------------------------------- */

/* Makes what signals and failures need, before the plan is made. -1 with err. */
int run_create_loop(struct run *r, struct error *err);
/* Makes what messages of hosts need, once the plan is made. -1 with err. */
int run_create(struct run *r, const struct step_plan *plan, struct error *err);
/* Makes what has effects outside of mprun: sockets, output, input, a child. -1 with err. */
int run_open(struct run *r, struct error *err);
/* Undoes run_open(), of which a part may have been done. */
void run_close(struct run *r);
void run_free(struct run *r); /* what it holds, not itself */

/* ---- the others ------------------------------------------------------------------------------ */

void step_turn(void *arg); /* of the step machine; arg is the run */
void step_begin(struct run *r);
void step_timed_out(void *arg); /* --timeout is over; arg is the run */
const char *step_state_text(enum step_state s);

extern const struct link_events host_link_events;       /* step-messages.c; arg is the host */
extern const struct control_events step_control_events; /* step-status.c; arg is the run */

/* -1 with err. */
int step_open_streams(struct run *r, struct error *err);
void step_close_streams(struct run *r);
