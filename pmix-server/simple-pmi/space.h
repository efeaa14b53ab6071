/* SPDX-License-Identifier: BSD-3-Clause */
/* space.h - a world, as the simple protocols see it: what its ranks put, and its fence
 *
 * Between hosts a fence (PMI-1: barrier) is a collective of kind 'B', which carries the pairs that
 * were put since the fence before. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "pmix-server/simple-pmi/kvs.h"

struct connection;
struct simple_pmi;
struct world;

enum { SPACE_NAME_MAX = 64 };

struct space {
    struct space *next;
    struct simple_pmi *pmi;
    uint32_t world;
    char name[SPACE_NAME_MAX]; /* space_name() */
    struct kvs kvs;
    struct kvs node;                  /* values for the ranks of this host */
    LIST_HEAD(, node_waiter) waiters; /* ranks that wait for such a value */
    /* private to space.c */
    struct buffer fresh; /* put here since the last fence, packed */
    uint32_t waiting;    /* local ranks in the fence */
};

/* The name of a world's space, and of its job in PMI-2: no other step's is called so, as MPICH
 * tells two jobs that connect by it. Returns ret. */
const char *space_name(const struct simple_pmi *p, uint32_t world, char ret[SPACE_NAME_MAX]);
/* The space of a world; it is made when it is first asked for. NULL: out of memory. */
struct space *space_for(struct simple_pmi *p, const struct world *w);
void space_destroy(struct space *s); /* NULL is fine; it has no connection any more */
/* Puts a pair of the rank; others see it after the next fence. Returns NULL, or why not, without
 * blanks. */
const char *space_put(struct connection *c, const char *key, const char *value);
/* The same for a value of PMI-2 that the ranks of this host see at once. */
const char *space_put_node(struct connection *c, const char *key, const char *value);
/* The rank waits in the fence: fence_done() of its dialect follows. */
void space_fence(struct connection *c);
