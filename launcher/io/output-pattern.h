/* SPDX-License-Identifier: BSD-3-Clause */
/* output-pattern.h - texts that name the rank that has written something
 *
 *     %r  rank                     %R  rank, with as many digits as the highest has
 *     %h %N  host                  %n  its number in the step
 *     %p  process of the rank      %g  number of its program in the line, from 0
 *     %j %J  job, or step          %s  "stdout" or "stderr"      %u  user     %%  '%'
 *     %q  number of the queue's command, from 1
 *     %t  the time at which the line was begun; not in names of files
 *
 * A number between '%' and a number's letter is a width, filled with zeros. What is not known is
 * "-": the process of a rank whose start was not reported, the program of a rank that
 * MPI_Comm_spawn has added, the command where there is no queue. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/error.h"

struct buffer;
struct bulk_header;
struct rank_name;

/* What is known of a rank beside its name and host. */
struct output_rank {
    int64_t pid;         /* on its host; 0: not known */
    int64_t app;         /* number of its program in the line; -1: none */
    const char *program; /* as typed; NULL: not known */
    int64_t command;     /* of the queue, from 1; 0: there is no queue */
};

struct output_names {
    const char *job;
    const char *const *hosts; /* by index */
    uint32_t nranks;          /* of world 0 */
    /* NULL: nothing is known of any rank. */
    void (*describe)(void *arg, struct rank_name name, struct output_rank *ret);
    void *arg;
};

/* The text of the last second, because lines come in thousands. Zero at first. */
struct line_clock {
    time_t second;
    char text[24];
};
enum { LINE_TIME = 26 };
/* "2026-08-02T10:11:12.123456", local time or UTC, of LINE_TIME bytes; a clock is always used for
 * the same of both. */
void line_clock_put(struct line_clock *c, uint64_t ns, bool utc, char to[LINE_TIME]);

/* 0, or -1 with the letter that means nothing. */
int output_pattern_check(const char *pattern, struct error *err);
/* The letter of a pattern that is one of these; 0: none is. */
char output_pattern_has(const char *pattern, const char *letters);
/* Append the text for what a rank on a host writes. ranks: instead of the rank; NULL: the rank.
 * clock: of local time; NULL: the pattern has no %t. */
void output_pattern_expand(const struct output_names *names, const char *pattern, uint32_t host,
                           const struct bulk_header *h, const char *ranks, struct line_clock *clock,
                           struct buffer *to);
