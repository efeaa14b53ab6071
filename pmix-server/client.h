/* SPDX-License-Identifier: BSD-3-Clause */
/* client.h - local ranks as clients of the PMIx library: registered, connected, finalized, gone
 *
 * A rank goes on after its PMIx_Init or PMIx_Finalize only when PMI_CLIENT is in the starter's
 * socket, and the answer to PMI_GONE comes behind it: who has that answer knows whether the rank
 * had finalized. */
#ifndef PMIX_SERVER_CLIENT_H
#define PMIX_SERVER_CLIENT_H

#include <pmix_server.h>

#include "common/error.h"
#include "wire/mprun.pb-c.h"

struct server;
struct world;

/* Tell the library of all local ranks, without waiting. Called in the library's thread. */
int clients_register(const struct world *w, struct error *err);
/* Send PMI_CLIENT: the rank connected (1) or finalized (0). */
void client_tell(const struct server *s, const struct world *w, uint32_t rank, int connected);
/* PMI_GONE: answered with the same, behind all that upcalls of the rank have queued. */
void client_gone(struct server *s, const Mprun__PmiGone *m);

/* Upcall: a client connected (1) or finalized (0). */
pmix_status_t client_upcall(struct server *s, const pmix_proc_t *proc, int connected,
                            pmix_op_cbfunc_t cbfunc, void *cbdata);

#endif
