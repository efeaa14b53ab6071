/* SPDX-License-Identifier: BSD-3-Clause */
/* ask-reader.h - front asks the reader, and waits for nothing: the answer comes later, or does not
 *
 * The reader may be stuck in a file system or a name service that does not answer. */
#pragma once

#include "common/loop.h"
#include "node-daemon/conf/conf.h"
#include "node-daemon/lib/reader-protocol.h"
#include "node-daemon/lib/start.h"

/* Seconds for an answer; for READER_DEMAND as many more than its tool has. */
static const double READER_PATIENCE_S = 2;

/* Events that the reader tells by itself. */
struct reader_calls {
    /* A process of a task of the job's has been noted in its directory; group: the task's. */
    void (*task)(void *arg, const char *job, pid_t pid, gid_t group);
    void (*gone)(void *arg, const char *job); /* its directory was removed */
    /* Events were lost, or another reader has begun: look at everything. */
    void (*lost)(void *arg);
    /* A question of a user's has taken so many seconds of the reader's time: it is free for the
     * next one. */
    void (*took)(void *arg, uid_t uid, double seconds);
};

/* An answer, after which more may follow (more 1); the last one is the last call. NULL: there is
 * none in time, or the reader has died; it is the last call, too. The text in it ends, and is
 * printable.
 */
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
    bool told;       /* that it said what is no answer */
};

/* s and conf must outlive it; from here on the link to the reader is this one's, and s->link is
 * where the next one comes. */
void reader_link_init(struct reader_link *r, struct loop *l, struct start *s,
                      const struct conf *conf, const struct reader_calls *calls, void *arg);
void reader_link_close(struct reader_link *r); /* zero is fine; nothing is called any more */
/* There may be a new link in s->link: use it. Questions that the last reader has not answered end
 * with NULL. */
void reader_link_renew(struct reader_link *r);

/* Are as many questions of users under way as may be? The reader answers one after the other, and
 * root's are not to wait behind those of all users. */
bool reader_is_busy(const struct reader_link *r);
/* Ask q for this user (0: for root, or mprund itself), whose head this sets, with the descriptor fd
 * (-1: none), which stays the caller's. fn is called later, not from here. ret_id may be NULL. 0,
 * or -1 with err, and fn is not called: EPIPE, there is no reader now; EAGAIN, it does not take
 * more questions. */
int reader_ask(struct reader_link *r, uid_t uid, enum reader_op what, struct reader_request *q,
               int fd, reader_fn fn, void *arg, uint64_t *ret_id, struct error *err);
/* The asker has gone: fn is not called any more, but the reader is at it all the same. An id that
 * is not waited for is fine. */
void reader_forget(struct reader_link *r, uint64_t id);
