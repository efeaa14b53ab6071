/* SPDX-License-Identifier: BSD-3-Clause */
/* dmodex.h - the data of one rank on another host, asked for when it is needed (direct modex) */
#ifndef PMIX_SERVER_DMODEX_H
#define PMIX_SERVER_DMODEX_H

#include <pmix_server.h>

#include "pmix-server/requests.h"
#include "wire/mprun.pb-c.h"

struct server;

/* Upcall: a local rank wants the data of a rank elsewhere. */
pmix_status_t dmodex_upcall(struct server *s, const pmix_proc_t *proc, const pmix_info_t *info,
                            size_t ninfo, const struct asker *asker);
/* MODEX_REQUEST: somebody elsewhere wants the data of a local rank. The library waits until that
 * rank has published it. */
void dmodex_serve(struct server *s, const Mprun__ModexRequest *m);
/* MODEX_REPLY to what dmodex_upcall() asked. */
void dmodex_answer(struct server *s, const Mprun__ModexReply *m);

#endif
