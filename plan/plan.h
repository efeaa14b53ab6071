/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.h - places ranks on hosts and on cores: pure functions
 *
 * plan() places ranks on hosts; plan_binding() gives the ranks of one host their hardware threads.
 * Both are pure: they do not look at the machine, print nothing and keep no state, so that equal
 * input gives equal plans. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/allocation.h"
#include "model/step.h"

struct plan {
    struct rank_set *hosts; /* the ranks of each host of the allocation, in its order */
    size_t nhosts;
    struct rank_map map; /* and the host of each rank */
    int oversubscribed;  /* some host has more ranks than slots */
    char reason[256];    /* "4 ranks on 2 hosts by slot: 2 slots each (cores of this machine)" */
};

struct plan_options {
    uint32_t nranks;         /* 0: one per slot, or per_host on every host when that is set */
    uint32_t per_host;       /* --npernode/-N: at most this many on a host; 0: no bound */
    uint32_t cores;          /* a rank takes as many slots; 0 is one */
    uint32_t set_ranks;      /* so many ranks take these slots together; 0: one does */
    uint32_t set_turn;       /* numbers go to each set of a host in turn; 0: set after set */
    bool threads;            /* and slots are hardware threads */
    uint32_t world;          /* of the ranks */
    uint32_t turn;           /* so many ranks to each host in turn; 0: host after host is filled */
    uint32_t numbers;        /* the same for the numbers of ranks */
    const uint32_t *host_of; /* instead: each rank's host, nhost_of of them; or NULL */
    uint32_t nhost_of;
    bool even;         /* each host gets as many, but one, if they have the slots */
    int oversubscribe; /* 1: allowed, 0: not, -1: as the allocation says */
};

/* Fill hosts in order, or one slot of each in turn. Fills slots first; deals the remaining ranks
 * (oversubscription) round robin in proportion to slots. The error has the arithmetic and the way
 * out. */
int plan(const struct allocation *a, const struct plan_options *o, struct plan *ret,
         struct error *err);
void plan_free(struct plan *p);

/* A core: those of its hardware threads that the step may use, by operating system index. */
struct plan_core {
    struct idset threads;
    int at[LEVEL_COUNT]; /* logical index of the part of each level that has it; -1: the machine has
                            no such parts */
    int of_package;      /* its number among the cores of its package */
    int kind;            /* of performance and efficiency cores; 0 where all are alike */
};
struct plan_topology {
    struct plan_core *cores; /* in the machine's order; those with no usable thread are left out */
    size_t ncores;
    size_t share; /* how many of them the job has, where nobody says which; 0: all */
    int inside;   /* the step runs in a rank of another step, on that rank's cores */
};
/* The parts of a level that have a usable core; 0: some core is in none. */
uint32_t plan_count_parts(const struct plan_topology *t, enum level level);
void plan_topology_free(struct plan_topology *t);

struct plan_binding {
    struct idset *ranks; /* nranks sets of hardware threads; all empty: not bound */
    uint32_t nranks;
    int bound;
    struct idset seats; /* the hardware threads of all their cores, before --bind-to widens these */
    char reason[256];   /* "bound to cores: 2 ranks, 2 cores", "not bound: 4 ranks on 2 cores" */
};
/* Gives each rank one core, or as many as `how` says, in the topology's order, or dealt to the
 * parts of a level in turn. A rank's cores are all of one kind where there are enough of a kind.
 * busy (may be NULL): the hardware threads of other steps. Free cores come first. By default
 * (BIND_DEFAULT) ranks are not bound when free cores do not suffice; BIND_TO takes busy ones, too,
 * and the reason says so. By default ranks are not bound within a share, either: two jobs would
 * choose the same cores. -1 with err. */
int plan_binding(const struct plan_topology *t, const struct binding_request *how, uint32_t nranks,
                 const struct idset *busy, struct plan_binding *ret, struct error *err);
/* The same for the ranks of a host in a step whose programs may have requests of their own: cores
 * of one program are not another's, unless that one allows it. */
int plan_step_binding(const struct plan_topology *t, const struct step *s,
                      const struct rank_set *ranks, const struct idset *busy,
                      struct plan_binding *ret, struct error *err);
void plan_binding_free(struct plan_binding *b);
