/* SPDX-License-Identifier: BSD-3-Clause */
/* output-lines.h - what ranks write, put together to whole lines that say whose they are
 *
 *     [7]<stdout>: text
 *     [7]<stdout>+ rest of a line that was longer than OUTPUT_LINE_MAX
 *     2026-08-02T10:11:12.123456 [1.0]<stderr>: of rank 0 of world 1, with the time at its host
 *     2026-08-02T10:11:12.123456: with the time only
 *
 * so "+" instead of ":" means that the line before of the same rank and stream goes on. A last line
 * without a newline gets one. */
#ifndef LAUNCHER_OUTPUT_LINES_H
#define LAUNCHER_OUTPUT_LINES_H

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct bulk_header;
struct output_lines;

enum { OUTPUT_LINE_MAX = 64 * 1024 };

/* tag: rank and stream before each line; timestamp: the time at its source. NULL: out of memory. */
struct output_lines *lines_create(int tag, int timestamp);
void lines_destroy(struct output_lines *t); /* unfinished lines are lost. NULL is fine */

/* The n bytes that a rank wrote to a stream: whole lines are appended to `to`, the rest is kept.
 * -1: out of memory. */
int lines_put(struct output_lines *t, const struct bulk_header *h, const uint8_t *p, size_t n,
              struct buffer *to);
/* That stream has ended: what is kept of it goes to `to`, or nowhere (NULL). */
int lines_end(struct output_lines *t, const struct bulk_header *h, struct buffer *to);

#endif
