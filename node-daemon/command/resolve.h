/* SPDX-License-Identifier: BSD-3-Clause */
/* resolve.h - `mprund resolve`: the supervisor has the configuration read */
#pragma once

#include "node-daemon/command/options.h"
#include "node-daemon/conf/conf.h"

/* The configuration as the options change it. 0, or -1 with err. */
int resolve_settings(const struct mprund_options *o, struct conf *ret, struct error *err);
/* Prepare what root alone can, and give it to the supervisor, at START_CONTROL. what: as
 * supervisor/resolver.h has it. 0, or -1 with err. */
int resolve(const struct mprund_options *o, const char *what, struct error *err);
