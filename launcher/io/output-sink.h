/* SPDX-License-Identifier: BSD-3-Clause */
/* output-sink.h - a descriptor for output, and the queue of bytes that it has not taken yet
 *
 * Never waits and never changes a description that mprun shares with others: a terminal or pipe is
 * opened once more for non-blocking writes, a socket is written with MSG_DONTWAIT, a file is
 * written at once. Bytes are written straight away when nothing waits; the rest is queued until the
 * descriptor is writable. SIGPIPE must be ignored in this process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buffer.h"

struct loop;
/* `advanced` and `failed` are called from sink_put(), sink_flush() and the loop, and must not
 * destroy the sink; `emptied` is called from the loop alone, and may. */
struct sink_events {
    void (*advanced)(void *arg);         /* `written` has grown */
    void (*failed)(void *arg, int code); /* errno: nothing can be written any more; once */
    void (*emptied)(void *arg);          /* the queue became empty */
};

enum sink_way {
    WAY_DIRECT,   /* files and devices: written at once */
    WAY_OWN,      /* our own non-blocking description of a pipe or terminal */
    WAY_SOCKET,   /* MSG_DONTWAIT */
    WAY_CAREFULLY /* a shared, blocking description: only when poll() says so, a little each time */
};

struct output_sink {
    enum sink_way way;   /* but for WAY_DIRECT the descriptor can be full */
    bool dead;           /* nothing can be written any more */
    bool at_line_start;  /* as far as it is known */
    uint64_t written;    /* bytes that were written to the descriptor or dropped */
    struct buffer queue; /* what the descriptor has not taken yet */

    /* private to output-sink.c */
    struct sink_events events;
    void *arg;
    int fd;  /* the one to write to */
    int own; /* fd where sink_close() has to close it, else -1 */
    bool grown;
    bool is_pipe;          /* with WAY_OWN */
    struct loop_io *watch; /* NULL with WAY_DIRECT */
};

/* mode: the kind of fd (st_mode), which stays the caller's. */
void sink_open(struct output_sink *s, struct loop *loop, int fd, mode_t mode,
               const struct sink_events *events, void *arg);
void sink_close(struct output_sink *s); /* what is queued is lost. Zero is fine */

/* Write or queue n bytes. A dead sink drops them. */
void sink_put(struct output_sink *s, const uint8_t *p, size_t n);
/* Whole lines may be appended here instead, followed by sink_flush(). NULL: the sink is dead. */
struct buffer *sink_queue(struct output_sink *s);
void sink_flush(struct output_sink *s);
/* Move up to n bytes from the descriptor `from` into a pipe, without queueing them. Returns the
 * number; 0: `from` has none yet; -1: impossible, or not now: read and sink_put() them. */
ssize_t sink_move(struct output_sink *s, int from, size_t n);

/* Drop what waits, and all that comes later. Returns the bytes dropped; does not call `failed`. */
uint64_t sink_drop(struct output_sink *s);

bool sink_is_empty(const struct output_sink *s); /* nothing is queued */
uint64_t sink_end(const struct output_sink *s);  /* bytes that were put in */
