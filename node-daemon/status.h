/* SPDX-License-Identifier: BSD-3-Clause */
/* status.h - `mprund status`: the running daemon's jobs */
#ifndef NODE_DAEMON_STATUS_H
#define NODE_DAEMON_STATUS_H

#include "common/error.h"

/* Ask and print: 0, 1 when a job is stuck, or -1 with err. */
int status_print(struct error *err);

#endif
