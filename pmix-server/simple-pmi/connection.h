/* SPDX-License-Identifier: BSD-3-Clause */
/* connection.h - a rank's connection; the dialects (PMI-1 and PMI-2) know its protocol */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <pmix_server.h>

#include "common/buffer.h"
#include "pmix-server/simple-pmi/fields.h"
#include "pmix-server/simple-pmi/space.h"

struct spawn_request;

struct pmi_dialect {
    /* Handles the first request in n bytes, which it may change. Returns the request's bytes; 0:
     * its end has not come. May change the connection's dialect. */
    size_t (*take)(struct connection *c, char *bytes, size_t n);
    /* The fence of the rank's world is complete; the rank waits in it. */
    void (*fence_done)(struct connection *c);
    void (*gone)(struct connection *c); /* the connection is about to be freed; or NULL */
    /* mprun has answered. thread: as in the request, "" in PMI-1. port: what a lookup found, else
     * "". world: the spawned one; NULL: there is none. */
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
    struct spawn_request *spawn;        /* PMI-1: its lines are coming; else NULL */
    bool in_program;                    /* PMI-1: so are the lines of one of its programs, */
    int spawns_left;                    /* after which so many programs follow */
    size_t nput;                        /* bytes that the rank has put */
    size_t nwaiting;                    /* PMI-2: threads of the rank that wait for a value */
    char fence_thread[PMI2_THREAD_MAX]; /* PMI-2: the rank's thread in the fence */
    bool has_sent, counts_length;       /* PMI-2: a message; six bytes too many, as MPICH does */
    /* private to connection.c */
    int fd;
    struct loop_io *io;
    struct buffer in, out;
};

/* The rank whose request mprun answers; it may have gone by then. */
struct caller {
    struct simple_pmi *pmi;
    uint32_t world, rank;
    const char *command; /* a constant; or NULL */
    char thread[PMI2_THREAD_MAX];
};
/* Notes the rank of c and its request. NULL: out of memory; the step ends then. */
struct caller *caller_create(const struct connection *c, const char *command, const char *thread);
/* Copies call to *ret and frees call. Returns the rank's connection; NULL: the rank has gone. */
struct connection *caller_take(struct caller *call, struct caller *ret);

/* Asks mprun for the world that the request describes; the dialect's spawned() gets the answer. */
void connection_spawn(struct connection *c, struct spawn_request *r, const char *thread);

const struct world *connection_world(const struct connection *c);
/* Sends an answer. Ignores errors: other code notices a rank that has gone, or does not read. */
void connection_send(struct connection *c, const char *bytes, size_t n);
/* Ends the step: mppmi does not understand a request, so the rank would wait for its answer for
 * ever. */
void connection_refuse(const struct connection *c, const char *why);
