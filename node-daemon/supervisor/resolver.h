/* SPDX-License-Identifier: BSD-3-Clause */
/* resolver.h - having the configuration read, by a child that then goes
 *
 * It is `mprund resolve`, and may do whatever reading a configuration takes. What it found out, and
 * what it opened, come back as gifts. */
#pragma once

#include "node-daemon/supervisor/children.h"

/* This variable says how much it does: all; all but the ground, which stays; the sockets. */
#define RESOLVE_VARIABLE "MPRUND_RESOLVE"
#define RESOLVE_START    "start"
#define RESOLVE_RELOAD   "reload"
#define RESOLVE_SOCKETS  "sockets"

/* argv: mprund's own words, without `resolve`, which comes before them. Replaces those of the
 * gifts in *c, and of the plan, that come. 0, or -1: it has said why. */
int resolver_run(char **argv, const char *what, struct children *c);
