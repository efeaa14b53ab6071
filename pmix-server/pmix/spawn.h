/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn.h - spawns: PMIx_Spawn becomes SPAWN, and SPAWNED its answer. The spawn of PMI-1 and PMI-2
 * (simple-pmi/spawn-request.h) goes the same way
 *
 * mprun plans and starts the new world, and tells every mppmi of it (PMI_WORLD) before it
 * answers. */
#pragma once

#include <pmix_server.h>

#include "model/rank-end.h"
#include "wire/mprun.pb-c.h"

struct asker;
struct server;

/* After a failed spawn Open MPI 4 gets the ranks of this namespace (spawn.c), and this answer when
 * it connects to them. Open MPI 4 passes positive answers on as they are; this is its
 * MPI_ERR_SPAWN. */
#define SPAWN_NOWHERE "mprun.nowhere"
enum { SPAWN_NOWHERE_ANSWER = 50 };

/* Upcall. Copies its arguments, and answers through cbfunc. */
pmix_status_t spawn_upcall(struct server *s, const pmix_proc_t *parent, const pmix_info_t *info,
                           size_t ninfo, const pmix_app_t *apps, size_t napps,
                           pmix_spawn_cbfunc_t cbfunc, void *cbdata);
/* Asks mprun for the world; answers the asker's `spawn`. The caller keeps request. */
void spawn_send(struct server *s, Mprun__Spawn *request, struct rank_name parent,
                const struct asker *asker);
/* SPAWNED: answers the request. */
void spawn_answer(struct server *s, const Mprun__Spawned *m);
