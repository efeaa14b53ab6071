/* SPDX-License-Identifier: BSD-3-Clause */
/* children.h - the processes of mprund: started, linked with each other, started again */
#pragma once

#include "node-daemon/lib/start.h"

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
/* Start those that are to be, now: all at first. Those that cannot be started come again later. */
void children_start(struct children *c);
/* A child has ended, and is to be started again. */
void children_ended(struct children *c, pid_t pid, int status);
/* The sockets are others now, and what belongs to them: give them to front. */
void children_give_sockets(struct children *c);
/* Milliseconds until one is to be started; -1: none is. */
int children_wait_ms(const struct children *c);
void children_signal(const struct children *c, enum role role, int signo);
