/* SPDX-License-Identifier: BSD-3-Clause */
/* errands.h - programs that mprun has this host start beside its ranks (ERRAND in wire/mprun.proto)
 *
 * The keeper has them as its children (keeper-errands.h); the worker gives them their input and
 * tells mprun what they say and how they end, as long as it lives. */
#ifndef STARTER_ERRANDS_H
#define STARTER_ERRANDS_H

#include <stddef.h>
#include <stdint.h>

struct worker;

/* ERRAND has come. -1: it cannot be read. */
int errands_take(struct worker *w, const uint8_t *p, size_t n);
/* The keeper's descriptor is readable. 0 when the keeper has gone. */
int errands_keeper_readable(struct worker *w);
void errands_destroy(struct worker *w);

#endif
