/* SPDX-License-Identifier: BSD-3-Clause */
/* option-names.h - that a program's manual page and its --help list the options that it has */
#pragma once

#include "common/text/options.h"

/* Each fails the test with the name that is in one and not in the other. */
void assert_manual_lists(const struct option_def *defs, const char *page); /* "mprun.1" */
void assert_help_lists(const struct option_def *defs, const char *help);
/* Among the entries of two tables (the second may be NULL) that are of these variants (0: of none),
 * each of which has a sentence without its full stop. */
void assert_names_are_unique(const struct option_def *defs, const struct option_def *more,
                             unsigned variants);
