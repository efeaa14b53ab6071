/* SPDX-License-Identifier: BSD-3-Clause */
/* world.h - a set of ranks started together: which rank is on which host
 *
 * Knows nothing of PMIx. Placements are kept as blocks of consecutive ranks, so that a world costs
 * what its hosts cost, not what its ranks do. */
#ifndef PMIX_SERVER_WORLD_H
#define PMIX_SERVER_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/idset.h"
#include "wire/mprun.pb-c.h"

enum { WORLD_NSPACE_MAX = 255 };

struct world_block {
    uint32_t first, count; /* ranks; count is never 0 */
    uint32_t node;         /* index in nodes */
    uint32_t first_local;  /* local rank of `first` */
};

struct world_node { /* a host with ranks of this world */
    char *name;
    uint32_t host; /* index in the placements (of its first one, if it has several) */
    uint32_t nranks;
    uint32_t first_block, nblocks; /* its blocks: the first of them, and how many */
};

struct world_app {
    char *program; /* argv[0]; "" when unknown */
    char *directory;
    uint32_t first, count;
};

struct world {
    struct world *next;
    uint32_t number;
    char nspace[WORLD_NSPACE_MAX + 1]; /* secret: not for messages or file names */
    uint32_t nranks;
    uint32_t nhosts;            /* placements */
    uint32_t own_host;          /* our index in the placements */
    struct world_block *blocks; /* ascending by rank */
    size_t nblocks;
    struct world_node *nodes;
    size_t nnodes;
    int here; /* our index in nodes; -1: no rank of this world is here */
    struct world_app *apps;
    size_t napps;
    char *directory; /* "" when none was given */
    char **bound;    /* hardware threads by local rank; NULL: nobody is bound */
    size_t nbound;
};

/* Refuses a world that does not hold together: the error says what is wrong. */
struct world *world_create(const Mprun__PmiWorld *m, struct error *err);
void world_destroy(struct world *w); /* NULL is fine */

struct world *world_by_number(struct world *list, uint32_t number);
struct world *world_by_nspace(struct world *list, const char *nspace);

uint32_t world_local_count(const struct world *w);
/* The block of a rank, or NULL when there is no such rank. */
const struct world_block *world_block_of(const struct world *w, uint32_t rank);
int world_is_local(const struct world *w, uint32_t rank);
/* Hardware threads of a local rank, "" when it is not bound. */
const char *world_bound(const struct world *w, uint32_t local_rank);
const struct world_app *world_app_of(const struct world *w, uint32_t rank);
/* Add the hosts of a rank, or of all ranks, to the set. -1: no such rank, or out of memory. */
int world_add_host(const struct world *w, uint32_t rank, struct idset *hosts);
int world_add_all_hosts(const struct world *w, struct idset *hosts);
/* Ranks of a node, "0,1,2,8"; caller frees. NULL: out of memory. */
char *world_node_ranks(const struct world *w, uint32_t node);
/* The whole map as PMIx wants it: "n1,n2" and "0,1;2,3". Caller frees. NULL: out of memory. */
char *world_node_names(const struct world *w);
char *world_rank_map(const struct world *w);
/* The same for PMI-1: "(vector,(first node,nodes,ranks on each),...)". */
char *world_process_mapping(const struct world *w);

#endif
