/* SPDX-License-Identifier: BSD-3-Clause */
/* output-sink.h - one place that output goes to: a descriptor, and what it has not taken yet
 *
 * Never waits and never changes a description that mprun shares with others: a terminal or pipe is
 * opened once more for non-blocking writes, a socket is written with MSG_DONTWAIT, a file is
 * written at once. Bytes are written straight away when nothing waits; the rest is queued until the
 * descriptor is writable. SIGPIPE must be ignored in this process. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct loop;
struct output_sink;

/* `advanced` and `failed` are called from sink_put(), sink_flush() and the loop, and must not
 * destroy the sink; `emptied` is called from the loop alone, and may. */
struct sink_events {
    void (*advanced)(void *arg);         /* sink_written() has grown */
    void (*failed)(void *arg, int code); /* errno: nothing can be written any more; once */
    void (*emptied)(void *arg);          /* the queue became empty */
};

/* mode: the kind of fd (st_mode), which stays the caller's. NULL: out of memory. */
struct output_sink *sink_create(struct loop *loop, int fd, mode_t mode,
                                const struct sink_events *events, void *arg);
void sink_destroy(struct output_sink *s); /* what is queued is lost. NULL is fine */

/* Can the descriptor be full? A file or device cannot. */
int sink_can_wait(const struct output_sink *s);

/* Write n bytes behind those that came before. A dead sink forgets them. */
void sink_put(struct output_sink *s, const uint8_t *p, size_t n);
/* Whole lines may be appended here instead, followed by sink_flush(). NULL: the sink is dead. */
struct buffer *sink_queue(struct output_sink *s);
void sink_flush(struct output_sink *s);
/* Move up to n bytes from the descriptor `from` into a pipe, past the queue. Returns how many; 0:
 * nothing has come yet; -1: not now, or not here: read them and sink_put() them. */
ssize_t sink_move(struct output_sink *s, int from, size_t n);

/* Drop what waits, and all that comes later. Returns the bytes dropped; does not call `failed`. */
uint64_t sink_drop(struct output_sink *s);
void sink_fail(struct output_sink *s, int code); /* the caller's reason why it ends here */

int sink_is_dead(const struct output_sink *s);
int sink_is_empty(const struct output_sink *s);      /* nothing is queued */
int sink_at_line_start(const struct output_sink *s); /* as far as it is known */
/* Bytes that were put in; bytes that readers have taken, or will never take. */
uint64_t sink_end(const struct output_sink *s);
uint64_t sink_written(const struct output_sink *s);
