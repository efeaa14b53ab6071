/* SPDX-License-Identifier: BSD-3-Clause */
/* preload.h - files that are brought to the hosts before the step (starter/preload.h has the rules)
 */
#ifndef LAUNCHER_PRELOAD_H
#define LAUNCHER_PRELOAD_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct host;
struct preload;
struct run;

/* Reads the files; *ret is NULL when none were asked for. */
int preload_create(struct run *r, struct preload **ret, struct error *err);
void preload_destroy(struct preload *pre); /* NULL is fine */
/* Every host has its place: offer. The step is changed when there is an end to it. */
void preload_begin(struct preload *pre);
int preload_done(const struct preload *pre);
/* Frames of a host; -1: one that cannot be. */
int preload_wanted(struct host *h, const uint8_t *p, size_t n);
int preload_taken(struct host *h, const uint8_t *p, size_t n);

#endif
