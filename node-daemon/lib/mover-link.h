/* SPDX-License-Identifier: BSD-3-Clause */
/* mover-link.h - asking the mover, for front and watch: it answers at once, so it is waited for */
#pragma once

#include "node-daemon/lib/mover-protocol.h"
#include "node-daemon/lib/start.h"

/* Ask q, whose head is set here, with the descriptor fd (-1: none). When the mover has died, the
 * next one is asked once more. 0, or -1 with err: what the mover says against it, or that there is
 * none.
 */
int mover_ask(struct start *s, struct mover_request *q, enum mover_op what, int fd,
              struct mover_answer *ret, struct error *err);
