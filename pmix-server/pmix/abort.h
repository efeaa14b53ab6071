/* SPDX-License-Identifier: BSD-3-Clause */
/* abort.h - a rank asks for the end of the step */
#pragma once

#include <stdint.h>

#include <pmix_server.h>

struct server;
struct world;

/* Sends ABORTED. */
void abort_tell(const struct server *s, const struct world *w, uint32_t rank, int code,
                const char *text);

/* Upcall. The library lets the rank go on, and exit, once ABORTED is in the starter's socket. */
pmix_status_t abort_upcall(struct server *s, const pmix_proc_t *proc, int status, const char *text,
                           pmix_op_cbfunc_t cbfunc, void *cbdata);
