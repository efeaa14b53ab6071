/* SPDX-License-Identifier: BSD-3-Clause */
/* last-lines.h - keeps the last lines of each rank, to show those of the rank that failed first
 *
 * Keeps at most LAST_LINES lines and LAST_LINES_BYTES bytes of a rank; fewer where there are many
 * ranks. */
#pragma once

#include <stdint.h>

#include "model/rank-name.h"

struct buffer;
struct last_lines;
struct output_line;

enum { LAST_LINES = 50, LAST_LINES_BYTES = 8192 };

struct last_lines *last_lines_create(uint32_t nranks);
void last_lines_destroy(struct last_lines *l); /* NULL is fine */
void last_lines_add(struct last_lines *l, const struct output_line *line);
/* Appends the lines of a rank, each with rank and stream. Returns how many. */
int last_lines_get(const struct last_lines *l, struct rank_name name, struct buffer *to);
