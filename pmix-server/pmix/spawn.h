/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn.h - ranks that start further worlds: PMIx_Spawn becomes SPAWN, SPAWNED its answer
 *
 * mprun plans and starts the new world, and has told every mppmi of it (PMI_WORLD) before it
 * answers. */
#pragma once

#include <pmix_server.h>

#include "wire/mprun.pb-c.h"

struct server;

/* Upcall. Copies what it is given, and answers through cbfunc. */
pmix_status_t spawn_upcall(struct server *s, const pmix_proc_t *parent, const pmix_info_t *info,
                           size_t ninfo, const pmix_app_t *apps, size_t napps,
                           pmix_spawn_cbfunc_t cbfunc, void *cbdata);
/* SPAWNED: answers the request. */
void spawn_answer(struct server *s, const Mprun__Spawned *m);
