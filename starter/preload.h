/* SPDX-License-Identifier: BSD-3-Clause */
/* preload.h - files that are brought to this host, and passed on to those below it
 *
 * mprun offers contents by their hashes; a host answers which of them it, or any host below it, has
 * not got; these come in pieces down the tree, each over a link once, and only where somebody wants
 * them. A piece is acknowledged when it is written here and on its way to all below that want it,
 * so that a slow host slows the whole, and nobody holds more than PRELOAD_WINDOW for it. */
#ifndef STARTER_PRELOAD_H
#define STARTER_PRELOAD_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/frame.h"

struct worker;
struct preload;

/* Frames from above. -1: it cannot be read. */
int preload_offer(struct worker *w, const uint8_t *p, size_t n);
void preload_data(struct worker *w, const uint8_t *p, size_t n);
/* WANTED or TAKEN of the host in this place below (tree.h). */
void preload_from_below(struct worker *w, unsigned place, enum frame_type type, const uint8_t *p,
                        size_t n);
/* Nothing more is wanted: what is half written goes. */
void preload_stop(struct preload *pre);
void preload_destroy(struct preload *pre); /* NULL is fine, here and below */

/* preload-place.c: put everything into the step's directory, which has been made. */
int preload_place(struct worker *w, struct error *err);
/* What to execute for an app; NULL: what the host has. */
const char *preload_program(const struct preload *pre, uint32_t app);
/* Where libraries and data are; NULL: there are none. */
const char *preload_library_directory(const struct preload *pre);
const char *preload_data_directory(const struct preload *pre);

#endif
