/* SPDX-License-Identifier: BSD-3-Clause */
/* connection.h - a rank's connection, for those who know its protocol */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/buffer.h"
#include "pmix-server/simple-pmi/fields.h"
#include "pmix-server/simple-pmi/space.h"

struct connection;

struct pmi_dialect {
    /* Handles the first request among n bytes, which it may change. Returns how many bytes it has;
     * 0: its end has not come. May change the connection's dialect. */
    size_t (*take)(struct connection *c, char *bytes, size_t n);
    /* The fence of the rank's world that the rank waits in is complete. */
    void (*fence_done)(struct connection *c);
    void (*gone)(struct connection *c); /* the connection is about to be freed; or NULL */
};
extern const struct pmi_dialect pmi1_dialect, pmi2_dialect;

struct connection {
    LIST_ENTRY(connection) list;
    struct simple_pmi *pmi;
    struct space *space; /* NULL until the hello has come */
    const struct pmi_dialect *dialect;
    uint32_t rank;
    bool in_fence;
    bool in_spawn;                      /* PMI-1: the lines of a spawn come */
    int spawns_left;                    /* of its programs, after this one */
    size_t nput;                        /* bytes of what it has put */
    size_t nwaiting;                    /* of its threads for a value of PMI-2 */
    char fence_thread[PMI2_THREAD_MAX]; /* PMI-2: its thread in the fence */
    /* private to connection.c */
    int fd;
    struct loop_io *io;
    struct buffer in, out;
};

/* The connection of a rank; NULL: it has none. */
struct connection *connection_find(const struct simple_pmi *p, uint32_t world, uint32_t rank);
const struct world *connection_world(const struct connection *c);
/* Sends an answer. A rank that has gone, or does not read, is noticed elsewhere. */
void connection_send(struct connection *c, const char *bytes, size_t n);
/* Ends the step: mppmi cannot answer a request that it does not understand, and the rank would wait
 * for ever. */
void connection_refuse(const struct connection *c, const char *why);
