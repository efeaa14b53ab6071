/* SPDX-License-Identifier: BSD-3-Clause */
/* tree-place.h - this host's place in the tree of hosts: its parent and its children
 *
 * mprun is the root. It tells each host its place (PLACE): stay linked to mprun, or link to a
 * parent host; and whether there are children. This host passes on frames for other hosts.
 *
 * The parent is out of reach while its connection is interrupted, or when its program has said
 * nothing for the time of the heartbeat (wire/link/heartbeat.h). The link to it may come back, and
 * then goes on with everything that was under way. Meanwhile mprun cannot tell this host by way of
 * the parent to end the step. So this module connects to mprun; that connection brings KILL and
 * nothing else. If nobody listens at mprun's addresses any more, mprun has gone. */
#pragma once

#include "starter/links/child-hosts.h"

struct tree_place_events {
    /* The parent is lost, and mprun ends the step or has gone: end the ranks, with so many seconds
     * between TERM and KILL. */
    void (*parent_lost)(void *arg, const struct error *why, bool mprun_has_gone, double grace);
    child_preload_fn child_preload;
};

struct tree_place { /* others only read the first part */
    struct child_hosts children;
    bool has_parent;             /* linked to a host, not to mprun */
    struct heartbeat *heartbeat; /* of the parent; NULL: no parent, or not wanted */
    /* private to tree-place.c */
    const struct starter_services *services;
    const struct tree_place_events *events;
    void *arg;
    bool is_taken;
    double heartbeat_seconds;
    /* while the parent is out of reach */
    unsigned why; /* 0: it is there */
    uint8_t key[LINK_KEY];
    struct loop_timer again;
    struct dial *dial;
    struct link *link; /* to mprun */
};

void tree_place_init(struct tree_place *t, const struct starter_services *services,
                     const struct tree_place_events *events, void *arg);
void tree_place_close(struct tree_place *t); /* all zero is fine */

/* PLACE has come: connects to the parent, if there is one, and lets children in. -1: the message is
 * not valid, or not now. */
int tree_place_take(struct tree_place *t, const Mprun__Place *m);
/* A frame has come from above: passes it on if it is for hosts below. Returns whether it is for
 * this host, too. */
bool tree_place_pass_down(struct tree_place *t, uint32_t host, enum frame_type type, const void *p,
                          size_t n);
