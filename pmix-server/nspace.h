/* SPDX-License-Identifier: BSD-3-Clause */
/* nspace.h - a world as the PMIx library is told of it */
#ifndef PMIX_SERVER_NSPACE_H
#define PMIX_SERVER_NSPACE_H

#include "common/error.h"
#include "wire/mprun.pb-c.h"

struct server;
struct world;

/* PMI_WORLD: register the world and its local ranks; then PMI_READY goes out, with the environment
 * that all local ranks share. */
int nspace_register(struct server *s, const Mprun__PmiWorld *m, struct error *err);
void nspace_deregister_all(struct server *s);

#endif
