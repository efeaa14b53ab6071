/* SPDX-License-Identifier: BSD-3-Clause */
/* by-other-starters.h - starters that others start: the hosts above, or another step of the job */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/loop.h"
#include "wire/messages/errand.h"
#include "wire/mprun.pb-c.h"

struct host;
struct starter;
struct starters;
struct step_plan;

/* ---- errands.c ------------------------------------------------------------------------------- */

/* Programs that a host's starter starts for mprun, beside the step's ranks. */

/* m NULL: the host is gone. Nothing more is told then, nor after REFUSED and ENDED. */
typedef void (*errand_fn)(void *arg, const Mprun__ErrandNews *m);

/* An errand carries a step's key, which must not go over a link that is not encrypted. */
bool errands_may_be_sent(const struct step_plan *plan);
/* m without its id. The errand's number, 0: it cannot be sent. */
uint32_t errand_send(struct starter *on, Mprun__Errand *m, errand_fn fn, void *arg);
void errands_host_gone(struct starters *s, const struct host *h);
void errands_close(struct starters *s);

/* ---- start-through-hosts.c ------------------------------------------------------------------- */

/* Hosts that are started by the starter of the host above them. */

void through_begin(struct starters *s);
bool through_is_elsewhere(void *arg, size_t host); /* for an adapter */
void through_reported(struct starter *st);         /* it has its starter */
void through_end(struct starters *s);              /* mprun starts the rest */

/* ---- ask-other-steps.c ----------------------------------------------------------------------- */

/* Hosts that the manager has no room on. */

/* The room on a host; ask-other-steps.c changes it. */
struct room {
    bool was_none;   /* the manager had no room for it, so far at least once */
    bool waits;      /* it is started again, later */
    bool stray;      /* a starter may come that another mprun has started after all */
    char lender[64]; /* the step whose starter has started it; "": none */
};

struct other_steps { /* ask-other-steps.c alone changes it */
    struct starters *starters;
    const struct starters_step *step;
    struct waiting *of; /* by launch_index; NULL: the manager had room for all so far */
    struct loop_timer retry;
    struct neighbour *all;
    size_t nopen;
    int told;
    char obstacle[300]; /* why another step of the job cannot start ours, and what to do; or "" */
};

void other_steps_init(struct other_steps *o, struct starters *s);
void other_steps_free(struct other_steps *o);
/* The manager has no room on the host, in these words. -1: out of memory. */
int other_steps_ask(struct other_steps *o, struct starter *st, const char *words);
/* Its --start-timeout is over: fails the step if that is for want of room. */
bool other_steps_fail_for_room(struct other_steps *o, struct starter *st);
void other_steps_reported(struct other_steps *o, struct starter *st); /* HELLO has come */
void other_steps_cancel(struct other_steps *o);
void other_steps_end(struct other_steps *o); /* no host waits any more */
