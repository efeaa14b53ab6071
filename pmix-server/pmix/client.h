/* SPDX-License-Identifier: BSD-3-Clause */
/* client.h - local ranks as clients of the PMIx library: registered, connected, finalized, gone
 *
 * The library lets a rank return from PMIx_Init or PMIx_Finalize only when PMI_CLIENT is in the
 * starter's socket. The answer to PMI_GONE comes behind it: a starter that has the answer knows
 * whether the rank had finalized. */
#pragma once

#include <pmix_server.h>

#include "common/error.h"
#include "wire/mprun.pb-c.h"

struct server;
struct world;

/* Registers all local ranks with the library, without waiting. Called in the library's thread. -1
 * with err. */
int clients_register(const struct world *w, struct error *err);
/* Sends PMI_CLIENT: the rank connected (1) or finalized (0). */
void client_tell(const struct server *s, const struct world *w, uint32_t rank, int connected);
/* Answers PMI_GONE with the same, behind everything that upcalls of the rank have queued. */
void client_gone(struct server *s, Mprun__RankName *name);

/* Upcall: a rank connected (1) or finalized (0). */
pmix_status_t client_upcall(struct server *s, const pmix_proc_t *proc, int connected,
                            pmix_op_cbfunc_t cbfunc, void *cbdata);
