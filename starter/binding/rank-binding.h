/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-binding.h - which cores each rank of this host is bound to */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/idset.h"

struct launch;
struct rank_binding;
struct topology;

/* Load the topology where it is needed, and choose cores as the step says: those that other steps
 * of this user have not taken. They are this step's until its ranks have ended: the keeper holds
 * them, too, on keeper_fd. allowed: hardware threads that this process may run on. launch and
 * allowed must live as long. NULL with err. */
struct rank_binding *rank_binding_create(const struct launch *launch, const struct idset *allowed,
                                         int keeper_fd, struct error *err);
void rank_binding_destroy(struct rank_binding *b); /* NULL is fine */

/* Hardware threads that ranks may use here: granted and allowed. */
const struct idset *rank_binding_usable(const struct rank_binding *b);
/* The hardware threads that a rank is bound to, by its index on this host; NULL: it is not bound.
 */
const struct idset *rank_binding_threads(const struct rank_binding *b, uint32_t local);
/* The affinity that a rank gets: the above, or what was granted; NULL: it keeps the starter's. */
const struct idset *rank_binding_affinity(const struct rank_binding *b, uint32_t local);
bool rank_binding_is_bound(const struct rank_binding *b);      /* NULL is fine: they are not */
const char *rank_binding_reason(const struct rank_binding *b); /* why they are not; NULL: none */
struct topology *rank_binding_topology(const struct rank_binding *b); /* NULL: not loaded */
