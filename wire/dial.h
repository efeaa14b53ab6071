/* SPDX-License-Identifier: BSD-3-Clause */
/* dial.h - connect to whoever answers first of several addresses, without waiting */
#ifndef WIRE_DIAL_H
#define WIRE_DIAL_H

#include "common/error.h"
#include "common/loop.h"

struct dial;

/* Called once, from the loop: a connected, non-blocking socket, yours; or -1 and why: ECONNREFUSED
 * when every address refused, or `decisive` did; ETIMEDOUT when time was up; else another reason.
 * The dial may be destroyed in it, and does nothing more. */
typedef void (*dial_fn)(void *arg, int fd, const struct error *why);

/* All addresses (address.h) are tried at once. decisive: the one of them, or any other, that is
 * known to be the peer's: when it refuses, the others do not count. NULL or "": none. */
struct dial *dial_create(struct loop *loop, const char *addresses, const char *decisive,
                         double seconds, dial_fn fn, void *arg);
void dial_destroy(struct dial *d); /* NULL is fine; no callback */

#endif
