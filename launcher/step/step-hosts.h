/* SPDX-License-Identifier: BSD-3-Clause */
/* step-hosts.h - which of the granted hosts a step may use, and how many ranks each of them has */
#pragma once

#include "launcher/step/step-plan.h"

/* Leaves out hosts and slots that the user does not want, and places the ranks: sets nhosts and
 * placement of the plan, whose allocation is known. Returns 0, or -1 with err. */
int step_hosts_choose(struct step_plan *p, struct error *err);

/* --wait-cores: has the step its slots where others have taken taken[i] of host i, of all of
 * p->alloc and those of nspare? Its ranks are placed on other hosts where these have room for them.
 */
bool step_hosts_fit(struct step_plan *p, const uint64_t *taken);
/* Slots that the step's ranks take of a host. */
uint64_t step_hosts_slots(const struct step_plan *p, size_t host);

/* Writes how ranks with these options are placed on hosts. Returns 0; -1 with err: no machine has
 * such parts. */
int step_hosts_options(const struct step_plan *p, const struct placement_options *place,
                       struct plan_options *ret, struct error *err);
/* Returns the request by which a host deals ranks with these options to its cores. */
struct binding_request step_hosts_binding(const struct placement_options *place);
