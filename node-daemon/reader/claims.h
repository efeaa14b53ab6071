/* SPDX-License-Identifier: BSD-3-Clause */
/* claims.h - of which job a process is that did not ask, as far as the manager's files say it
 *
 * Watch has looked at the process, which the reader cannot, and claims which task it is of; what it
 * saw of it has to agree with what the manager's root wrote. */
#pragma once

#include "node-daemon/reader/evidence-sources.h"

/* q: the fields that READER_CLAIM fills. 0 with *ret, or -1 with err. */
int claim_check(const struct conf *c, const struct reader_request *q, struct task_evidence *ret,
                struct error *err);
