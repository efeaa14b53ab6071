/* SPDX-License-Identifier: BSD-3-Clause */
/* output-lines.h - splits the output of ranks into lines
 *
 * A line that is longer than OUTPUT_LINE_MAX comes in pieces, which never cut a character of UTF-8.
 * At the end of a stream its unfinished line counts as a line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/messages/frame.h"

struct output_lines;

enum { OUTPUT_LINE_MAX = 64 * 1024 };

struct output_line {
    struct bulk_header head; /* rank, stream, and the time of the first byte */
    uint32_t host;
    const uint8_t *text; /* without a newline; valid during the call */
    size_t n;
    bool continues;        /* the piece before it was of the same line */
    bool has_newline;      /* the rank has ended it; false: a piece, or the end of the stream */
    uint64_t *merge_state; /* of the rank's stream, 0 at first: line-merge.c's */
};

typedef void (*output_line_fn)(void *arg, const struct output_line *line);

struct output_lines *lines_create(output_line_fn take, void *arg);
void lines_destroy(struct output_lines *t); /* unfinished lines are lost. NULL is fine */

/* A rank has written n bytes to a stream; n 0: the stream has ended. Calls `take` for each line. */
void lines_put(struct output_lines *t, uint32_t host, const struct bulk_header *h, const uint8_t *p,
               size_t n);
/* Finds a stream that has not ended. False: all have. */
bool lines_find_open(const struct output_lines *t, uint32_t *ret_host, struct bulk_header *ret);
