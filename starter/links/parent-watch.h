/* SPDX-License-Identifier: BSD-3-Clause */
/* parent-watch.h - notices that the parent host gives no answer, and asks mprun itself then
 *
 * The parent gives no answer while its connection is interrupted, and when its program has said
 * nothing for the time of the heartbeat (wire/link/heartbeat.h). The link to it may come back, and
 * goes on then with everything that was under way. Meanwhile mprun cannot tell this host that the
 * step is to end; so this module makes a connection to mprun, which brings KILL and nothing else.
 * Where nobody listens at mprun's addresses any more, mprun has gone. */
#pragma once

#include <stdbool.h>

struct error;
struct loop;
struct parent_watch;
struct uplink;

/* The parent is lost and mprun ends the step (or has gone): end the ranks, with so many seconds
 * between TERM and KILL. */
typedef void (*parent_lost_fn)(void *arg, const struct error *why, bool mprun_has_gone,
                               double grace);

/* up: the link to the parent, in place. Copies its key. heartbeat: seconds; 0: do not look for
 * silence. NULL: no memory. */
struct parent_watch *parent_watch_create(struct loop *loop, struct uplink *up, double heartbeat,
                                         parent_lost_fn lost, void *arg);
/* NULL is fine, here and below. */
void parent_watch_destroy(struct parent_watch *w);
void parent_watch_interrupted(struct parent_watch *w); /* the connection to the parent is lost, */
void parent_watch_resumed(struct parent_watch *w);     /* or is back */
void parent_watch_heard(struct parent_watch *w);       /* a frame has come from the parent */
int parent_watch_pong(struct parent_watch *w);         /* PONG has come; -1: it was not asked for */
