/* SPDX-License-Identifier: BSD-3-Clause */
/* launcher-messages.h - what each message of mprun does on this host (doc/wire.md lists them) */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/messages/frame.h"

struct link;

/* A frame has come on l: pass it on to hosts below, and take it if it is for this host. arg: the
 * struct host. */
void launcher_messages_take(void *arg, struct link *l, enum frame_type type, const uint8_t *p,
                            size_t n);
