/* SPDX-License-Identifier: BSD-3-Clause */
/* frame-handler.h - decode a frame, and call the function that takes it */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/* What to do with frames of one type; a receiver has an array of these, by frame type. */
struct frame_handler {
    /* The frame's message, and the function that takes it; the message is freed after the call.
     * Returns -1 for a message that cannot be, or not now. */
    const ProtobufCMessageDescriptor *message;
    int (*take)(void *to, void *message);
    /* Instead, where the frame is no message or is taken apart elsewhere. */
    int (*take_bytes)(void *to, const uint8_t *p, size_t n);
};

/* Returns what the function returns; -1 where there is none, or for bytes that are no such
 * message. */
int frame_handle(const struct frame_handler *h, void *to, const uint8_t *p, size_t n);
