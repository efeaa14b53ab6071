/* SPDX-License-Identifier: BSD-3-Clause */
/* questions.h - what the reader answers from what it reads itself: all of enum reader_op but
 * READER_DEMAND (demands.h) */
#pragma once

#include "node-daemon/conf/conf.h"
#include "node-daemon/lib/reader-protocol.h"

typedef void (*reply_fn)(void *arg, const struct reader_answer *a);

/* An answer to q, or an event, in which nothing else is set. */
void reply_init(struct reader_answer *ret, enum reader_op what, uint64_t id);
/* It cannot be said, for err. */
void reply_fail(struct reader_answer *a, const struct error *err);
/* 1: the texts of q end, and there is such a question. */
bool question_is_whole(const struct reader_request *q);
/* Give all answers to q to fn. fd: what came with it, the caller's; -1: nothing. */
void question_answer(const struct conf *c, const struct reader_request *q, int fd, reply_fn fn,
                     void *arg);
