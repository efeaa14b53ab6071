/* SPDX-License-Identifier: BSD-3-Clause */
/* queue.h - --queue: many commands in one step, each a world of its own, started when slots are
 * free
 *
 * The first command is world 0, which mprun starts as it starts any program. The queue adds the
 * others as spawn.c adds worlds that ranks ask for. A rank that fails ends its command, with what
 * the command has spawned, and not the step. Functions of a queue that is NULL do nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/rank-end.h"

struct cmdline;
struct error;
struct host_table;
struct output;
struct queue;
struct rank_failures;
struct spawner;
struct verdict;
struct world;
struct worlds;

/* Reads the commands of --queue, and puts the first one that is due into c as its program. *ret is
 * NULL where there is no queue. -1 with err. */
int queue_create(struct cmdline *c, struct queue **ret, struct error *err);
void queue_destroy(struct queue *q);
/* False: the joblog says that every command has succeeded, and c has no program. */
bool queue_has_commands(const struct queue *q);

struct queue_step { /* the step's objects, borrowed */
    struct spawner *spawner;
    const struct worlds *worlds;
    struct host_table *hosts;
    struct rank_failures *failures;
    struct verdict *verdict;
    struct output *output;
};
/* The step begins, with the first command as world 0. -1 with err: the joblog. */
int queue_begin(struct queue *q, const struct queue_step *step, struct error *err);
/* Starts as many commands as there are slots for. */
void queue_turn(struct queue *q);
/* No command waits or runs. True where there is no queue. */
bool queue_is_done(const struct queue *q);

/* A rank of this world has ended, or has called abort. counts: false for a rank that mprun has
 * killed. Returns false where the step has to handle the end: without a queue, while the step ends,
 * or after mprun's output has lost its reader. */
bool queue_rank_ended(struct queue *q, const struct world *w, const struct rank_end *end,
                      bool counts);
/* All ranks of this world have ended; it is still in the step's list. */
void queue_world_ended(struct queue *q, const struct world *w);
/* The step is over: says how many commands have failed, or were not run. */
void queue_say_end(const struct queue *q);
