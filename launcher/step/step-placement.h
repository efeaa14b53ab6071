/* SPDX-License-Identifier: BSD-3-Clause */
/* step-placement.h - how many ranks each host of a step has, and which */
#pragma once

#include "launcher/step/step-plan.h"

/* Places the ranks: sets nhosts and placement of the plan, whose hosts and slots are chosen.
 * Returns 0, or -1 with err. */
int step_placement_make(struct step_plan *p, struct error *err);

#define STEP_NOT_OFFERED UINT64_MAX
/* Likewise, but on slots that are not taken: taken[i] of host i, or STEP_NOT_OFFERED. Adds what the
 * ranks take. */
int step_placement_on_free(struct step_plan *p, uint32_t nranks, uint64_t *taken,
                           struct error *err);
/* Hosts without ranks are none of the step's any more. */
void step_placement_leave_out_unused(struct step_plan *p);

/* Slots that the step's ranks take of a host. */
uint64_t step_placement_slots(const struct step_plan *p, size_t host);

/* Writes how ranks with these options are placed on hosts. Returns 0; -1 with err: no machine has
 * such parts. */
int step_placement_options(const struct step_plan *p, const struct placement_options *place,
                           struct plan_options *ret, struct error *err);
/* Returns the request by which a host deals ranks with these options to its cores. */
struct binding_request step_placement_binding(const struct placement_options *place);
