/* SPDX-License-Identifier: BSD-3-Clause */
/* exit-code.h - mprun's exit code for the way a step has ended */
#pragma once

#include "launcher/outcome/verdict.h"
#include "model/rank-end.h"

/* Returns the verdict's code where mprun itself, --timeout or a signal ended the step, else the
 * code of `first` (NULL: 0). Never 99 or 100 unless a rank exits with it: they have a meaning of
 * their own to some resource managers. */
int step_exit_code(const struct verdict *v, const struct rank_end *first);

/* Returns the exit code for a rank's end; 0 for NULL. */
int exit_code_of_rank(const struct rank_end *end);
/* The exit code for a rank's code that is no success, as exit() would cut it; never 0. */
int exit_code_low(int code);
