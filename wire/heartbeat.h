/* SPDX-License-Identifier: BSD-3-Clause */
/* heartbeat.h - is the program at the other end of a link there, and not only its kernel?
 *
 * Who is above watches those right below, and they watch it. Whatever comes from a peer shows that
 * it is there; one that has said nothing since the last look is sent a PING, one until its PONG has
 * come. So nothing is sent where something flows, and little elsewhere.
 *
 * Looks are a third of `seconds` apart, and silence is counted in looks: a peer is silent from the
 * third in a row that found nothing. A look that comes late by one or more begins all counts anew:
 * this process was stopped itself, or too busy to judge others. A link that has no connection now
 * is none of this module's business. */
#ifndef WIRE_HEARTBEAT_H
#define WIRE_HEARTBEAT_H

#include <stddef.h>
#include <stdint.h>

#include "common/loop.h"

struct heartbeat;
struct link;

struct heartbeat_events {
    /* The link to a peer, addressed to it (link_address()); NULL: not to be watched now. */
    struct link *(*link)(void *arg, uint32_t peer);
    /* These have said nothing for so long: told once for each, until it is back. */
    void (*silent)(void *arg, const uint32_t *peers, size_t n, double seconds);
    void (*back)(void *arg, uint32_t peer, double seconds);
};

/* Peers are numbered from 0. NULL: out of memory. */
struct heartbeat *heartbeat_create(struct loop *loop, uint32_t npeers, double seconds,
                                   const struct heartbeat_events *events, void *arg);
/* A frame of this peer has come: who was silent is back at once, and not with the next look. */
void heartbeat_heard(struct heartbeat *h, uint32_t peer);
/* Its PONG has come. -1: none was asked for. */
int heartbeat_answered(struct heartbeat *h, uint32_t peer);
void heartbeat_destroy(struct heartbeat *h); /* NULL is fine */

#endif
