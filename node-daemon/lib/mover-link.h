/* SPDX-License-Identifier: BSD-3-Clause */
/* mover-link.h - asks the mover, for front and watch, which wait for it because it answers at
 * once */
#pragma once

#include "node-daemon/lib/mover-protocol.h"
#include "node-daemon/lib/start.h"

/* Ask q, whose head is set here, with the descriptor fd (-1: none). When the mover has died, the
 * next one is asked once more. 0, or -1 with err: the mover's refusal, or there is no mover. */
int mover_ask(struct start *s, struct mover_request *q, enum mover_op what, int fd,
              struct mover_answer *ret, struct error *err);
