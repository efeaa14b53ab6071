/* SPDX-License-Identifier: BSD-3-Clause */
/* findings.h - the reader's answers for one request
 *
 * Front answers a request in several passes: a pass asks the reader for what is missing and stops;
 * when the answer has come, front begins again with what was found. Where there is no reader, or it
 * dies, the next one is asked, within READER_PATIENCE_S. */
#pragma once

#include "node-daemon/front/links/ask-reader.h"

enum finding_kind { FIND_PROOF, FIND_TASK, FIND_JOB, FIND_HOSTS, FIND_LIMIT, FINDINGS };

struct finding {
    struct findings *all;
    uint64_t id;  /* of the question that is under way; 0: none is */
    double began; /* loop_now() when it was asked first; 0: it was not */
    enum { FINDING_NEW, FINDING_ASKED, FINDING_DONE } state;
    struct reader_answer *answer; /* n of them; none: the reader does not answer */
    size_t n;
};

struct findings {
    struct reader_link *reader;
    uid_t uid;                /* of the client whose request it is */
    bool is_held;             /* until the reader is free for users */
    void (*again)(void *arg); /* something was found */
    void *arg;
    struct loop_timer retry; /* where there was no reader */
    struct finding of[FINDINGS];
};

void findings_init(struct findings *f, struct reader_link *reader, uid_t uid,
                   void (*again)(void *arg), void *arg);
void findings_free(struct findings *f);
/* Ask q with the descriptor fd (-1: none); a repeated call does not ask again. 1: *ret has the
 * finding; 0: it has not come yet. */
int findings_get(struct findings *f, enum finding_kind kind, enum reader_op what,
                 struct reader_request *q, int fd, const struct finding **ret);
/* True with err: nothing was found. False: something was. err may be NULL. */
bool finding_failed(const struct finding *f, struct error *err);
