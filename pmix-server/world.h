/* SPDX-License-Identifier: BSD-3-Clause */
/* world.h - a set of ranks started together: which rank is on which host
 *
 * Does not use PMIx. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/text/idset.h"
#include "model/rank-set.h"
#include "wire/mprun.pb-c.h"

enum { WORLD_NSPACE_MAX = 255 };

struct world_node { /* a host with ranks of this world */
    char *name;
    uint32_t host; /* index in the placements */
    struct rank_set ranks;
};

struct world_app {
    char *program; /* argv[0]; "" when unknown */
    char *directory;
    struct rank_set ranks;
};

struct world {
    struct world *next;
    uint32_t number;
    char nspace[WORLD_NSPACE_MAX + 1]; /* secret: not for messages or file names */
    unsigned pmi;                      /* of enum pmi_kind: what its ranks are offered */
    uint32_t nranks;
    uint32_t universe; /* ranks that all worlds of the step have room for; 0: any number */
    bool is_spawned;
    bool is_registering;     /* the library's thread reads it: do not free it now */
    bool has_ended;          /* free it as soon as is_registering ends */
    struct rank_name parent; /* of a spawned world: the rank that asked for it */
    uint8_t *preput;         /* what a spawn has put for its ranks, packed (simple-pmi/kvs.h) */
    size_t npreput;
    uint32_t nhosts;   /* placements */
    uint32_t own_host; /* our index in the placements; UINT32_MAX: we are in none */
    struct world_node *nodes;
    size_t nnodes;
    struct rank_map map; /* rank to index in nodes */
    int here;            /* our index in nodes; -1: no rank of this world is here */
    struct world_app *apps;
    size_t napps;
    char *directory; /* "" when none was given */
    char **bound;    /* hardware threads by local rank; NULL: no rank is bound */
    size_t nbound;
};

/* Makes a world. NULL with err: the message contradicts itself; err says where. */
struct world *world_create(const Mprun__PmiWorld *m, struct error *err);
void world_destroy(struct world *w); /* NULL is fine */

/* Returns whether the world is another step's; then its hosts are not ours. */
bool world_is_other(const struct world *w);
struct world *world_by_number(struct world *list, uint32_t number);
struct world *world_by_nspace(struct world *list, const char *nspace);

/* Returns the ranks of our node; empty when no rank is here. */
const struct rank_set *world_local_ranks(const struct world *w);
/* Returns the index of a rank's node; -1: there is no such rank. */
int64_t world_node_of(const struct world *w, uint32_t rank);
bool world_is_local(const struct world *w, uint32_t rank);
/* Returns the hardware threads of a local rank, "" when it is not bound. */
const char *world_bound(const struct world *w, uint32_t local_rank);
/* Returns the size of the universe, where a number is required. */
uint32_t world_universe(const struct world *w);
const struct world_app *world_app_of(const struct world *w, uint32_t rank);
/* Adds the host of a rank, or of all ranks, to the set. -1: no such rank, or out of memory. */
int world_add_host(const struct world *w, uint32_t rank, struct idset *hosts);
int world_add_all_hosts(const struct world *w, struct idset *hosts);
/* Returns the ranks of a node, "0,1,2,8"; the caller frees the text. */
char *world_node_ranks(const struct world *w, uint32_t node);
/* Return the whole map in PMIx's form: "n1,n2" and "0,1;2,3". The caller frees the text. */
char *world_node_names(const struct world *w);
char *world_rank_map(const struct world *w);
/* Returns the map for PMI-1: "(vector,(first node,nodes,ranks on each),...)"; when all parts are
 * the same, it writes one, because readers repeat it. The caller frees the text. */
char *world_process_mapping(const struct world *w);
