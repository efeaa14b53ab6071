/* SPDX-License-Identifier: BSD-3-Clause */
/* cores.h - which cores the ranks of this host have */
#ifndef STARTER_CORES_H
#define STARTER_CORES_H

#include "common/error.h"
#include "common/idset.h"

struct worker;

/* Hardware threads that ranks may use here. */
const struct idset *cores_here(const struct worker *w);
/* Load the topology where it is needed, and bind ranks as the step says: w->topology and
 * w->binding. Cores that they are bound to are the step's until its ranks have ended. 0, or
 * -1. */
int cores_choose(struct worker *w, struct error *err);

/* cores-kept.c: `ledger` (core-ledger.h), in which those cores were taken, becomes the worker's and
 * the keeper's. Somebody may remove its file: then it is made again. */
void cores_keep(struct worker *w, int ledger);
void cores_let_go(struct worker *w); /* also where none were taken */

#endif
