/* SPDX-License-Identifier: BSD-3-Clause */
/* frames.h - what each frame from mprun does on a host (doc/wire.md lists them) */
#ifndef STARTER_FRAMES_H
#define STARTER_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

struct link;

/* The link's `frame` event (wire/link.h); arg: the worker. Those for hosts below are passed on. */
void frames_take(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n);

#endif
