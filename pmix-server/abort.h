/* SPDX-License-Identifier: BSD-3-Clause */
/* abort.h - a rank asks for the end of the step */
#ifndef PMIX_SERVER_ABORT_H
#define PMIX_SERVER_ABORT_H

#include <stdint.h>

#include <pmix_server.h>

struct server;
struct world;

/* Send ABORTED. */
void abort_tell(const struct server *s, const struct world *w, uint32_t rank, int code,
                const char *text);

/* Upcall. The rank goes on, and exits, when ABORTED is in the starter's socket. */
pmix_status_t abort_upcall(struct server *s, const pmix_proc_t *proc, int status, const char *text,
                           pmix_op_cbfunc_t cbfunc, void *cbdata);

#endif
