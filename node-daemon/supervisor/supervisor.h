/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor.h - functions that the files of the supervisor share */
#pragma once

#include "node-daemon/lib/start.h"

/* ---- children.c ------------------------------------------------------------------------------ */

struct child {
    pid_t pid;    /* 0: it does not run */
    int control;  /* the supervisor's end of its START_CONTROL; -1 */
    double began; /* CLOCK_MONOTONIC */
    double again; /* when it is to be started again; 0: it is not */
    double pause; /* before that */
};

struct children {
    const char *directory; /* with their programs */
    struct child of[ROLES];
    struct plan plan;
    int ground[PLAN_PARTS], gift[GIFTS]; /* as in struct start; -1 */
};

double children_now(void);
/* Start the children that are due: at first all. Retries later those that cannot be started. */
void children_start(struct children *c);
/* A child has ended, and is to be started again. */
void children_ended(struct children *c, pid_t pid, int status);
/* The sockets were made again: give the new ones, and what belongs to them, to front. */
void children_give_sockets(struct children *c);
/* Milliseconds until one is to be started; -1: none is. */
int children_wait_ms(const struct children *c);
void children_signal(const struct children *c, enum role role, int signo);

/* ---- resolver.c ------------------------------------------------------------------------------ */

/* It is `mprund resolve`, and may do whatever reading a configuration takes. What it found out, and
 * what it opened, come back as gifts. */

/* This variable says how much it does: all; all but the ground, which stays; the sockets. */
#define RESOLVE_VARIABLE "MPRUND_RESOLVE"
#define RESOLVE_START    "start"
#define RESOLVE_RELOAD   "reload"
#define RESOLVE_SOCKETS  "sockets"

/* argv: mprund's own words, without `resolve`, which comes before them. Replaces those of the
 * gifts in *c, and of the plan, that come. 0, or -1: it has said why. */
int resolver_run(char **argv, const char *what, struct children *c);

/* ---- rights.c -------------------------------------------------------------------------------- */

/* In a child: take the user and rights of the role. Only the mover stays root, with few
 * capabilities; watch keeps two; the others none. None gets more by what it executes, or leaves a
 * core file. 0, or -1 with errno. */
int rights_take(enum role role, const struct plan *plan);
/* Reduce the supervisor's rights to what it and its children need. 0, or -1 with errno. */
int rights_of_supervisor(void);
