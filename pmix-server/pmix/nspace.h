/* SPDX-License-Identifier: BSD-3-Clause */
/* nspace.h - registers worlds with the PMIx library as namespaces */
#pragma once

#include "common/error.h"
#include "wire/mprun.pb-c.h"

struct server;
struct world;

/* PMI_WORLD: registers the world and its local ranks, then sends PMI_READY with the environment
 * that all local ranks share. -1 with err. */
int nspace_register(struct server *s, const Mprun__PmiWorld *m, struct error *err);
void nspace_deregister_all(const struct server *s);
