/* SPDX-License-Identifier: BSD-3-Clause */
/* client.h - what mppmi tells the starter about a local rank
 *
 * The library lets a rank return from PMIx_Init or PMIx_Finalize only when PMI_CLIENT is in the
 * starter's socket, and go on after PMIx_Abort only when ABORTED is. The answer to PMI_GONE comes
 * behind them: a starter that has the answer knows whether the rank had finalized. */
#pragma once

#include <stdint.h>

#include "wire/mprun.pb-c.h"

struct server;
struct world;

/* Sends PMI_CLIENT: the rank connected (1) or finalized (0). */
void client_tell(const struct server *s, const struct world *w, uint32_t rank, int connected);
/* Sends ABORTED: the rank asks for the end of the step. */
void client_tell_abort(const struct server *s, const struct world *w, uint32_t rank, int code,
                       const char *text);
/* Answers PMI_GONE with the same, behind everything that upcalls of the rank have queued. */
void client_gone(struct server *s, Mprun__RankName *name);
