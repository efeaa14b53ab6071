/* SPDX-License-Identifier: BSD-3-Clause */
/* collective.h - collectives among ranks of several hosts: fence, connect, disconnect, PMI-1's
 * barrier
 *
 * The library gathers the parts of the local ranks and calls once. This host's part goes to the
 * launcher as COLLECT; COLLECTED brings the parts of all hosts, in the hosts' order.
 *
 * A collective has a signature: one byte for its kind, then eight bytes for each participant (world
 * and rank, little endian, PMIx's number for "all ranks"), sorted. Ranks that do the same again
 * have the same signature again; every host counts how often: that is the turn. */
#pragma once

#include <pmix_server.h>

#include "pmix-server/pmix/requests.h"
#include "wire/mprun.pb-c.h"

struct server;

struct collectives { /* private to collective.c */
    struct turn *turns;
};

enum collective {
    COLLECTIVE_FENCE = 'F',
    COLLECTIVE_CONNECT = 'C',
    COLLECTIVE_DISCONNECT = 'D',
    COLLECTIVE_BARRIER = 'B', /* of PMI-1 */
};

struct collective_call { /* as in the upcall */
    enum collective kind;
    const pmix_proc_t *procs;
    size_t nprocs;
    const pmix_info_t *info;
    size_t ninfo;
    const char *data;
    size_t ndata;
    struct asker asker;
};

/* Upcall, and PMI-1's barrier. Copies the call's data; answers through its asker. */
pmix_status_t collective_upcall(struct server *s, const struct collective_call *call);
/* COLLECTED: answers the call that waits for it; without one the message is dropped. */
void collective_answer(struct server *s, const Mprun__Collected *m);
