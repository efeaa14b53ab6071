/* SPDX-License-Identifier: BSD-3-Clause */
/* tree-place.h - this host's place in the tree of hosts: who is its parent, who are its children
 *
 * mprun is the root. It tells each host its place (PLACE): stay linked to mprun, or go to a parent
 * host; and whether there are children. Frames for other hosts are passed on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "starter/links/child-hosts.h"
#include "starter/links/parent-watch.h"

struct tree_place;

struct tree_place_events {
    parent_lost_fn parent_lost;
    child_preload_fn child_preload;
};

/* hostname must live as long. NULL: no memory. */
struct tree_place *tree_place_create(struct loop *loop, struct uplink *up, struct step_end *end,
                                     const char *hostname, const struct tree_place_events *events,
                                     void *arg);
void tree_place_destroy(struct tree_place *t); /* NULL is fine */

/* PLACE has come: connect to the parent, if there is one, and let children in. -1: it cannot be
 * read. */
int tree_place_take(struct tree_place *t, const uint8_t *p, size_t n);
/* A frame has come from above: pass it on where it is for hosts below. Is it for this host, too? */
bool tree_place_pass_down(struct tree_place *t, uint32_t host, enum frame_type type, const void *p,
                          size_t n);
struct child_hosts *tree_place_children(const struct tree_place *t); /* NULL: no place yet */
bool tree_place_has_parent(const struct tree_place *t); /* linked to a host, not to mprun */

void tree_place_heard(struct tree_place *t); /* a frame has come from above */
int tree_place_pong(struct tree_place *t);   /* PONG has come; -1: it was not asked for */
