/* SPDX-License-Identifier: BSD-3-Clause */
/* publish.h - values that ranks publish under names and look up
 *
 * mprun keeps the values for all hosts: each call becomes a NAME_REQUEST. A range or persistence
 * that mprun does not have gets the answer "not supported". */
#pragma once

#include <pmix_server.h>

#include "model/rank-name.h"
#include "wire/mprun.pb-c.h"

struct asker;
struct server;

/* Upcalls, and PMI-1's requests. They copy their arguments, and answer through cbfunc. */
pmix_status_t publish_upcall(struct server *s, const pmix_proc_t *proc, const pmix_info_t *info,
                             size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata);
pmix_status_t lookup_upcall(struct server *s, const pmix_proc_t *proc, char **keys,
                            const pmix_info_t *info, size_t ninfo, pmix_lookup_cbfunc_t cbfunc,
                            void *cbdata);
/* keys NULL: withdraws all values that proc has published. */
pmix_status_t unpublish_upcall(struct server *s, const pmix_proc_t *proc, char **keys,
                               pmix_op_cbfunc_t cbfunc, void *cbdata);
/* Asks mprun for the world of another step with this namespace. Answers the asker once the world
 * has come (PMI_WORLD), or is known not to exist. from: a rank of this host. */
void publish_ask_world(struct server *s, struct rank_name from, const char *nspace,
                       const struct asker *asker);
/* NAME_REPLY: answers the call that waits for it. */
void publish_answer(struct server *s, const Mprun__NameReply *m);
