/* SPDX-License-Identifier: BSD-3-Clause */
/* memory-policy.h - on which NUMA nodes a rank's memory lies: --mem-bind */
#pragma once

#include "common/idset.h"
#include "common/spawn.h"
#include "model/binding.h"

/* The policy that a rank gets, among the nodes that this process may use. 1 with *ret; 0: it keeps
 * what it has; -1 with err: a node that may not be used, or a kernel without policies. */
int memory_policy_choose(const struct binding_request *how, struct memory_policy *ret,
                         struct error *err);
/* Add to *ret the memory nodes that a rank with that policy can have. -1: that is not known. */
int memory_policy_add_nodes(const struct binding_request *how, struct idset *ret);
