/* SPDX-License-Identifier: BSD-3-Clause */
/* first-failure.h - which of several ends explains the step */
#pragma once

#include <stddef.h>

#include "model/rank-end.h"

enum { OUTCOME_WINDOW_MS = 100 };

/* Finds the end that explains the step: among the first failure and those within the window after
 * it the one with the earliest cause in enum end_cause, then the lowest world and rank. NULL: all
 * ended well. */
const struct rank_end *outcome_first_failure(const struct rank_end *ends, size_t n);
