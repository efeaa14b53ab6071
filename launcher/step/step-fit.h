/* SPDX-License-Identifier: BSD-3-Clause */
/* step-fit.h - a step beside others that have taken slots of its hosts (--wait-cores) */
#pragma once

#include "launcher/step/step-plan.h"

/* Has the step its slots where others have taken taken[i] of host i, of all of p->alloc and those
 * of nspare? Its ranks are placed on other hosts where these have room for them. */
bool step_fit(struct step_plan *p, const uint64_t *taken);
