/* SPDX-License-Identifier: BSD-3-Clause */
/* connection.h - a rank's connection, for those who know its protocol */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <pmix_server.h>

#include "common/buffer.h"
#include "pmix-server/simple-pmi/fields.h"
#include "pmix-server/simple-pmi/space.h"

struct connection;
struct spawn_request;

struct pmi_dialect {
    /* Handles the first request among n bytes, which it may change. Returns how many bytes it has;
     * 0: its end has not come. May change the connection's dialect. */
    size_t (*take)(struct connection *c, char *bytes, size_t n);
    /* The fence of the rank's world that the rank waits in is complete. */
    void (*fence_done)(struct connection *c);
    void (*gone)(struct connection *c); /* the connection is about to be freed; or NULL */
    /* Answers of mprun. thread: as in the request, "" in PMI-1. Of a lookup port is what was found,
     * else "". world: of a spawn; NULL: there is none. */
    void (*named)(struct connection *c, const char *command, const char *thread,
                  pmix_status_t status, const char *port);
    void (*spawned)(struct connection *c, const char *thread, const struct world *world);
};
extern const struct pmi_dialect pmi1_dialect, pmi2_dialect;

struct connection {
    LIST_ENTRY(connection) list;
    struct simple_pmi *pmi;
    struct space *space; /* NULL until the hello has come */
    const struct pmi_dialect *dialect;
    uint32_t rank;
    bool in_fence;
    struct spawn_request *spawn;        /* PMI-1: its lines come; else NULL */
    bool in_program;                    /* those of one of its programs, */
    int spawns_left;                    /* which so many follow */
    size_t nput;                        /* bytes of what it has put */
    size_t nwaiting;                    /* of its threads for a value of PMI-2 */
    char fence_thread[PMI2_THREAD_MAX]; /* PMI-2: its thread in the fence */
    bool has_sent, counts_length;       /* PMI-2: a message; six bytes too many, as MPICH does */
    /* private to connection.c */
    int fd;
    struct loop_io *io;
    struct buffer in, out;
};

/* A request of a rank that mprun answers: the rank may have gone by then. */
struct caller {
    struct simple_pmi *pmi;
    uint32_t world, rank;
    const char *command; /* a constant; or NULL */
    char thread[PMI2_THREAD_MAX];
};
/* NULL: out of memory; the step ends then. */
struct caller *caller_create(const struct connection *c, const char *command, const char *thread);
/* Frees the caller, and gives a copy. NULL: the rank has gone. */
struct connection *caller_take(struct caller *call, struct caller *ret);

/* Asks mprun for the world that the request describes: `spawned` of the dialect has the answer. */
void connection_spawn(struct connection *c, struct spawn_request *r, const char *thread);

const struct world *connection_world(const struct connection *c);
/* Sends an answer. A rank that has gone, or does not read, is noticed elsewhere. */
void connection_send(struct connection *c, const char *bytes, size_t n);
/* Ends the step: mppmi cannot answer a request that it does not understand, and the rank would wait
 * for ever. */
void connection_refuse(const struct connection *c, const char *why);
