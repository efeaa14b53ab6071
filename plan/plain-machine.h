/* SPDX-License-Identifier: BSD-3-Clause */
/* plain-machine.h - the cores of a machine that it takes no hwloc to understand
 *
 * For hwloc a small machine costs 1 to 2 ms, its libraries included, and a large one 20. To bind
 * ranks to cores it is enough to know which threads are a core, and that the machine's order is the
 * one in which the kernel numbers them. */
#pragma once

#include "plan/plan.h"

/* Reads the cores that have these hardware threads, in hwloc's order; of parts (plan_core.at) only
 * LEVEL_CORE. Returns false where hwloc has to be asked: cores of a part do not follow each other,
 * or differ in kind, or a core's first thread is not usable. system: a descriptor of
 * /sys/devices/system, or of a directory that looks like it. */
bool plain_machine_cores(int system, const struct idset *usable, struct plan_topology *ret);
/* The same for some of the hardware threads of a machine whose cores are `all`. */
bool plain_machine_cut(const struct plan_topology *all, const struct idset *usable,
                       struct plan_topology *ret);

/* The same of this machine. */
bool plain_machine_here(const struct idset *usable, struct plan_topology *ret);
/* Reads the cores of this machine now, once. plain_machine_here(), also in a forked process, uses
 * them for all of these threads. */
void plain_machine_look(const struct idset *usable);
