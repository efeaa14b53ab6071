/* SPDX-License-Identifier: BSD-3-Clause */
/* grants.h - the grants of a job, for its other hosts */
#pragma once

#include "node-daemon/front/jobs.h"
#include "node-daemon/reader/evidence-sources.h"

/* One answer with a grant for any host, and before it one for each host that has to be told its
 * slots (ge-hosts.h), *ret_n in all: malloc'ed. job's demand is known. NULL with err: there is no
 * key. */
struct grant_answer *grants_sign(const struct conf *c, const struct job *job, size_t *ret_n,
                                 struct error *err);
/* What the grant of a task says of the job on this host, added to its evidence: slots, demand,
 * limits, gpus. Without one, or without a key here, nothing. */
void grants_take(const struct conf *c, struct task_evidence *t);
