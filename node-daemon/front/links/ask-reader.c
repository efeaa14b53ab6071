/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/front/links/ask-reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/must.h"

enum { RECORDS_A_TURN = 64 /* others are served in between */, USERS_AT_ONCE = 4 };

struct question {
    struct question *next;
    struct reader_link *link;
    uint64_t id;
    uid_t uid; /* 0: not a user's */
    double patience, asked;
    struct loop_timer timer;
    reader_fn fn; /* NULL: who asked has gone */
    void *arg;
};

/* ---- questions ------------------------------------------------------------------------------- */

static struct question *find(struct reader_link *r, uint64_t id)
{
    struct question *q = r->first;
    while (q && q->id != id)
        q = q->next;
    return q;
}

static void question_free(struct question *q)
{
    struct question **at = &q->link->first;
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    q->link->of_users -= q->uid != 0;
    loop_timer_stop(&q->timer);
    free(q);
}

/* The last call: who is called may ask again. */
static void question_end(struct question *q, const struct reader_answer *a)
{
    struct question was = *q;
    struct reader_link *r = q->link;
    double now = loop_now(), took = now - (was.asked > r->answered ? was.asked : r->answered);
    r->answered = now;
    question_free(q);
    if (was.fn)
        was.fn(was.arg, a);
    if (was.uid != 0)
        r->calls.took(r->arg, was.uid, took);
}

static void readable(void *arg, int fd, unsigned events);

/* Where front itself was held up the answer may be there, unread. */
static void time_over(void *arg)
{
    struct question *q = arg;
    struct reader_link *r = q->link;
    uint64_t id = q->id;
    if (r->fd >= 0)
        readable(r, r->fd, LOOP_READ);
    q = find(r, id);
    if (q && !loop_timer_is_active(&q->timer))
        question_end(q, NULL);
}

void reader_forget(struct reader_link *r, uint64_t id)
{
    struct question *q = find(r, id);
    if (q)
        q->fn = NULL;
}

bool reader_is_busy(const struct reader_link *r)
{
    return r->of_users >= USERS_AT_ONCE;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* It ends, and goes to logs and terminals. */
static bool is_text(const char *text, size_t n)
{
    const char *end = memchr(text, 0, n);
    while (end && text < end && *text >= ' ' && *text <= '~')
        text++;
    return text == end;
}
#define IS_TEXT(field) is_text(field, sizeof(field))

/* The reader reads what users influence, so it may be another's by now. */
static bool is_whole(const struct reader_answer *a)
{
    const struct evidence *e = &a->evidence;
    return IS_TEXT(a->job) && IS_TEXT(a->task) && IS_TEXT(a->host) && IS_TEXT(a->grant) &&
           IS_TEXT(a->text) && IS_TEXT(e->name) && IS_TEXT(e->twice) && IS_TEXT(e->binding) &&
           e->demand.n <= DEMAND_PARTS && e->share.written.n <= DEMAND_PARTS;
}

static void take_event(struct reader_link *r, const struct reader_answer *a)
{
    if (a->head.what == READER_TASK)
        r->calls.task(r->arg, a->job, a->pid, (gid_t)a->group);
    else if (a->head.what == READER_GONE)
        r->calls.gone(r->arg, a->job);
    else if (a->head.what == READER_LOST)
        r->calls.lost(r->arg);
}

/* Its asker may have gone (reader_forget). */
static void take_answer(struct reader_link *r, const struct reader_answer *a)
{
    struct question *q = find(r, a->head.id);
    if (!q)
        return;
    if (!a->more) {
        question_end(q, a);
        return;
    }
    loop_timer_start(&q->timer, q->patience, 0);
    if (q->fn)
        q->fn(q->arg, a);
}

/* A record that is no answer counts as none: the asker waits until the time is over. */
static void tell_malformed(struct reader_link *r)
{
    if (!r->told)
        log_error("the part of mprund that reads spools says what is no answer");
    r->told = true;
}

static void drop(struct reader_link *r)
{
    loop_io_destroy(take_ptr(r->io));
    cleanup_close(&r->fd);
}

/* 0: there is no more now. */
static int take_record(struct reader_link *r)
{
    struct reader_answer a;
    AUTO_CLOSE int none = -1;
    int got = record_receive(r->fd, &a, sizeof(a), &none);
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got > 0 && is_whole(&a)) {
        if (a.head.id == 0)
            take_event(r, &a);
        else
            take_answer(r, &a);
    } else if (got > 0 || (got < 0 && errno == EPROTO)) {
        tell_malformed(r);
    } else {
        reader_link_renew(r);
        return 0;
    }
    return 1;
}

static void readable(void *arg, int fd, unsigned events)
{
    struct reader_link *r = arg;
    for (int i = 0; i < RECORDS_A_TURN && r->fd == fd && take_record(r); i++)
        ;
}

/* ---- the link -------------------------------------------------------------------------------- */

static void take_link(struct reader_link *r)
{
    r->fd = take_fd(&r->start->link[ROLE_READER]);
    if (r->fd < 0)
        return;
    r->told = false;
    (void)fd_set_nonblock(r->fd, 1);
    r->io = loop_io_create(r->loop, r->fd, LOOP_READ, readable, r);
}

/* Those who are called may ask at once: the next reader, if there is one. */
void reader_link_renew(struct reader_link *r)
{
    uint64_t last = r->last_id;
    drop(r);
    take_link(r);
    for (struct question *q = r->first; q;) {
        if (q->id <= last) {
            question_end(q, NULL);
            q = r->first;
        } else {
            q = q->next;
        }
    }
}

void reader_link_init(struct reader_link *r, struct loop *l, struct start *s,
                      const struct conf *conf, const struct reader_calls *calls, void *arg)
{
    *r = (struct reader_link){
        .loop = l, .start = s, .conf = conf, .calls = *calls, .arg = arg, .fd = -1};
    take_link(r);
}

void reader_link_close(struct reader_link *r)
{
    while (r->first)
        question_free(r->first);
    if (r->loop)
        drop(r);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int send_question(struct reader_link *r, const struct reader_request *q, int fd,
                         struct error *err)
{
    if (r->fd < 0) /* a link may have come while another was waited for */
        take_link(r);
    if (r->fd < 0)
        return error_set(err, EPIPE, "the part of mprund that reads spools is not there");
    if (record_send(r->fd, q, sizeof(*q), fd) < 0)
        return error_errno(err, errno, "ask the part of mprund that reads spools");
    return 0;
}

int reader_ask(struct reader_link *r, uid_t uid, enum reader_op what, struct reader_request *q,
               int fd, reader_fn fn, void *arg, uint64_t *ret_id, struct error *err)
{
    q->head = record_head(what, r->last_id + 1);
    if (send_question(r, q, fd, err) < 0)
        return -1;
    struct question *new = must(malloc(sizeof(*new)));
    *new = (struct question){.next = r->first,
                             .link = r,
                             .id = ++r->last_id,
                             .uid = uid,
                             .asked = loop_now(),
                             .patience = READER_PATIENCE_S +
                                         (what == READER_DEMAND ? r->conf->qstat_seconds : 0),
                             .fn = fn,
                             .arg = arg};
    loop_timer_init(&new->timer, r->loop, time_over, new);
    loop_timer_start(&new->timer, new->patience, 0);
    r->first = new;
    r->of_users += uid != 0;
    if (ret_id)
        *ret_id = new->id;
    return 0;
}
