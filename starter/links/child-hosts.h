/* SPDX-License-Identifier: BSD-3-Clause */
/* child-hosts.h - the hosts right below this one in the tree, and the frames passed on to and from
 * them
 *
 * Children connect to a socket that this host opens for them (the door); heartbeats watch them.
 * This host passes a frame from above down to the child on the way to the frame's host, and a frame
 * from a child up unchanged. It gathers the parts of a PMI collective, and sends one message up. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/loop.h"
#include "wire/link/link.h"
#include "wire/mprun.pb-c.h"
#include "wire/transport/address.h"
#include "wire/tree/gather.h"

struct starter_services;

/* A child has sent PRELOAD_WANTED or PRELOAD_TAKEN; place: 0 .. nchildren - 1. */
typedef void (*child_preload_fn)(void *arg, unsigned place, enum frame_type type, const uint8_t *p,
                                 size_t n);

struct child_hosts { /* all zero: this host has no place yet */
    struct child {
        struct child_hosts *all;
        uint32_t host;
        struct link *link; /* NULL: not there yet, or gone */
    } * children;
    unsigned nchildren; /* children that mprun expects */
    /* private to child-hosts.c */
    const struct starter_services *services;
    uint32_t self, fanout, first;
    struct port_range ports; /* of the door */
    unsigned nlinked;
    struct listener *door;
    struct gather_rules rules;
    struct gather *gather;       /* of collectives; NULL: no children */
    struct heartbeat *heartbeat; /* of the children; NULL: not wanted */
    child_preload_fn preload;
    void *arg;
    struct loop_timer limit; /* until `gone` is called in any case */
    void (*gone)(void *arg);
    void *gone_arg;
};

/* place: this host's place in the tree, from mprun. */
void child_hosts_init(struct child_hosts *c, const struct starter_services *services,
                      const Mprun__Place *place, child_preload_fn preload, void *arg);
void child_hosts_close(struct child_hosts *c); /* all zero is fine, here and below */
/* Listens for children, if this host is to have any, and tells mprun the address (DOOR). */
void child_hosts_open_door(struct child_hosts *c);
/* Sends a frame to the child in this place, if it is linked, and to all hosts below it. */
void child_hosts_send(struct child_hosts *c, unsigned place, enum frame_type type, const void *p,
                      size_t n);
/* Passes on a frame from above: to this host, which is below, or to all (FRAME_EVERY_HOST). */
void child_hosts_pass_down(struct child_hosts *c, uint32_t host, enum frame_type type,
                           const void *p, size_t n);
/* Adds this host's own part of a collective (mppmi's COLLECT) to the children's. false: there are
 * no children; send it up. */
bool child_hosts_collect(struct child_hosts *c, const uint8_t *p, size_t n);

/* The world has ended, and with it what was gathered of its collectives. */
void child_hosts_forget_world(struct child_hosts *c, uint32_t world);

/* Closes the links to all children: they find out that mprun has gone. */
void child_hosts_cut(struct child_hosts *c);
/* The step is over, and children close their links by themselves: calls gone when all have, or
 * after CHILDREN_END_SECONDS; perhaps at once. */
void child_hosts_await_end(struct child_hosts *c, void (*gone)(void *arg), void *arg);
