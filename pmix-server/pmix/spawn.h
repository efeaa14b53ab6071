/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn.h - ranks that start further worlds: PMIx_Spawn becomes SPAWN, SPAWNED its answer;
 * the spawn of PMI-1 and PMI-2 (simple-pmi/spawn-request.h) goes the same way
 *
 * mprun plans and starts the new world, and has told every mppmi of it (PMI_WORLD) before it
 * answers. */
#pragma once

#include <pmix_server.h>

#include "model/rank-end.h"
#include "wire/mprun.pb-c.h"

struct asker;
struct server;

/* The namespace of the ranks that Open MPI 4 meets where a spawn has failed (spawn.c), and the
 * answer to a connect with these: it passes positive ones on as they are, and this is its
 * MPI_ERR_SPAWN. */
#define SPAWN_NOWHERE "mprun.nowhere"
enum { SPAWN_NOWHERE_ANSWER = 50 };

/* Upcall. Copies what it is given, and answers through cbfunc. */
pmix_status_t spawn_upcall(struct server *s, const pmix_proc_t *parent, const pmix_info_t *info,
                           size_t ninfo, const pmix_app_t *apps, size_t napps,
                           pmix_spawn_cbfunc_t cbfunc, void *cbdata);
/* Asks mprun for the world; the asker's `spawn` has the answer. The caller keeps the request. */
void spawn_send(struct server *s, Mprun__Spawn *request, struct rank_name parent,
                const struct asker *asker);
/* SPAWNED: answers the request. */
void spawn_answer(struct server *s, const Mprun__Spawned *m);
