/* SPDX-License-Identifier: BSD-3-Clause */
/* space.h - a world in the simple protocols: what its ranks put, and its fence
 *
 * Between hosts a fence (PMI-1: barrier) is a collective of kind 'B' with the pairs that were put
 * since the last fence. */
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
    LIST_HEAD(, node_waiter) waiters; /* ranks that wait for a value in `node` */
    /* private to space.c */
    struct buffer fresh; /* put here since the last fence, packed */
    uint32_t waiting;    /* local ranks in the fence */
};

/* Writes the name of a world's space, and of its job in PMI-2; returns ret. No other step has the
 * same name, because MPICH tells two connected jobs apart by it. */
const char *space_name(const struct simple_pmi *p, uint32_t world, char ret[SPACE_NAME_MAX]);
/* Returns a world's space, and makes it at the first call. NULL: out of memory. */
struct space *space_for(struct simple_pmi *p, const struct world *w);
void space_destroy(struct space *s); /* NULL is fine; it has no connection any more */
/* Puts a pair of the rank; other ranks see it after the next fence. Returns NULL, or why not,
 * without blanks. */
const char *space_put(struct connection *c, const char *key, const char *value);
/* Puts a value of PMI-2 that the ranks of this host see at once. Returns as space_put(). */
const char *space_put_node(struct connection *c, const char *key, const char *value);
/* The rank waits in the fence; the dialect's fence_done() follows. */
void space_fence(struct connection *c);
