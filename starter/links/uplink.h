/* SPDX-License-Identifier: BSD-3-Clause */
/* uplink.h - the link by which a host reaches mprun: straight, or by its parent host in the tree
 *
 * A host links to mprun first, by one of mprun's addresses or over the start channel. It may then
 * make a second link, to its parent host: from there on it sends everything by that link, and still
 * receives what mprun has sent on the first one. Without a link, sending does nothing. */
#pragma once

#include <stdbool.h>

#include "wire/link/link.h"
#include "wire/start-channel/preamble.h"

struct starter_services;

struct uplink_events {
    void (*opened)(void *arg); /* the link to mprun is open */
    /* A frame has come on l, from mprun or through the parent; payload is valid during the call. */
    void (*frame)(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n);
    void (*writable)(void *arg);                        /* there is room for bulk data again */
    void (*closed)(void *arg, const struct error *why); /* the link is gone: call uplink_cut() */
};

struct uplink_parent_events {
    void (*reached)(void *arg); /* from now on everything goes by the parent */
    void (*failed)(void *arg, const char *why);
    void (*interrupted)(void *arg); /* the uplink's connection is lost; it may come back */
    void (*resumed)(void *arg);
};

struct uplink { /* others only read the first part */
    struct preamble start;
    struct link *link;    /* to mprun, or to the parent, perhaps interrupted; NULL: none */
    char own_address[64]; /* this end's, on the link to mprun; "": Unix socket or start channel */
    bool is_start_channel;
    char why_start_channel[800]; /* why, although mprun has addresses; "": it is not, or has none */
    /* private to uplink.c */
    const struct starter_services *services;
    const struct uplink_events *events;
    void *arg;
    const struct uplink_parent_events *parent_events; /* NULL: no parent was tried */
    void *parent_arg;
    struct link *first;   /* to mprun, until mprun has seen that the parent is reached */
    struct link *joining; /* to the parent, until it is proved */
};

/* Takes the preamble, and wipes the key in *start. */
void uplink_init(struct uplink *u, const struct starter_services *services, struct preamble *start,
                 const struct uplink_events *events, void *arg);
void uplink_close(struct uplink *u); /* all zero is fine */

/* Makes the link to mprun. Returns 0, or -1 with err. */
int uplink_connect(struct uplink *u, struct error *err);
/* Makes the link to the parent host: reached() or failed() follows. -1 with err: the parent cannot
 * be reached at all, and neither follows. events must outlive the uplink. */
int uplink_connect_parent(struct uplink *u, const char *addresses,
                          const struct uplink_parent_events *events, void *arg, struct error *err);
/* Tells mprun, on both links if there are two, that the parent is reached (""), or why not. */
void uplink_send_joined(struct uplink *u, const char *why_not);
/* Wipes the key: no link that needs it will be made any more. */
void uplink_forget_key(struct uplink *u);
/* Closes the link: this host says nothing more to mprun. mprun_has_gone: that is known; else only
 * the parent is lost. Removes mprun's directory of sockets if mprun cannot do it. */
void uplink_cut(struct uplink *u, bool mprun_has_gone);

void uplink_send(struct uplink *u, enum frame_type type, const ProtobufCMessage *m);
void uplink_send_bytes(struct uplink *u, enum frame_type type, const void *p, size_t n);
/* Tries to send all that waits, without blocking. */
void uplink_flush(struct uplink *u);
/* Calls fault_point() (common/processes/fault.h) once earlier messages have gone out. */
void uplink_fault_point(struct uplink *u, const char *phase);
