/* SPDX-License-Identifier: BSD-3-Clause */
/* heartbeat.h - does the peer's program answer, and not only its kernel?
 *
 * A host watches the hosts right below it, and they watch it. Every frame from a peer is a sign of
 * life. A peer that has sent nothing since the last look gets a PING, and no second PING before its
 * PONG. So no PING goes where data flows, and few go elsewhere.
 *
 * Two looks are a third of `seconds` apart. A peer is silent when the third look in a row finds no
 * sign of life. If a look comes late by one look or more, all counts begin anew: this process was
 * stopped itself, or too busy to judge others. Links without a connection are not looked at. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/loop.h"

struct heartbeat;
struct link;

struct heartbeat_events {
    /* Returns the link to a peer, and the peer's host on it; NULL: do not watch the peer now. */
    struct link *(*link)(void *arg, uint32_t peer, uint32_t *ret_host);
    /* These peers have sent nothing for so long. Called once for each peer, until it is back. */
    void (*silent)(void *arg, const uint32_t *peers, size_t n, double seconds);
    void (*back)(void *arg, uint32_t peer, double seconds);
};

/* Peers have numbers from 0. seconds: without a sign of life until a peer is silent. */
struct heartbeat *heartbeat_create(struct loop *loop, uint32_t npeers, double seconds,
                                   const struct heartbeat_events *events, void *arg);
/* A frame of this peer has come: a silent peer is back at once, not at the next look. */
void heartbeat_heard(struct heartbeat *h, uint32_t peer);
/* The peer's PONG has come. Returns -1 if no PING was sent. */
int heartbeat_answered(struct heartbeat *h, uint32_t peer);
void heartbeat_destroy(struct heartbeat *h); /* NULL is fine */
