/* SPDX-License-Identifier: BSD-3-Clause */
/* preload.h - files that are brought to this host before the ranks start, and passed on to the
 * hosts below it
 *
 * mprun offers contents by their hashes. A host answers which of them it, or any host below it,
 * does not have; these come in pieces down the tree, once over each link, and only where somebody
 * wants them. A piece is acknowledged when it is written here and on its way to all children that
 * want it: a slow host slows the whole, and no host holds more than PRELOAD_WINDOW bytes for it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/messages/frame.h"

struct child_hosts;
struct preload;
struct starter_services;

/* PRELOAD_OFFER has come: look which files are here already, and answer. NULL: it cannot be read,
 * or no memory. */
struct preload *preload_create(const struct starter_services *services,
                               struct child_hosts *children, const uint8_t *p, size_t n);
void preload_destroy(struct preload *pre); /* NULL is fine, here and below: nothing was offered */
/* PRELOAD_DATA has come. */
void preload_data(struct preload *pre, const uint8_t *p, size_t n);
/* PRELOAD_WANTED or PRELOAD_TAKEN of the child in this place has come (links/child-hosts.h). */
void preload_from_child(struct preload *pre, unsigned place, enum frame_type type, const uint8_t *p,
                        size_t n);
/* Nothing more is wanted: remove what is half written. */
void preload_stop(struct preload *pre);

/* Put all files into the step's directory for napps programs. host_name: for messages. -1 with err.
 */
int preload_install(struct preload *pre, const char *directory, const char *host_name,
                    uint32_t napps, struct error *err);
/* The program that was brought for an app; NULL: the ranks execute what the host has. */
const char *preload_program(const struct preload *pre, uint32_t app);
/* Where libraries and data are; NULL: none were brought. */
const char *preload_library_directory(const struct preload *pre);
const char *preload_data_directory(const struct preload *pre);
