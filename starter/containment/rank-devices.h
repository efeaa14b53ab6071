/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-devices.h - keeps ranks with GPUs of their own (--gpus-per-rank) away from other ranks' GPUs
 *
 * mprund does it where it holds the job; else this process does it, if it is root. */
#pragma once

#include <stdint.h>

#include "common/error.h"

struct cgroup_leaf;
struct gpu_shares;
struct step_containment;

/* Chooses the way once the step's cgroups are made. Sets c->devices, and c->why_no_devices where
 * ranks are not held each to its own GPUs. -1 with err: the step asks for more. */
int rank_devices_begin(struct step_containment *c, const struct gpu_shares *gpus,
                       struct error *err);
/* Holds the rank with this index on this host to its GPUs, before it starts; does nothing for a
 * rank without GPUs of its own. -1 with err: the rank is not held, and must not start if the step
 * asks for that. May wait for mprund, POLICY_DEVICES_S at most; after a failure it does not ask
 * mprund for the next ranks. */
int rank_devices_hold(struct step_containment *c, const struct gpu_shares *gpus, uint32_t local,
                      const struct cgroup_leaf *leaf, struct error *err);
