/* SPDX-License-Identifier: BSD-3-Clause */
/* publish.h - values that ranks publish under names, and look up
 *
 * The store is this host's own: with ranks on several hosts all three calls are refused as not
 * supported, rather than answered with what happens to be known here. */
#ifndef PMIX_SERVER_PUBLISH_H
#define PMIX_SERVER_PUBLISH_H

#include <pmix_server.h>

#include "common/error.h"

struct server;
struct store;

struct store *store_create(struct error *err);

pmix_status_t publish_upcall(struct server *s, const pmix_proc_t *proc, const pmix_info_t *info,
                             size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata);
pmix_status_t lookup_upcall(struct server *s, const pmix_proc_t *proc, char **keys,
                            const pmix_info_t *info, size_t ninfo, pmix_lookup_cbfunc_t cbfunc,
                            void *cbdata);
/* keys NULL: everything that proc has published. */
pmix_status_t unpublish_upcall(struct server *s, const pmix_proc_t *proc, char **keys,
                               pmix_op_cbfunc_t cbfunc, void *cbdata);

#endif
