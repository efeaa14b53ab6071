/* SPDX-License-Identifier: BSD-3-Clause */
/* agents.h - hosts whose starter is forked by the job's agent there, which outlives the step
 *
 * The first step that comes to a host starts the agent, by the adapter's start client; the holder
 * keeps it (holder-socket.h). Every step, the first one too, has its starter from the agent.
 * Without a holder a host is started as without agents. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/loop.h"

struct link;
struct starter;
struct starters;
struct step_plan;

struct agents { /* agents.c alone changes it */
    struct starters *starters;
    int fd; /* to the holder; -1: there are no agents */
    struct loop_io *io;
    pid_t holder; /* 0: not known */
    bool is_leaving;
    size_t nasked;              /* hosts that the holder has not answered for yet */
    int again;                  /* times that another holder was asked */
    struct loop_timer patience; /* runs from agents_leave() on */
};

/* What is known of a host's agent. */
enum agent_use {
    AGENT_NOT_USED,
    AGENT_ASKED_FOR, /* the holder says at once what it knows */
    AGENT_AWAITED,   /* another mprun starts it, or it is ending */
    AGENT_WANTED,    /* this mprun is to start it, once the others are known */
    AGENT_MISSING,   /* this mprun starts it */
    AGENT_FORKS,     /* it has been told to fork the starter */
};

void agents_init(struct agents *a, struct starters *s);
/* Finds the holder of the job's agents, or starts it where the step is to have agents (--keep), and
 * asks for all hosts. Nothing is done where the adapter cannot. */
void agents_begin(struct agents *a);
/* Connects to the holder; starts_it: starts it if there is none. A descriptor, or -1 with err.
 * *ret_holder: its pid; 0: it is not known. */
int agents_reach_holder(const struct step_plan *plan, bool starts_it, pid_t *ret_holder,
                        struct error *err);
/* Connects to the holder of the job's agents, on this host or through the agent here. A descriptor;
 * -1 with err: there is none. */
int agents_find_holder(const struct step_plan *plan, struct error *err);
/* Lets no host wait for an agent any more. */
void agents_cancel(struct agents *a);
/* The manager has suspended the job, and stopped the holder and the start clients that it has. */
void agents_wake(const struct agents *a);
/* The step is over. Returns whether mprun may end: not before all agents that no other step needs,
 * and their tasks, have ended. Schedules the step's turn when that changes. */
bool agents_leave(struct agents *a);
void agents_close(struct agents *a);
/* Does an agent start the host, or may it still do so? Then mprun starts no start client. */
bool agents_start_it(const struct starter *st);
/* The start client that mprun has started on the host has said that mpstarter is there: makes it
 * the job's agent, hands it to the holder, and has it fork the starter. False: it is to be the
 * starter.
 */
bool agents_take(struct starter *st);
/* The same with a link that has come from the host, where an agent has a connection: takes it.
 * False: it is the link of a starter. */
bool agents_take_link(struct starter *st, struct link *l);
/* Its agent has come by a connection, and waits for others of the same start client. */
bool agents_has_come(const struct starter *st);
/* The manager has no room on the host for a start client: an agent that no step needs makes some.
 * False: the job has no agents. */
bool agents_make_room(struct starter *st);
/* No start client could be started there. */
void agents_cannot(struct starter *st);
