/* SPDX-License-Identifier: BSD-3-Clause */
/* dmodex.h - direct modex: a rank's data is fetched from its host when another rank needs it */
#pragma once

#include <pmix_server.h>

#include "pmix-server/pmix/requests.h"
#include "wire/mprun.pb-c.h"

struct server;

/* Upcall: a local rank wants the data of a rank elsewhere. */
pmix_status_t dmodex_upcall(struct server *s, const pmix_proc_t *proc, const pmix_info_t *info,
                            size_t ninfo, const struct asker *asker);
/* MODEX_REQUEST: a rank of another host wants the data of a local rank. Sends MODEX_REPLY once the
 * local rank has published it. */
void dmodex_serve(struct server *s, const Mprun__ModexRequest *m);
/* MODEX_REPLY: answers the upcall that asked. */
void dmodex_answer(struct server *s, const Mprun__ModexReply *m);
