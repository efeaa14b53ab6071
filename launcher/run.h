/* SPDX-License-Identifier: BSD-3-Clause */
/* run.h - the objects of one step, and the files that put them together
 *
 *     main.c                     phases of the program
 *     run.c                      the objects: made, and destroyed
 *     step/step-states.c         the states a step goes through
 *     step/starter-messages.c    what each message of a starter does
 *     step/step-signals.c        what signals to mprun mean
 *     step/step-streams.c        what ranks write, read, and see of the terminal
 *     step/step-timeout.c        --timeout
 *     tools/control-requests.c   what tools get over the control socket
 *     tools/debug-daemon.c       --debug-daemon
 *
 * Only these files know struct run. Every other file has one object, and is given what it needs. */
#pragma once

#include "common/loop.h"
#include "common/processes/reaper.h"
#include "launcher/hosts/host-links.h"
#include "launcher/io/input.h"
#include "launcher/io/output.h"
#include "launcher/io/pushed-input.h"
#include "launcher/io/terminal.h"
#include "launcher/outcome/host-failures.h"
#include "launcher/outcome/rank-failures.h"
#include "launcher/outcome/step-limits.h"
#include "launcher/outcome/stuck-ranks.h"
#include "launcher/outcome/verdict.h"
#include "launcher/preload/preload.h"
#include "launcher/queue/queue.h"
#include "launcher/report/stack-report.h"
#include "launcher/report/usage-now.h"
#include "launcher/socket-directory.h"
#include "launcher/start/starters.h"
#include "launcher/start/wait-cores.h"
#include "launcher/step/job-suspension.h"
#include "launcher/step/step-plan.h"
#include "launcher/step/step-record.h"
#include "launcher/step/step-state.h"
#include "launcher/tools/control-socket.h"
#include "launcher/tools/tool-output.h"
#include "launcher/worlds/job-names.h"
#include "launcher/worlds/job-worlds.h"
#include "launcher/worlds/name-service.h"
#include "launcher/worlds/pmi-exchange.h"
#include "launcher/worlds/spawn.h"
#include "launcher/worlds/worlds.h"
#include "wire/link/link.h"

/* step-signals.c: the signals that mprun got */
struct step_signals {
    double interrupted;       /* loop_now() of the last INT */
    unsigned nending;         /* signals that ask for the end of the step, */
    int last_ending;          /* the last of these, */
    double last_ending_time;  /* and when it came */
    double manager_signal[2]; /* when USR1, USR2 came from the manager */
    bool held_by_tool;        /* step_suspend(), and the ranks have not been continued since */
};

/* step-timeout.c: how long the step may run */
struct step_timeout {
    struct loop_timer timer;
    double end;   /* loop_now() when the time is over */
    double left;  /* seconds, while the clock stands still; 0: there is no limit */
    bool is_over; /* the step ends when what is known of it has been said */
};

struct run {
    struct loop *loop;
    struct reaper *reaper;
    struct loop_defer turn; /* of the step machine: to be scheduled when anything has happened */
    const struct step_plan *plan;
    struct step_record record;
    struct verdict verdict;
    enum step_state state;  /* the step machine's */
    bool held_for_debugger; /* which has started mprun: ranks wait for it */
    char *tracking_note; /* why no cgroup holds the ranks of some host, until it is said; or NULL */
    bool gpus_unchecked_said, gpus_outside_said; /* starter-messages.c */
    struct host_table *hosts;
    struct socket_directory directory;
    struct starters *starters; /* NULL with --dry-run */
    struct preload *preload;   /* NULL: nothing is brought to the hosts */
    struct job_suspension suspension;
    struct cores_turn cores;
    struct step_timeout timeout;
    struct stack_report stacks;
    struct stuck_ranks stuck;
    struct step_signals signals;
    struct rank_failures rank_failures;
    struct host_failures host_failures;
    const char **host_names; /* of the step, for output */
    bool last_lines_shown;   /* --first-failure */
    struct output *output;
    struct loop_timer unread;    /* looks whether the output of a step that ends is read */
    uint64_t taken_before;       /* bytes of the output, at the last look */
    struct input *input;         /* NULL: no rank has any */
    struct pushed_input *pushed; /* NULL: tools push none */
    struct terminal terminal;
    struct pmi_exchange exchange;
    struct tool_output tool_output;
    struct name_service names;
    struct job_names job_names;
    struct job_worlds job_worlds;
    struct worlds worlds;
    struct spawner spawner;
    struct queue *queue; /* NULL: there is one program, or one for each part of the line */
    struct usage_now usage_now;
    struct step_limits limits;
    struct control_socket control;
};

/* ---- run.c ----------------------------------------------------------------------------------- */

/* Makes what signals and failures need, before the plan is made. -1 with err. */
int run_create_loop(struct run *r, struct error *err);
/* Makes what messages of hosts need, once the plan is made. */
void run_create(struct run *r, const struct step_plan *plan);
/* Makes what has effects outside of mprun: sockets, output, input, a child. -1 with err. */
int run_open(struct run *r, struct error *err);
/* Undoes run_open(), of which a part may have been done. */
void run_close(struct run *r);
void run_free(struct run *r); /* what it holds, not itself */

/* ---- the others ------------------------------------------------------------------------------ */

void step_turn(void *arg); /* of the step machine; arg is the run */
void step_begin(struct run *r);
void step_timeout_begin(struct run *r);
/* After an answer: ends the step if its time is over and it awaits no other answer. */
void step_timeout_settle(struct run *r);
/* Stop the clock of --timeout while the ranks are suspended, and let it go on with the time that
 * was left. A repeated call does nothing. */
void step_pause_timeout(struct run *r);
void step_resume_timeout(struct run *r);

extern const struct link_events host_link_events;       /* starter-messages.c; arg is the host */
extern const struct control_events step_control_events; /* control-requests.c; arg is the run */

/* For a tool: suspend all ranks, or continue them; mprun itself goes on. Returns NULL, also if
 * nothing was to do; or the reason why it cannot be done now. */
const char *step_suspend(struct run *r);
const char *step_resume(struct run *r);
bool step_is_suspended(const struct run *r); /* by a tool or the manager */

/* From now on signals wait for the loop. Called once in a program. -1 with err. */
int step_watch_signals(struct run *r, struct error *err);
extern const struct job_suspension_events step_suspension_events; /* arg is the run */

/* All ranks run: tell the hosts to start what --debug-daemon names, if anything. */
void step_start_debug_daemons(struct run *r);

/* -1 with err. */
int step_open_streams(struct run *r, struct error *err);
void step_close_streams(struct run *r);
/* INPUT_PUSH. -1: a message that cannot be. */
int step_take_push(struct run *r, struct host *from, const Mprun__InputPush *m);
/* The step is to end even if its output has no reader: from `grace` seconds on, drops output that
 * no reader takes for UNREAD_SECONDS, with a warning. */
void step_drop_unread_output(struct run *r, double grace);
