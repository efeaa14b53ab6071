/* SPDX-License-Identifier: BSD-3-Clause */
/* input.h - passes mprun's stdin to the ranks that get it, and takes no byte more than they read
 *
 * Data that the ranks did not read stays for processes that share the descriptor, as in
 * `while read x; do mprun ./a.out; done < list`:
 *  - a regular file is read without moving its offset, which is set at the end to what the ranks
 *    have read;
 *  - a pipe is looked into with tee(2), a stream socket with MSG_PEEK, and data is removed only
 * when the ranks have read it;
 *  - a terminal is read only while mprun is in the foreground, one line at a time, the next one
 * when the ranks have read the last; a line that no rank reads is lost;
 *  - other devices are read ahead by the ranks' windows.
 * With several targets every rank gets everything, the slowest sets the pace, and at the end a byte
 * counts as read when any of them has read it. A rank that closed its input, or ended, is not
 * waited for. A closed descriptor and /dev/null are an immediate end.
 *
 * SIGTTIN is ignored from input_create() on when the source is a terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "model/rank-name.h"

struct input;
struct loop;

struct input_events {
    /* Send FRAME_INPUT (n is at most BULK_DATA_MAX; 0 at the end) to the rank's host. Called only
     * for ranks that have given credit (input_credit()), because their hosts know them. */
    void (*send)(void *arg, struct rank_name name, const void *data, size_t n);
    /* The source cannot be read; the ranks have been sent their end. May be NULL. */
    void (*failed)(void *arg, const struct error *why);
    /* No target reads any more. May be NULL. */
    void (*over)(void *arg);
};

/* The value of LAUNCH.stdin_slow for this descriptor. */
bool input_is_slow(int fd);

/* Nothing is read before every target's first credit came. fd stays the caller's. */
struct input *input_create(struct loop *loop, int fd, const struct rank_name *targets, size_t n,
                           const struct input_events *events, void *arg, struct error *err);
/* Does input_finish() first where it was not called. NULL is fine. */
void input_destroy(struct input *in);

/* Take INPUT_CREDIT of a rank. Call it with closed set for a target that ended without giving
 * credit. Ignores ranks that are no targets. */
void input_credit(struct input *in, struct rank_name name, uint64_t consumed, uint64_t limit,
                  int closed);
/* SIGCONT arrived: mprun may be in the foreground now. */
void input_continued(struct input *in);
/* No rank reads any more: give back what was not read. */
void input_finish(struct input *in);
