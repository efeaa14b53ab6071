/* SPDX-License-Identifier: BSD-3-Clause */
/* stale.h - cgroups of steps whose starter is gone without a trace */
#pragma once

/* Mark a step's directory as owned for as long as the descriptor is open. */
void stale_lock(int dir);
/* End and remove the cgroups of steps below parent that are this user's, have no owner, and are at
 * least min_age seconds old. */
void stale_sweep(const char *parent, int min_age);
