/* SPDX-License-Identifier: BSD-3-Clause */
/* flow-control.h - how much output a host may have under way; the same arithmetic at both ends
 *
 * Output: each stream of a host has a window of bytes that are sent, but not yet taken by the
 * reader of mprun's stdout or stderr. A frame costs its data and its headers, so the number of
 * frames is bounded, too; the end of a stream costs nothing. Many hosts get smaller windows: a
 * reader that stops never makes mprun hold much more than OUTPUT_TOTAL. Input: the limit in
 * INPUT_CREDIT is INPUT_WINDOW ahead of what went into the rank's pipe; for a source that must not
 * be read ahead of the rank (stdin_slow), INPUT_WINDOW_SLOW ahead of what the rank has read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/messages/frame.h"
#include "wire/tunables.h"

static inline uint32_t output_window(size_t hosts)
{
    size_t share = OUTPUT_TOTAL / 2 / (hosts ? hosts : 1);
    if (share > OUTPUT_WINDOW)
        return OUTPUT_WINDOW;
    return share < OUTPUT_WINDOW_MIN ? OUTPUT_WINDOW_MIN : (uint32_t)share;
}

static inline uint32_t output_cost(size_t data)
{
    return data ? (uint32_t)data + FRAME_HEADER + BULK_HEADER : 0;
}
