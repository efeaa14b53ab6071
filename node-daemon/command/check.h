/* SPDX-License-Identifier: BSD-3-Clause */
/* check.h - `mprund --check`: would the daemon work here? */
#pragma once

#include "node-daemon/conf/conf.h"

/* Print a line for each thing that the daemon needs: a verdict, what was looked at, and what to do.
 * Changes nothing. c: what was read from `file`; NULL: err says why it was not. Returns how many
 * things are wrong. */
unsigned check_print(const struct conf *c, const char *file, const struct error *err);
