/* SPDX-License-Identifier: BSD-3-Clause */
/* dial.h - connects to the first of several addresses that answers, without blocking */
#pragma once

#include "common/error.h"
#include "common/loop.h"

struct dial;

/* Called once, from the loop, with a connected, non-blocking socket, which the callee owns; or with
 * -1 and why: ECONNREFUSED when all addresses, or `decisive`, refused; ETIMEDOUT when time was up;
 * else another reason. May destroy the dial, which does nothing more. */
typedef void (*dial_fn)(void *arg, int fd, const struct error *why);

/* Tries all addresses (address.h) at once. decisive: an address that is known to be the peer's, in
 * the list or not; when it refuses, the dial fails at once. NULL or "": none. */
struct dial *dial_create(struct loop *loop, const char *addresses, const char *decisive,
                         double seconds, dial_fn fn, void *arg);
void dial_destroy(struct dial *d); /* NULL is fine; no callback */

/* Waits: tries all addresses at once and returns a descriptor connected to the first that answers
 * within so many seconds; -1 with err: what each address said. */
int dial_wait(const char *addresses, double seconds, struct error *err);
