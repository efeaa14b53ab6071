/* SPDX-License-Identifier: BSD-3-Clause */
/* listener.h - accepts peers that prove the step key, and turns all others away
 *
 * Until its proof a peer costs one of a bounded number of places, a small buffer, and at most
 * HANDSHAKE_ACCEPT_SECONDS. When all places are taken and others have waited for LISTEN_PATIENCE,
 * the oldest peer loses its place. On a Unix socket the listener refuses another user at once. */
#pragma once

#include "common/error.h"
#include "common/loop.h"
#include "wire/link/link.h"

struct listener;

struct listen_events {
    /* A peer proved the key and says that it is host_id. To accept it, set the link's events with
     * link_set_events() and return 0; the link is yours then. To refuse it, return -1 with why. */
    int (*arrived)(void *arg, struct link *l, uint32_t host_id, struct error *why);
    /* A peer proved the key and wants to go on with host_id's link. Returns that link in any state,
     * or NULL; the link's own events tell the rest. NULL function: such peers are refused. */
    struct link *(*returns)(void *arg, uint32_t host_id);
    /* The listener has refused a peer: for the log. */
    void (*refused)(void *arg, const char *peer, const struct error *why);
};

/* Takes fd, a listening socket. */
struct listener *listener_create(struct loop *loop, int fd, const uint8_t key[LINK_KEY],
                                 enum link_security security, const struct listen_events *events,
                                 void *arg);
/* Sets how many peers may come at once: each gets a place, up to LISTEN_PENDING_MAX. */
void listener_expect(struct listener *l, size_t peers);
/* Sets resume_* and dead_seconds of the links that it makes from now on. */
void listener_resumable(struct listener *l, const struct link_options *o);
void listener_destroy(struct listener *l); /* NULL is fine; pending peers are closed */
