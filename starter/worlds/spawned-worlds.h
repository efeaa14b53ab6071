/* SPDX-License-Identifier: BSD-3-Clause */
/* spawned-worlds.h - this host's part of the worlds that ranks have started (MPI_Comm_spawn)
 *
 * Each begins with a LAUNCH of its own while world 0 runs, and ends with WORLD_END: then what its
 * ranks have left behind is killed, their cgroups go, WORLD_REPORT has what they used, and nothing
 * of the world stays here. Between them its ranks are ranks as others: they are in the list that
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
    struct loop_timer again; /* cgroups of worlds that have ended are not empty yet */
};

void spawned_worlds_init(struct spawned_worlds *w, const struct starter_services *with);
void spawned_worlds_free(struct spawned_worlds *w);

/* LAUNCH of a further world: bind its ranks, and tell the PMI server; they start in later turns. A
 * failure ends the step. host_id: of this host, on the wire. */
void spawned_worlds_launch(struct spawned_worlds *w, const uint8_t *launch, size_t n,
                           uint32_t host_id);
/* The PMI server is ready for its ranks; takes env. */
void spawned_worlds_ready(struct spawned_worlds *w, uint32_t world, char **env);
/* A turn of the host machine: start some of the ranks that are due. */
void spawned_worlds_turn(struct spawned_worlds *w);
/* WORLD_KILL: kill the world's ranks at once, and start no more. */
void spawned_worlds_kill(struct spawned_worlds *w, uint32_t world);
/* WORLD_END */
void spawned_worlds_end(struct spawned_worlds *w, uint32_t world);
/* The host's part in the step ends: what is left of the worlds ends with it. */
void spawned_worlds_stop(struct spawned_worlds *w);
