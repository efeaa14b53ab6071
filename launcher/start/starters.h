/* SPDX-License-Identifier: BSD-3-Clause */
/* starters.h - starts a starter on each host of a step, and follows its end
 *
 * Each host that has ranks gets a start client (the adapter's, or mpstarter itself), which has a
 * start channel; mpstarter comes back over a link and says HELLO. Client and link may end in either
 * order: a host is gone when both have ended. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rm-adapters/adapter.h"
#include "wire/messages/values.h"

struct cores_turn;
struct host;
struct output;
struct starters;
struct step_plan;

/* The step, as far as starters need to know it; all of it outlives them. */
struct starters_step {
    struct loop *loop;
    struct reaper *reaper;
    struct loop_defer *turn; /* scheduled when a starter has changed */
    const struct step_plan *plan;
    const struct step_record *record;
    struct host_table *hosts;
    struct output *output; /* shows progress */
    struct verdict *verdict;
    struct host_failures *failures;
    const struct socket_directory *directory;
    const struct job_suspension *suspension;
    struct cores_turn *cores;
    const struct link_events *links; /* of hosts' links; their arg is the host */
};

/* Asks mprund of this host for the grants of the other hosts; starts nothing. NULL: out of
 * memory. */
struct starters *starters_create(const struct starters_step *step);
void starters_destroy(struct starters *s); /* NULL is fine */

/* ---- the start as a whole -------------------------------------------------------------------- */

/* Opens the listeners and starts a starter on each host that has ranks, as soon as mprund has
 * answered. A failure ends the step. */
void starters_begin(struct starters *s);
/* Begins no further start and ends those under way: their failures are not the step's. */
void starters_cancel(struct starters *s);
/* Hosts of which neither client nor link is left become AGENT_GONE; costs nothing while nothing has
 * ended. */
void starters_settle(struct starters *s);
/* RELEASE went to all hosts: gives up, after a while, hosts out of reach that do not end. */
void starters_await_end(struct starters *s);
/* Ends what is left, closes the listeners. s NULL is fine. */
void starters_close(struct starters *s);

/* ---- what happened to one host --------------------------------------------------------------- */

/* HELLO came. why_stdio: why its start channel is its link; login_session: the session that a login
 * has moved it to; "": neither is so. */
void starters_said_hello(struct starters *s, struct host *h, const char *why_stdio,
                         const char *login_session);
/* Its mprund gives no answer. */
void starters_mprund_is_silent(struct starters *s, const struct host *h, const char *why);
/* RELEASE was sent to it. */
void starters_released(struct starters *s, struct host *h);
/* Its link has ended. */
void starters_link_ended(struct starters *s, struct host *h);
/* Its link is gone for good, and the host has failed. silent: it gives no answer, and its start
 * client may never notice. Hosts below it are out of reach, and end when they notice. */
void starters_lost(struct starters *s, struct host *h, bool silent);
/* A link went: starters_settle() is to look at all hosts. */
void starters_unsettle(struct starters *s);
/* A child that mprun has not started itself has ended: perhaps a starter without its keeper. */
void starters_orphan_ended(struct starters *s, pid_t pid);

/* ---- questions ------------------------------------------------------------------------------- */

/* Its start client runs. */
bool starters_client_runs(const struct starters *s, const struct host *h);
/* The job's agent there, of another mprun, has forked its starter. s NULL is fine. */
bool starters_were_forked(const struct starters *s, const struct host *h);
/* Calls fn with each host whose start client runs, and the client's process. */
void starters_each_client(const struct starters *s,
                          void (*fn)(void *arg, const struct host *h, pid_t client), void *arg);
/* The request that adapters get for a start, without loop, events and allocation. */
struct start_request starters_request(const struct step_plan *plan);

/* ---- errands, agents ------------------------------------------------------------------------- */

/* ERRAND_NEWS of a host. */
void starters_errand_news(struct starters *s, const struct host *h, const Mprun__ErrandNews *m);
/* All hosts are gone. Returns whether mprun may end; if not, the step's turn comes when it may. */
bool starters_leave(struct starters *s);
/* The manager has suspended the job: the holder of its agents is to go on, and their clients. */
void starters_wake_holder(const struct starters *s);
