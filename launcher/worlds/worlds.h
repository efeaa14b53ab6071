/* SPDX-License-Identifier: BSD-3-Clause */
/* worlds.h - the worlds of a step: the one that mprun starts, and those that ranks add
 *
 * A world is here as long as some of its ranks may run. What they have used and how they ended is
 * in the step's record. Hosts are counted among those of the step, as on the wire. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/rank-set.h"

struct step_plan;

struct world { /* others only read it; the last four are spawn.c's */
    struct world *next;
    uint32_t number, nranks;
    uint32_t root;          /* the world that mprun has started, from whose ranks this one comes */
    struct rank_set *ranks; /* of each host */
    uint32_t *left;         /* ranks of each host that have not ended */
    struct rank_map map;    /* the host of each rank */
    struct app *apps;       /* with their environments; of world 0 the plan's, else this struct's */
    size_t napps;
    char nspace[64];       /* its PMIx namespace; secret, see model/step.h */
    bool is_told;          /* other steps of the job know it */
    uint32_t known, ended; /* ranks that have been started or have ended; that have ended */
    bool is_awaited;       /* by ranks in MPI_Init, or an MPI that has asked for it */
    bool is_starting;      /* somebody waits for it */
    bool is_killed;        /* its ranks are to be killed */
    bool has_failed;       /* some of its ranks could not be started: it is being killed */
};

struct worlds { /* others only read it */
    const struct step_plan *plan;
    struct world *first;
    uint32_t last_number;
    uint32_t nranks; /* of all worlds so far */
    uint32_t *busy;  /* slots of each host that ranks have now */
};

/* World 0, as planned. */
void worlds_init(struct worlds *w, const struct step_plan *plan);
void worlds_free(struct worlds *w); /* zero is fine */

/* Adds a world with the next number. hosts: the ranks that each host is to have, all of that world;
 * apps and napps: it takes them. parent: the world whose rank has asked for it; NULL: mprun starts
 * it. */
struct world *worlds_add(struct worlds *w, const struct rank_set *hosts, uint32_t nranks,
                         struct app *apps, size_t napps, const struct world *parent);
/* All ranks have ended: forgets it. Not world 0. */
void worlds_remove(struct worlds *w, struct world *world);

struct world *worlds_find(const struct worlds *w, uint32_t number); /* NULL: none */
/* The host that has this rank; -1: none has. */
int64_t worlds_host_of(const struct worlds *w, struct rank_name name);
/* A rank was started, or has ended without: it is known. */
void worlds_rank_known(struct worlds *w, struct rank_name name);
/* Another step has been told of the world. */
void worlds_mark_told(struct worlds *w, uint32_t number);
/* A rank has ended. The slots of a world's ranks on a host are free when these have all ended, as
 * their cores and GPUs are (starter/worlds/). */
void worlds_rank_ended(struct worlds *w, struct rank_name name);
