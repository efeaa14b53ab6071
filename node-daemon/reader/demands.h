/* SPDX-License-Identifier: BSD-3-Clause */
/* demands.h - the questions READER_DEMAND: answered when the manager's own tool has answered */
#pragma once

#include "common/loop.h"
#include "node-daemon/reader/questions.h"

struct demands;
/* conf must outlive it. fn gets the answers, later. NULL with err. */
struct demands *demands_create(struct loop *l, const struct conf *conf, reply_fn fn, void *arg,
                               struct error *err);
void demands_destroy(struct demands *d); /* NULL is fine */
void demands_ask(struct demands *d, const struct reader_request *q);
/* Nobody waits for the questions so far any more: they get no answer. */
void demands_forget(struct demands *d);
