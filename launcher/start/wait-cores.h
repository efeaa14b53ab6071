/* SPDX-License-Identifier: BSD-3-Clause */
/* wait-cores.h - --wait-cores: the step's turn among the job's steps that wait for slots of hosts
 *
 * The holder of the job's agents keeps the queue. A step whose turn it is takes slots of hosts that
 * no other one has taken, as soon as there are enough, and has them until it ends. Without a holder
 * it starts without waiting, and says so. */
#pragma once

struct loop_io;
struct starters;
struct step_plan;

struct cores_turn { /* wait-cores.c alone changes it */
    int fd;         /* to the holder; -1: there is nothing to wait for, or to leave */
    struct loop_io *io;
};

/* Returns when the step may take its slots; at once if it does not wait. Its ranks are placed on
 * them. */
void cores_await(struct cores_turn *t, struct step_plan *plan);
/* Tells the next holder of the step's slots when this one is killed. */
void cores_keep(struct cores_turn *t, struct starters *s);
/* The step's slots are free from now on. */
void cores_leave(struct cores_turn *t);
