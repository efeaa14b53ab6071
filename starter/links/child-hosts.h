/* SPDX-License-Identifier: BSD-3-Clause */
/* child-hosts.h - the hosts right below this one in the tree, and the frames passed on to and from
 * them
 *
 * Children connect to a socket that this host opens for them (the door), and are watched by
 * heartbeats. Frames from above go down to the child on the way to their host; frames from a child
 * go up as they are. Parts of a PMI collective are gathered first, so that one message goes up. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/messages/frame.h"
#include "wire/mprun.pb-c.h"

struct child_hosts;
struct launch;
struct loop;
struct step_end;
struct uplink;

/* A child has sent PRELOAD_WANTED or PRELOAD_TAKEN; place: 0 .. child_hosts_places() - 1. */
typedef void (*child_preload_fn)(void *arg, unsigned place, enum frame_type type, const uint8_t *p,
                                 size_t n);

/* place: this host's place in the tree, as mprun says. hostname must live as long. NULL with err.
 */
struct child_hosts *child_hosts_create(struct loop *loop, struct uplink *up, struct step_end *end,
                                       const char *hostname, const Mprun__Place *place,
                                       child_preload_fn preload, void *arg, struct error *err);
/* NULL is fine, here and below: this host has no place yet. */
void child_hosts_destroy(struct child_hosts *c);
/* Where there are to be children, listen for them and tell mprun the address (DOOR). */
void child_hosts_open_door(struct child_hosts *c);
/* LAUNCH has come: hosts have these names in messages. launch must live as long as c. */
void child_hosts_set_names(struct child_hosts *c, const struct launch *launch);

unsigned child_hosts_places(const struct child_hosts *c); /* children that are to be there */
bool child_hosts_is_linked(const struct child_hosts *c, unsigned place);
/* Send a frame to the child in this place, if it is linked, and to all hosts below it. */
void child_hosts_send(struct child_hosts *c, unsigned place, enum frame_type type, const void *p,
                      size_t n);
/* Pass on a frame from above that is for this host below, or FRAME_EVERY_HOST. */
void child_hosts_pass_down(struct child_hosts *c, uint32_t host, enum frame_type type,
                           const void *p, size_t n);
/* Add this host's own part of a collective (COLLECT of mppmi) to the children's. false: there are
 * no children, send it up. */
bool child_hosts_collect(struct child_hosts *c, const uint8_t *p, size_t n);

/* Close the links to all children: they find that mprun has gone. */
void child_hosts_cut(struct child_hosts *c);
/* The step is over, and children close their links by themselves: call gone when all have, after
 * CHILDREN_END_SECONDS at the latest, perhaps at once. */
void child_hosts_await_end(struct child_hosts *c, void (*gone)(void *arg), void *arg);
