/* SPDX-License-Identifier: BSD-3-Clause */
/* step-hosts.h - which of the granted hosts a step may use, and what a slot is there */
#pragma once

#include "launcher/step/step-plan.h"

/* Leaves out hosts and slots that the user does not want, of the plan's allocation, which is known.
 * Returns 0, or -1 with err. */
int step_hosts_choose(struct step_plan *p, struct error *err);
/* Leaves out one host. */
void step_hosts_leave_out(struct allocation *a, size_t index);

/* Are the cores of a rank counted by hardware threads? Then each of these is a slot. */
bool step_hosts_counts_threads(const struct placement_options *place);
/* The parts of a level that a host has, as all hosts are taken to be alike; 0 with err. */
uint32_t step_hosts_parts(const struct step_plan *p, enum level level, struct error *err);
