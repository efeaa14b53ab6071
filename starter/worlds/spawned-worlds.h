/* SPDX-License-Identifier: BSD-3-Clause */
/* spawned-worlds.h - this host's part of the worlds that ranks have started (MPI_Comm_spawn)
 *
 * A spawned world begins with a LAUNCH of its own while world 0 runs, and ends with WORLD_END: then
 * this host kills what its ranks have left behind, removes their cgroups, sends WORLD_REPORT, and
 * forgets the world. In between its ranks are like all others: they are in the list that
 * starter_services names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/loop.h"

struct starter_services;

struct spawned_worlds { /* private to spawned-worlds.c; as zero there are none */
    const struct starter_services *with;
    struct spawned_world *first;
    bool is_stopped;
    struct loop_timer again; /* until the cgroups of ended worlds are tried again */
};

void spawned_worlds_init(struct spawned_worlds *w, const struct starter_services *with);
void spawned_worlds_free(struct spawned_worlds *w);

/* LAUNCH of a further world: binds its ranks, and tells the PMI server; they start in later turns.
 * A failure ends the step. host_id: of this host, on the wire. */
void spawned_worlds_launch(struct spawned_worlds *w, const uint8_t *launch, size_t n,
                           uint32_t host_id);
/* The PMI server is ready for the world's ranks; takes env. */
void spawned_worlds_ready(struct spawned_worlds *w, uint32_t world, char **env);
/* In a turn of the host machine: starts some of the ranks that are due. */
void spawned_worlds_turn(struct spawned_worlds *w);
/* WORLD_KILL: kills the world's ranks at once, and starts no more. */
void spawned_worlds_kill(struct spawned_worlds *w, uint32_t world);
/* WORLD_END */
void spawned_worlds_end(struct spawned_worlds *w, uint32_t world);
/* This host's part of the step ends: ends what is left of the worlds. */
void spawned_worlds_stop(struct spawned_worlds *w);
