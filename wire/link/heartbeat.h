/* SPDX-License-Identifier: BSD-3-Clause */
/* heartbeat.h - does the peer's program answer, and not only its kernel?
 *
 * A host watches the hosts right below it, and they watch it. Everything that comes from a peer is
 * a sign of life. A peer that has sent nothing since the last look gets a PING, and no second one
 * before its PONG. So no PING goes where data flows, and few go elsewhere.
 *
 * Looks are a third of `seconds` apart. The third look in a row that finds nothing makes a peer
 * silent. A look that comes late by one or more begins all counts anew: this process was stopped
 * itself, or too busy to judge others. Links without a connection are not looked at. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/loop.h"

struct heartbeat;
struct link;

struct heartbeat_events {
    /* Returns the link to a peer, and the peer's host on it; NULL: do not watch it now. */
    struct link *(*link)(void *arg, uint32_t peer, uint32_t *ret_host);
    /* These have sent nothing for so long. Called once for each peer, until it is back. */
    void (*silent)(void *arg, const uint32_t *peers, size_t n, double seconds);
    void (*back)(void *arg, uint32_t peer, double seconds);
};

/* Peers are numbered from 0. */
struct heartbeat *heartbeat_create(struct loop *loop, uint32_t npeers, double seconds,
                                   const struct heartbeat_events *events, void *arg);
/* A frame of this peer has come: a silent peer is back now, not with the next look. */
void heartbeat_heard(struct heartbeat *h, uint32_t peer);
/* The peer's PONG has come. -1: there was no PING. */
int heartbeat_answered(struct heartbeat *h, uint32_t peer);
void heartbeat_destroy(struct heartbeat *h); /* NULL is fine */
