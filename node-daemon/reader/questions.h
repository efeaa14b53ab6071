/* SPDX-License-Identifier: BSD-3-Clause */
/* questions.h - the reader's answers: from files that it reads, and from a manager's tool */
#pragma once

#include <sys/types.h>

#include "common/loop.h"
#include "model/limits.h"
#include "node-daemon/conf/conf.h"
#include "node-daemon/lib/reader-protocol.h"
#include "node-daemon/reader/evidence-sources.h"

typedef void (*reply_fn)(void *arg, const struct reader_answer *a);

/* An answer to q, or an event, in which nothing else is set. */
void reply_init(struct reader_answer *ret, enum reader_op what, uint64_t id);
/* Make a an answer that failed with err. */
void reply_fail(struct reader_answer *a, const struct error *err);
/* 1: the texts of q end, and there is such a question. */
bool question_is_whole(const struct reader_request *q);
/* Give all answers to q to fn. fd: what came with it, the caller's; -1: nothing. */
void question_answer(const struct conf *c, const struct reader_request *q, int fd, reply_fn fn,
                     void *arg);

/* ---- demands.c: the questions READER_DEMAND, answered when the manager's tool has answered --- */

struct demands { /* demands.c's */
    const struct conf *conf;
    struct inquiries *inquiries;
    struct asked *first;
    reply_fn fn;
    void *arg;
};

/* conf must outlive it. fn gets the answers, later. */
void demands_open(struct demands *d, struct loop *l, const struct conf *conf, reply_fn fn,
                  void *arg);
void demands_close(struct demands *d); /* zero is fine */
void demands_ask(struct demands *d, const struct reader_request *q);
/* Front has gone: give no answers to the questions so far. */
void demands_forget(struct demands *d);

/* ---- claims.c: of which job a process is that did not ask ------------------------------------ */

/* Watch has looked at the process, which the reader cannot, and claims which task it is of; what it
 * saw of it has to agree with what the manager's root wrote. */

/* q: the fields that READER_CLAIM fills. 0 with *ret, or -1 with err. */
int claim_check(const struct conf *c, const struct reader_request *q, struct task_evidence *ret,
                struct error *err);

/* ---- own-limits.c ---------------------------------------------------------------------------- */

/* The smallest limit of memory (bytes) of the cgroups that it is in, v1 and v2; not set: none, or
 * none that can be read. */
struct limit own_memory_limit(pid_t pid);
