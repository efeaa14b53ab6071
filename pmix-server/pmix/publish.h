/* SPDX-License-Identifier: BSD-3-Clause */
/* publish.h - values that ranks publish under names and look up
 *
 * Each host has a store of its own. A world on several hosts gets "not supported" from all three
 * calls, rather than the values that happen to be on its host. */
#pragma once

#include <sys/queue.h>

#include <pmix_server.h>

struct server;

struct store { /* private to publish.c */
    LIST_HEAD(, published) values;
    TAILQ_HEAD(, call) waiting; /* lookups; first come, first read */
};

void store_init(struct store *st);

pmix_status_t publish_upcall(struct server *s, const pmix_proc_t *proc, const pmix_info_t *info,
                             size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata);
pmix_status_t lookup_upcall(struct server *s, const pmix_proc_t *proc, char **keys,
                            const pmix_info_t *info, size_t ninfo, pmix_lookup_cbfunc_t cbfunc,
                            void *cbdata);
/* keys NULL: all values that proc has published. */
pmix_status_t unpublish_upcall(struct server *s, const pmix_proc_t *proc, char **keys,
                               pmix_op_cbfunc_t cbfunc, void *cbdata);
