/* SPDX-License-Identifier: BSD-3-Clause */
/* exit-code.h - mprun's exit code for the way a step has ended */
#pragma once

#include "launcher/outcome/verdict.h"
#include "model/rank-end.h"

/* The verdict's, where mprun itself, --timeout or a signal has ended the step; else that of the end
 * that explains it (NULL: 0). 99 or 100 only if a rank exits with it: to some resource managers
 * they mean something else. */
int step_exit_code(const struct verdict *v, const struct rank_end *first);

/* Returns the exit code for a rank's end; 0 for NULL. */
int exit_code_of_rank(const struct rank_end *end);
/* The exit code for a rank's code that is no success, as exit() would cut it; never 0. */
int exit_code_low(int code);
