/* SPDX-License-Identifier: BSD-3-Clause */
/* fence.h - collectives among ranks of several hosts: fence, connect, disconnect, PMI-1's barrier
 *
 * The library gathers what the local ranks bring and asks once; the part of this host goes to the
 * launcher as COLLECT, and COLLECTED brings the parts of all hosts, in the hosts' order.
 *
 * The signature of a collective: one byte of its kind, then eight bytes for each participant (world
 * and rank, little endian, PMIx's number for "all ranks"), sorted. The same signature comes again
 * whenever the same ranks do the same again, and every host counts that: the turn. */
#ifndef PMIX_SERVER_FENCE_H
#define PMIX_SERVER_FENCE_H

#include <pmix_server.h>

#include "pmix-server/requests.h"
#include "wire/mprun.pb-c.h"

struct server;

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
};

pmix_status_t collective_upcall(struct server *s, const struct collective_call *call,
                                const struct asker *asker);
/* COLLECTED; signatures and turns that nobody waits for are dropped. */
void collective_answer(struct server *s, const Mprun__Collected *m);

#endif
