/* SPDX-License-Identifier: BSD-3-Clause */
/* server.h - mppmi's parts: one PMIx server for the ranks of one host
 *
 * Two threads run: the loop's, which runs everything here, and the PMIx library's, which calls
 * pmix/upcalls.c. Only the bridge belongs to both. Only server.c writes this struct; every member
 * with a type of its own belongs to the module of that name. */
#pragma once

#include <stdbool.h>

#include "common/error.h"
#include "pmix-server/pmix/requests.h"
#include "pmix-server/simple-pmi/simple-pmi.h"
#include "pmix-server/thread-bridge.h"
#include "wire/link/link.h"
#include "wire/mprun.pb-c.h"

struct world;

struct server {
    struct loop *loop;
    struct link *link; /* to the starter's worker */
    struct bridge bridge;
    struct requests requests; /* sent to mprun, not answered yet */
    struct collectives collectives;
    struct simple_pmi simple_pmi;
    struct world *worlds;   /* of the step, the newest first */
    struct world *others;   /* of other steps, with which ranks here have been connected */
    char *directory;        /* for files of this server; NULL before PMI_INIT */
    char *hostname;         /* NULL before PMI_INIT */
    char *step_id;          /* NULL before PMI_INIT */
    char **given_variables; /* that ranks of world 0 have got already; NULL: none */
    bool had_clients;       /* a rank or a tool has connected to the PMIx library */
    bool ending;            /* PMI_END has come */
    int busy;               /* worlds that the library's thread works on */
    int exit_code;          /* not 0: the server has failed, and ignores further messages */
};

/* Makes everything that does not depend on the step. Takes fd, the worker's socket. -1 with err. */
int server_open(struct server *s, int fd, const struct link_events *events, struct error *err);
/* PMI_INIT: notes directory and host name. -1 with err: given twice, or not usable. */
int server_init(struct server *s, const Mprun__PmiInit *m, struct error *err);
void server_add_world(struct server *s, struct world *w); /* takes w */
/* Return the world with this number, or with this namespace, of any step. NULL: there is none. */
struct world *server_world(const struct server *s, uint32_t number);
struct world *server_nspace(const struct server *s, const char *nspace);
/* Removes a world from the list; the caller destroys it. NULL: none, or the step's only. */
struct world *server_take_world(struct server *s, uint32_t number);
void server_had_client(struct server *s);

/* Sends PMI_FAILED and leaves the loop: the worker ends the step. */
void server_fail(struct server *s, const struct error *err);
/* The link to the worker is closed: leaves the loop; the exit code becomes 1. */
void server_lose(struct server *s);
/* Between hold and release the library's thread works on our files: server_end() waits. */
void server_hold(struct server *s);
void server_release(struct server *s);
/* PMI_END: leaves the loop once nothing holds the server. */
void server_end(struct server *s);

/* Send PMI_CLIENT: the rank connected (1) or finalized (0); ABORTED: it asks for the end of the
 * step, or of n ranks alone. The library lets a rank return from PMIx_Init or PMIx_Finalize, and
 * continue after PMIx_Abort, only when the message is in the starter's socket. */
void server_tell_client(const struct server *s, const struct world *w, uint32_t rank,
                        int connected);
void server_tell_abort(const struct server *s, const struct world *w, uint32_t rank, int code,
                       const char *text, Mprun__RankName **ranks, size_t n);
/* Sends OUTPUT: the rank writes n bytes, at most BULK_DATA_MAX, to stream 1 or 2. */
void server_tell_output(const struct server *s, const struct world *w, uint32_t rank,
                        unsigned stream, const void *text, size_t n);
/* Answers PMI_GONE with PMI_GONE, after everything that upcalls of the rank have queued: then the
 * starter knows whether the rank had finalized. */
void server_tell_gone(struct server *s, Mprun__RankName *name);
