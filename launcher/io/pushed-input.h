/* SPDX-License-Identifier: BSD-3-Clause */
/* pushed-input.h - standard input that tools and ranks push (--stdin tool, PMIx_IOF_push)
 *
 * pushed_input_put() writes the bytes into a pipe of mprun's own. input.h reads them there, as it
 * reads any input, and gives them to the ranks that --stdin names, at their pace. A push is
 * answered when the pipe has taken all of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct loop;
struct pushed_input;

enum push_status { /* in INPUT_PUSHED */
                   PUSH_OK,
                   PUSH_NO_INPUT, /* there is none from tools, it has ended, or no rank reads it any
                                     more */
                   PUSH_NOT_SO,   /* it is not for these ranks */
                   PUSH_TOO_MUCH, /* the ranks have not taken what was pushed before */
};

/* Answers a push of this host. */
typedef void (*push_answer_f)(void *host, uint64_t id, enum push_status status);

/* NULL with err. */
struct pushed_input *pushed_input_create(struct loop *loop, push_answer_f answer,
                                         struct error *err);
void pushed_input_destroy(struct pushed_input *p); /* NULL is fine; nothing is answered */
int pushed_input_fd(const struct pushed_input *p); /* to read from; it stays p's */
/* n is 0 at the end of the input. */
void pushed_input_put(struct pushed_input *p, void *host, uint64_t id, const void *data, size_t n);
/* No rank reads any more: refuses what waits, and what comes. */
void pushed_input_over(struct pushed_input *p);
