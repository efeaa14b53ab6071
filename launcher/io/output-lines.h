/* SPDX-License-Identifier: BSD-3-Clause */
/* output-lines.h - the output of ranks as whole lines, each with the name of its rank
 *
 *     [7]<stdout>: text
 *     [7]<stdout>+ rest of a line that was longer than OUTPUT_LINE_MAX
 *     2026-08-02T10:11:12.123456 [1.0]<stderr>: of rank 0 of world 1, with the time at its host
 *     2026-08-02T10:11:12.123456: with the time only
 *     7 text                       with the pattern "%r "
 *
 * so "+" instead of ":" means that the line before of the same rank and stream goes on. A last line
 * without a newline gets one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct bulk_header;
struct output_names;
struct output_lines;

enum { OUTPUT_LINE_MAX = 64 * 1024 };

/* The text before each line. With nothing, bytes pass as they come, and no struct
 * output_lines is made. */
struct line_format {
    bool tag;            /* rank and stream */
    bool timestamp;      /* the time at its source */
    bool whole;          /* nothing, but lines are whole */
    const char *pattern; /* instead of rank and stream (output-pattern.h); NULL: none */
};

/* names outlives it; of use with a pattern. NULL: out of memory. */
struct output_lines *lines_create(const struct line_format *format,
                                  const struct output_names *names);
void lines_destroy(struct output_lines *t); /* unfinished lines are lost. NULL is fine */

/* A rank has written n bytes to a stream: append whole lines to `to` and keep the rest. -1: out of
 * memory. */
int lines_put(struct output_lines *t, uint32_t host, const struct bulk_header *h, const uint8_t *p,
              size_t n, struct buffer *to);
/* The stream has ended: append what is kept of it to `to`, or drop it (NULL). */
int lines_end(struct output_lines *t, const struct bulk_header *h, struct buffer *to);
