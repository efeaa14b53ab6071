/* SPDX-License-Identifier: BSD-3-Clause */
/* enter.h - `mprund enter`: a command in the cgroup of a job that the site names itself */
#pragma once

#include "common/error.h"
#include "node-daemon/command/options.h"

/* Have the running daemon put this process, root's, into the job, and become the command. Returns
 * only on failure: -1 with err. */
int enter_and_exec(const struct mprund_options *o, struct error *err);
