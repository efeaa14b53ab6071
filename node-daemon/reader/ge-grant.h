/* SPDX-License-Identifier: BSD-3-Clause */
/* ge-grant.h - the grant that a slave task of Grid Engine came with */
#pragma once

#include "containment/mprund-protocol.h"

/* The value of the first line of a task's `environment` that is a grant's. The execd writes lines
 * NAME=VALUE, of which the user may choose any, so it is worth nothing before the signer has
 * checked it; of one that is too long it is a part. 0, or -1: there is none. Pure. */
int ge_grant_find(const char *environment, char ret[GRANT_TOKEN_MAX + 1]);
