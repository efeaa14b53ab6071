/* SPDX-License-Identifier: BSD-3-Clause */
/* memory-policy.h - on which NUMA nodes a rank's memory lies: --mem-bind */
#pragma once

#include "common/text/idset.h"
#include "common/processes/spawn.h"
#include "model/binding.h"

/* Chooses a rank's memory policy among the nodes that this process may use. Returns 1 with *ret; 0:
 * the rank keeps the policy that it has; -1 with err: a node may not be used, or no kernel support.
 */
int memory_policy_choose(const struct binding_request *how, struct memory_policy *ret,
                         struct error *err);
/* Adds to *ret the memory nodes that a rank with that policy can have. -1: unknown. */
int memory_policy_add_nodes(const struct binding_request *how, struct idset *ret);
