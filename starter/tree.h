/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.h - the hosts between mprun and this one, and those that this one passes on to
 *
 * A starter is linked to mprun first, and told its place: to stay, or to go to the host above it. A
 * host with others below it opens a door for them, and passes on every frame that is not its own.
 */
#ifndef STARTER_TREE_H
#define STARTER_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

struct link;
struct worker;
struct tree;

/* PLACE has come: take the place, and open the door where there are hosts below. -1: it cannot be
 * read. */
int tree_take_place(struct worker *w, const uint8_t *p, size_t n);
/* This host's part of a collective, from mppmi. */
void tree_collect(struct worker *w, const uint8_t *p, size_t n);
/* Pass on a frame from above. 1: it is for this host, too. */
int tree_pass_down(struct worker *w, uint32_t host, enum frame_type type, const void *p, size_t n);
/* Places for hosts right below this one, and the link of one; NULL: it is not there. */
unsigned tree_places_below(const struct worker *w);
struct link *tree_link_below(const struct worker *w, unsigned place);
/* Hosts that are linked to this one. */
unsigned tree_below(const struct worker *w);
/* Let go of the hosts below: they find that mprun is gone. */
void tree_cut(struct worker *w);
/* The step is over: those below go by themselves, and then `gone` is called, at the latest after
 * some seconds. */
void tree_await_end(struct worker *w, void (*gone)(struct worker *w));
/* The link to mprun, or to the host above, is a fresh one (opened) or has failed (why). */
void tree_link_opened(struct worker *w);
void tree_link_failed(struct worker *w, const char *why);
void tree_destroy(struct worker *w);

#endif
