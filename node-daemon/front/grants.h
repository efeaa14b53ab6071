/* SPDX-License-Identifier: BSD-3-Clause */
/* grants.h - what a grant says of a job, and what a grant of a job is to say
 *
 * The signer alone has the key: it makes a text of the one, and has checked the other. */
#pragma once

#include "node-daemon/conf/conf.h"
#include "node-daemon/lib/evidence.h"
#include "node-daemon/signer/token.h"

/* Add what the grant says of the job on this host to *e: slots, demand, limits, gpus. 0, or -1 with
 * err: it is not this job's, this user's, this cell's or this host's, and *e is as it was. */
int grant_apply(const struct token *t, const char *cell, struct evidence *e, struct error *err);
/* The grant of a job for a host, which is told its slots; host "", slots 0: for any host that has
 * none of its own. */
struct token grant_token(const struct conf *c, const char *job, uid_t uid, const struct demand *d,
                         const char *host, uint32_t slots);
