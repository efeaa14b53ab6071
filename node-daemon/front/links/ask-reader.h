/* SPDX-License-Identifier: BSD-3-Clause */
/* ask-reader.h - front asks the reader without waiting: the answer comes later, or never
 *
 * The reader may be stuck in a file system or a name service that does not answer. */
#pragma once

#include "common/loop.h"
#include "node-daemon/conf/conf.h"
#include "node-daemon/lib/reader-protocol.h"
#include "node-daemon/lib/start.h"

/* Seconds for an answer; for READER_DEMAND as many more than its tool has. */
static const double READER_PATIENCE_S = 2;

/* Events that the reader reports without a question. */
struct reader_calls {
    /* A process of a task of the job's has been noted in its directory; group: the task's. */
    void (*task)(void *arg, const char *job, pid_t pid, gid_t group);
    void (*gone)(void *arg, const char *job); /* its directory was removed */
    /* Events were lost, or another reader has begun: look at everything. */
    void (*lost)(void *arg);
    /* The reader has spent so many seconds on a user's question, and is free for the next one. */
    void (*took)(void *arg, uid_t uid, double seconds);
};

/* Takes an answer; more answers follow while its `more` is 1. NULL, as the last call: no answer
 * came in time, or the reader has died. The answer's text is terminated and printable. */
typedef void (*reader_fn)(void *arg, const struct reader_answer *a);

struct reader_link { /* ask-reader.c's */
    struct loop *loop;
    struct start *start;
    const struct conf *conf;
    struct reader_calls calls;
    void *arg;
    int fd; /* -1: there is no reader */
    struct loop_io *io;
    struct question *first;
    uint64_t last_id;
    size_t of_users; /* questions under way */
    double answered; /* the last one */
    bool told;       /* mprund has logged that the reader sent an invalid answer */
};

/* s and conf must outlive r. r takes the link to the reader from s->link, where the next link will
 * come, too. */
void reader_link_init(struct reader_link *r, struct loop *l, struct start *s,
                      const struct conf *conf, const struct reader_calls *calls, void *arg);
void reader_link_close(struct reader_link *r); /* zero is fine; nothing is called any more */
/* There may be a new link in s->link: use it. Questions that the last reader has not answered end
 * with NULL. */
void reader_link_renew(struct reader_link *r);

/* Are as many users' questions under way as are allowed? The reader answers one after the other,
 * and root's questions must not wait behind those of all users. */
bool reader_is_busy(const struct reader_link *r);
/* Send q for this user (0: for root, or mprund itself) with the descriptor fd (-1: none), which
 * stays the caller's. Sets the head of q. fn is called later, not from here. ret_id may be NULL. 0,
 * or -1 with err, and fn is never called: EPIPE, there is no reader now; EAGAIN, it takes no more
 * questions. */
int reader_ask(struct reader_link *r, uid_t uid, enum reader_op what, struct reader_request *q,
               int fd, reader_fn fn, void *arg, uint64_t *ret_id, struct error *err);
/* The asker has gone: fn will not be called, but the reader still works on the question. An id
 * without a question is fine. */
void reader_forget(struct reader_link *r, uint64_t id);
