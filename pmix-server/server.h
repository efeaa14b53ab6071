/* SPDX-License-Identifier: BSD-3-Clause */
/* server.h - what mppmi is made of: one PMIx server for the ranks of one host
 *
 * Two threads matter: the loop's, on which everything here lives, and PMIx's own, which calls
 * upcalls.c. The bridge is the only thing that both touch. */
#ifndef PMIX_SERVER_SERVER_H
#define PMIX_SERVER_SERVER_H

#include <hwloc.h>

#include "common/error.h"
#include "common/loop.h"
#include "wire/link.h"
#include "wire/mprun.pb-c.h"

struct bridge;
struct pmi1;
struct requests;
struct store;
struct turn;
struct world;

struct server {
    struct loop *loop;
    struct link *link; /* to the starter's worker; NULL once it is lost */
    struct bridge *bridge;
    struct requests *requests; /* what the launcher was asked and has not answered */
    struct turn *turns;        /* of collectives (fence.c) */
    struct store *store;       /* what ranks published */
    struct pmi1 *pmi1;         /* NULL when no world offers PMI-1 */
    struct world *worlds;
    hwloc_topology_t topology; /* as the starter gave it */
    char *directory;           /* NULL until PMI_INIT */
    char *hostname;
    int pmix_is_up;
    int had_clients; /* some rank has connected */
    int registering; /* worlds that the library's thread is at */
    int ending;      /* PMI_END has come */
    int exit_code;
};

/* What can be made ready before anything is known of the step. */
int server_prepare(struct server *s, struct error *err);
/* PMI_INIT: start the PMIx library. */
int server_start(struct server *s, const Mprun__PmiInit *m, struct error *err);
/* Say PMI_FAILED, and leave the loop: the worker ends the step. */
void server_fail(struct server *s, const struct error *err);
/* PMI_END: leave the loop, once the library's thread no longer works on files in our directory. */
void server_end(struct server *s);
/* Let the library clean up behind the ranks, and remove our directory. The process has to leave by
 * _exit() then: the library's threads are still there. */
void server_stop(struct server *s);

#endif
