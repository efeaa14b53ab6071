/* SPDX-License-Identifier: BSD-3-Clause */
/* nspace.h - worlds as namespaces of the PMIx library, with the keys that ranks can read */
#pragma once

#include "common/error.h"
#include "wire/mprun.pb-c.h"

struct infos;
struct server;
struct world;

/* PMI_WORLD: registers the world and its local ranks, then sends PMI_READY with the environment
 * that all local ranks share. -1 with err. */
int nspace_register(struct server *s, const Mprun__PmiWorld *m, struct error *err);
/* PMI_WORLD of another step: registers the world, with ranks that are not local. If that fails,
 * logs it and does without the world. */
void nspace_register_other(struct server *s, const Mprun__PmiWorld *m);
/* WORLD_END: forgets the world and all that belongs to it. Does nothing if there is none. */
void nspace_end(struct server *s, uint32_t world);
void nspace_deregister_all(const struct server *s);

/* nspace-keys.c. Adds everything that PMIx_server_register_nspace() needs. tmpdir: the server's
 * directory. nsdir: the session directory of the local ranks, in which each has its own (nspace.c
 * makes them); NULL: a world of another step. parent: the world of the rank that asked for this
 * one; NULL: none, or not known any more. The caller checks to->status. */
void nspace_keys(const struct world *w, const struct world *parent, const char *tmpdir,
                 const char *nsdir, struct infos *to);
