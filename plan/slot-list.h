/* SPDX-License-Identifier: BSD-3-Clause */
/* slot-list.h - cores as Open MPI's rank files and lists of cores name them: "0-2", "1:0-3,7",
 * "0:*;1:*"
 *
 * Numbers are logical: of cores in the machine, or behind ':' in the packages before it. A number
 * without ':' behind one with it belongs to the same packages; ';' ends that. */
#pragma once

#include <stddef.h>

#include "plan/plan.h"

/* 0, or -1 with what is wrong with the words. */
int slot_list_check(const char *text, size_t len, struct error *err);
/* Adds the usable hardware threads of these cores to ret. -1 with err: a core that is named cannot
 * be used. */
int slot_list_find(const struct plan_topology *t, const char *text, size_t len, struct idset *ret,
                   struct error *err);
