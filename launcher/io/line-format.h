/* SPDX-License-Identifier: BSD-3-Clause */
/* line-format.h - how a line that a rank has written looks
 *
 *     [7]<stdout>: text
 *     [7]<stdout>+ rest of a line that was longer than OUTPUT_LINE_MAX
 *     2026-08-02T10:11:12.123456 [1.0]<stderr>: of rank 0 of world 1, with the time at its host
 *     2026-08-02T10:11:12.123456: with the time only
 *     7 text                       with the pattern "%r "
 *     [0-63] text                  of ranks that have written the same
 *
 * so "+" instead of ":" means that the line before of the same rank and stream goes on. A last line
 * without a newline gets one.
 *
 * Or an object of JSON, of which mprun(1) says what it has. */
#pragma once

#include <stdbool.h>

#include "launcher/io/output-pattern.h"

struct output_line;

/* Is what stands before a line coloured by its rank? */
enum line_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER }; /* AUTO: at a terminal */

struct line_format {
    bool tag;       /* rank and stream */
    bool timestamp; /* the time at its source */
    bool whole;     /* nothing, but lines are whole */
    bool json;      /* instead of all of these */
    enum line_color color;
    const char *pattern; /* instead of rank and stream (output-pattern.h); NULL: none */
};

/* Does a line differ from the bytes that the rank has written? */
bool line_format_is_set(const struct line_format *f);

struct line_writer {
    const struct line_format *format;
    const struct output_names *names; /* of use with a pattern */
    struct line_clock clock;
};
/* Append the line and a newline. ranks: the set of ranks that have written it; NULL: it is this
 * rank's alone, which may be shown by a colour. */
void line_write(struct line_writer *w, const struct output_line *line, const char *ranks,
                bool is_colored, struct buffer *to);
