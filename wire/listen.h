/* SPDX-License-Identifier: BSD-3-Clause */
/* listen.h - the launcher's door: peers that cannot prove the step key never get past it
 *
 * Until its proof a peer costs one of a bounded number of places, a small buffer and 5 seconds;
 * when the places are full, the peer that is there for the longest makes room, once it has had
 * LISTEN_PATIENCE. On a Unix socket a peer of another user is turned away at once. */
#ifndef WIRE_LISTEN_H
#define WIRE_LISTEN_H

#include "common/error.h"
#include "common/loop.h"
#include "wire/link.h"

struct listener;

enum { LISTEN_PENDING = 64, LISTEN_PENDING_MAX = 1024 }; /* places */
#define LISTEN_PATIENCE 0.2 /* seconds; an honest peer needs a few milliseconds */

struct listen_events {
    /* A peer proved the key and claims host_id. Accept it: set the link's events with
     * link_set_events() and return 0, the link is yours. Refuse it: -1 with why. */
    int (*arrived)(void *arg, struct link *l, uint32_t host_id, struct error *why);
    /* A peer proved the key and wants to go on with the link that host_id has: return that link,
     * whatever its state, or NULL. The link learns of it through its own events. NULL here: such
     * peers are refused. */
    struct link *(*returns)(void *arg, uint32_t host_id);
    /* A peer was turned away; for the log. */
    void (*refused)(void *arg, const char *peer, const struct error *why);
};

/* Takes fd, a listening socket. */
struct listener *listener_create(struct loop *loop, int fd, const uint8_t key[LINK_KEY],
                                 enum link_security security, const struct listen_events *events,
                                 void *arg, struct error *err);
/* So many may knock at once, from far away: there is a place for each, up to LISTEN_PENDING_MAX. */
void listener_expect(struct listener *l, size_t peers);
/* Links from now on are as o says (resume_*, dead_seconds). */
void listener_resumable(struct listener *l, const struct link_options *o);
void listener_destroy(struct listener *l); /* NULL is fine; pending peers are closed */

#endif
