/* SPDX-License-Identifier: BSD-3-Clause */
/* translate.h - mprun --translate: a line of another launcher in mprun's own words
 *
 * Each option is applied again, to a struct cmdline that has a struct translation. What is applied
 * to that by name, in mprun's own dialect (cmdline_apply_named), is the translation. */
#pragma once

#include <stdio.h>

#include "common/error.h"

struct cmdline;

/* Print the line, which was parsed as `said`, with comments on what has no counterpart. 0, or -1
 * with err. */
int cmdline_translate(const struct cmdline *said, int argc, char *const argv[], FILE *out,
                      struct error *err);
