/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn.h - ranks ask for further worlds (MPI_Comm_spawn): each is planned on the free slots of the
 * step's hosts, launched, and answered when all its ranks have been started
 *
 * What cannot be done is an error of the rank that asks, and the step goes on; mprun says the
 * sentence, as MPI has only a number for it. */
#pragma once

#include "model/rank-end.h"
#include "wire/mprun.pb-c.h"

struct error;
struct host;
struct host_table;
struct step_record;
struct verdict;
struct worlds;
struct world;

struct spawner { /* private to spawn.c */
    struct worlds *worlds;
    struct host_table *hosts;
    struct step_record *record;
    struct verdict *verdict;
    struct preload **preload;    /* of the step: what is brought now, or was brought last */
    struct spawn_wait *waiting;  /* requests whose world is being started */
    struct spawn_wait *bringing; /* one of them, whose files are being brought; NULL: none */
};

void spawner_free(struct spawner *s); /* what it holds; zero is fine */

/* Starts n ranks of argv as one more world, placed as the step's options say, with the environment
 * and directory of the step's first program and with these variables ("NAME=VALUE"). Nobody is
 * answered. 0, or -1 with err: there is no room for them now, among others. */
int spawner_start(struct spawner *s, char *const *argv, const char *const *variables,
                  size_t nvariables, uint32_t n, uint32_t *ret_world, struct error *err);
/* SPAWN of a rank of this host. */
void spawner_request(struct spawner *s, struct host *from, const Mprun__Spawn *m);
/* Some rank of this world was started, or has ended. */
void spawner_look(struct spawner *s, struct world *world);
/* A host has said what it wants of the files that are being brought. */
void spawner_brought(struct spawner *s);
/* Tells all hosts to kill the world's ranks. What these have asked for and not got is refused. */
void spawner_kill(const struct spawner *s, struct world *world);
/* A rank of the world could not be started. text: a sentence. False: nobody waits for this world.
 */
bool spawner_failed(struct spawner *s, struct world *world, const char *text);
