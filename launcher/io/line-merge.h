/* SPDX-License-Identifier: BSD-3-Clause */
/* line-merge.h - merges equal lines of several ranks into one line that names the ranks
 *
 * A line waits for the same line of other ranks until all ranks of its world have written it, at
 * most MERGE_WAIT_SECONDS (launcher/tunables.h), and as long as there is room. Lines come out in
 * the order in which their first ranks wrote them, and those of each rank and stream in their
 * order: a rank joins a line only behind its own last one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct line_merge;
struct loop;
struct output_line;

struct line_merge_events {
    /* The line, of which text is valid during the call, was written by these ranks: "0-3,7"; in
     * another world "1.0-3,7". */
    void (*merged)(void *arg, const struct output_line *line, const char *ranks);
    /* After a wait: `merged` has been called for all lines that were due. */
    void (*settled)(void *arg);
};

/* nranks: of world 0. */
struct line_merge *line_merge_create(struct loop *loop, uint32_t nranks,
                                     const struct line_merge_events *events, void *arg);
void line_merge_destroy(struct line_merge *m); /* lines that wait are lost. NULL is fine */
/* A rank has written the line, which is copied. Calls `merged`. */
void line_merge_add(struct line_merge *m, const struct output_line *line);
void line_merge_flush(struct line_merge *m);          /* nothing waits any longer. NULL is fine */
bool line_merge_is_empty(const struct line_merge *m); /* NULL is */
