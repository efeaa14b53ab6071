/* SPDX-License-Identifier: BSD-3-Clause */
/* orphan.h - while the host above gives no answer: a connection to mprun itself
 *
 * The link to the host above may come back, and goes on then with everything that was under way.
 * Meanwhile mprun could not tell this host that the step is to end: that is what this connection is
 * for, and nothing else. Where nobody listens at mprun's addresses any more, mprun has gone.
 *
 * The host above is no parent when its connection is interrupted, and when its program has said
 * nothing for the time of the heartbeat (wire/heartbeat.h). */
#ifndef STARTER_ORPHAN_H
#define STARTER_ORPHAN_H

#include <stdint.h>

struct orphan;
struct worker;

/* For a link over TCP, in place. Copies the step's key. NULL: out of memory. */
struct orphan *orphan_create(struct worker *w, double heartbeat);
void orphan_link_lost(struct orphan *o); /* all: NULL is fine */
void orphan_link_back(struct orphan *o);
void orphan_heard(struct orphan *o);   /* a frame has come from above */
int orphan_answered(struct orphan *o); /* PONG; -1: none was asked for */
void orphan_destroy(struct orphan *o);

#endif
