/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-devices.h - what keeps ranks with GPUs of their own (--gpus-per-rank) from those of others
 *
 * mprund, where it holds the job; else root. */
#pragma once

#include <stdint.h>

#include "common/error.h"

struct cgroup_leaf;
struct gpu_shares;
struct step_containment;

/* Choose, once the step's cgroups are made: c->devices, and in c->why_no_devices why ranks are not
 * held each to its own. -1 with err: the step asks for more. */
int rank_devices_begin(struct step_containment *c, const struct gpu_shares *gpus,
                       struct error *err);
/* Hold a rank, by its index on this host, before it starts. A rank without GPUs of its own is left
 * alone. -1 with err: it could not be held, and must not start if the step asks for that. It may
 * wait for mprund, a second at most, and where that has failed it is not asked for the next ranks.
 */
int rank_devices_hold(struct step_containment *c, const struct gpu_shares *gpus, uint32_t local,
                      const struct cgroup_leaf *leaf, struct error *err);
