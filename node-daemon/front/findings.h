/* SPDX-License-Identifier: BSD-3-Clause */
/* findings.h - what the reader has found out for one request
 *
 * A request is answered in several goes: what it needs is asked for, and when that has come the
 * request is answered anew, from the beginning, with what was found. */
#pragma once

#include "node-daemon/front/ask-reader.h"

enum finding_kind { FIND_PROOF, FIND_TASK, FIND_JOB, FIND_HOSTS, FIND_LIMIT, FINDINGS };

struct finding {
    struct findings *all;
    uint64_t id; /* of the question that is under way; 0: none is */
    enum { FINDING_NEW, FINDING_ASKED, FINDING_DONE } state;
    struct reader_answer *answer; /* n of them; none: the reader does not answer */
    size_t n;
};

struct findings {
    struct reader_link *reader;
    uid_t uid;                /* of who wants to know */
    bool is_held;             /* until the reader is free for users */
    void (*again)(void *arg); /* something was found */
    void *arg;
    struct finding of[FINDINGS];
};

void findings_init(struct findings *f, struct reader_link *reader, uid_t uid,
                   void (*again)(void *arg), void *arg);
void findings_free(struct findings *f);
/* Ask q, of what `what` says, with the descriptor fd (-1: none), once. 1: *ret is what was found;
 * 0: it has not come yet. */
int findings_get(struct findings *f, enum finding_kind kind, enum reader_op what,
                 struct reader_request *q, int fd, const struct finding **ret);
/* Why nothing was found; false: something was. err may be NULL. */
bool finding_failed(const struct finding *f, struct error *err);
