/* SPDX-License-Identifier: BSD-3-Clause */
/* grants.c - what mprund of this host signs of the job, for the daemons of its other hosts
 *
 * Asked for when the allocation is known; hosts are started when the answer is there, or has taken
 * too long. It is only carried here, to where the manager's own daemon writes it down beside the
 * task. Without mprund, or where it signs nothing, starters are started without. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "containment/grant.h"
#include "launcher/run.h"

/* mprund answers within 5 s, mostly at once: it waits for qstat. Without a grant nothing would hold
 * the job's memory on its other hosts. */
static const double WAIT_S = 6;
enum { ANSWERS_MAX = 65536 };

struct grants_asked {
    struct run *run;
    int fd;
    int n; /* answers that have come */
    struct loop_io *io;
    struct loop_timer *timer;
    void (*then)(struct run *r);
};

static void asked_free(struct grants_asked *a)
{
    if (!a)
        return;
    loop_io_destroy(a->io);
    loop_timer_destroy(a->timer);
    close(a->fd);
    free(a);
}

void grants_ask(struct run *r)
{
    struct grant_request q;
    struct error e;
    size_t others = 0;
    for (size_t i = 0; i < r->alloc.nhosts; i++)
        others += !r->alloc.hosts[i].here;
    if (!r->adapter->carries_variables || others == 0)
        return;
    grant_request_init(&q, GRANT_TOKEN, GRANT_ANY);
    AUTO_CLOSE int fd = grant_send(NULL, &q, &e);
    if (fd < 0 && (e.code == ENOENT || e.code == ECONNREFUSED))
        return;
    if (fd < 0) {
        log_note("the job's other hosts get no grant: %s", e.text);
        return;
    }
    struct grants_asked *a = calloc(1, sizeof(*a));
    if (!a)
        return;
    *a = (struct grants_asked){.run = r, .fd = take_fd(&fd)};
    r->grants_asked = a;
}

/* To every host of that name, or of none: to those that have no grant of their own. */
static int give(struct run *r, const struct grant_answer *a)
{
    for (size_t i = 0; i < r->used.nhosts; i++) {
        const struct alloc_host *h = &r->used.hosts[i];
        if (h->here || r->grants[i] || (a->host[0] && strcmp(a->host, h->name) != 0))
            continue;
        if (asprintf(&r->grants[i], GRANT_VARIABLE "=%s", a->token) < 0) {
            r->grants[i] = NULL;
            return -1;
        }
    }
    return 0;
}

/* It goes through a command line, where blanks, commas and the like would mean something. */
static int is_plain(const char *token)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    return *token && strspn(token, letters) == strlen(token);
}

/* 1: that was the last one. 0: more are to come. */
static int take_one(struct grants_asked *asked, struct error *err)
{
    struct grant_answer a;
    if (grant_receive(asked->fd, 0, &a, err) < 0)
        return err->code == EAGAIN ? 0 : -1;
    if ((a.result != GRANT_OK && a.result != GRANT_MORE) || !is_plain(a.token))
        return error_set(err, a.result == GRANT_REFUSED ? EPERM : EPROTO, "mprund says: %s",
                         a.text);
    if (give(asked->run, &a) < 0)
        return error_errno(err, ENOMEM, "keep a grant");
    if (a.result == GRANT_MORE && ++asked->n == ANSWERS_MAX)
        return error_set(err, EPROTO, "mprund does not come to an end");
    return a.result == GRANT_OK;
}

/* why NULL: all have come. What a site does not sign is no news to its users. */
static void over(struct grants_asked *asked, const struct error *why)
{
    struct run *r = asked->run;
    void (*then)(struct run *) = asked->then;
    asked_free(take_ptr(r->grants_asked));
    if (why && why->code == EPERM)
        log_debug("the job's other hosts get no grant: %s", why->text);
    else if (why)
        log_note("the job's other hosts get no grant, and have the limits of memory that their "
                 "own daemons find: %s",
                 why->text);
    then(r);
}

static void readable(void *arg, int fd, unsigned events)
{
    struct grants_asked *asked = arg;
    struct error e;
    int rc = take_one(asked, &e);
    if (rc != 0)
        over(asked, rc < 0 ? &e : NULL);
}

static void too_late(void *arg)
{
    struct error e;
    error_set(&e, ETIMEDOUT, "mprund has not answered within %g s", WAIT_S);
    over(arg, &e);
}

void grants_await(struct run *r, void (*then)(struct run *r))
{
    struct grants_asked *a = r->grants_asked;
    struct error e;
    if (!a) {
        then(r);
        return;
    }
    a->then = then;
    r->grants = calloc(r->used.nhosts + 1, sizeof(*r->grants));
    a->io = loop_io_create(r->loop, a->fd, LOOP_READ, readable, a);
    a->timer = loop_timer_create(r->loop, too_late, a);
    if (r->grants && a->io && a->timer) {
        loop_timer_start(a->timer, WAIT_S, 0);
        return;
    }
    error_errno(&e, ENOMEM, "wait for mprund");
    over(a, &e);
}

int grants_forget(struct run *r)
{
    int waits = r->grants_asked && r->grants_asked->then;
    asked_free(take_ptr(r->grants_asked));
    return waits;
}

void grants_free(struct run *r)
{
    for (size_t i = 0; r->grants && i < r->used.nhosts; i++)
        free(r->grants[i]);
    free(take_ptr(r->grants));
    grants_forget(r);
}
