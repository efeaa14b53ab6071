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

#endif
