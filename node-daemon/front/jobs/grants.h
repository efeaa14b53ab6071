/* SPDX-License-Identifier: BSD-3-Clause */
/* grants.h - makes grants of a job for its other hosts, and applies those that came here */
#pragma once

#include "node-daemon/front/jobs/jobs.h"
#include "node-daemon/front/links/findings.h"
#include "node-daemon/lib/start.h"
#include "node-daemon/signer/token.h"

/* An answer with a grant for any host, and before it an answer for each host that has to be told
 * its slots (READER_HOSTS), *ret_n in all: malloc'ed. job's demand is known. NULL with err: there
 * is no key. */
struct grant_answer *grants_sign(struct start *s, const struct conf *c, const struct job *job,
                                 const struct finding *hosts, size_t *ret_n, struct error *err);
/* Add to *e what the grant that a task brought (text; "": none) says of the job on this host:
 * slots, demand, limits, gpus. Logs an invalid grant and ignores it. */
void grants_take(struct start *s, const struct conf *c, const char *text, struct evidence *e);
/* The same of a grant that was signed with the key. 0, or -1 with err: it is not this job's, this
 * user's, this cell's or this host's, and *e is as it was. */
int grant_apply(const struct token *t, const char *cell, struct evidence *e, struct error *err);
/* The grant of a job for a host, which is told its slots; host "", slots 0: for any host that has
 * none of its own. */
struct token grant_token(const struct conf *c, const char *job, uid_t uid, const struct demand *d,
                         const char *host, uint32_t slots);
