/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/reader/questions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "node-daemon/reader/ge-config.h"
#include "node-daemon/reader/inquiry.h"

struct asked {
    struct asked *next;
    uint64_t id;
    char job[GRANT_JOB_MAX];
};

static void fail(const struct demands *d, uint64_t id, const struct error *err)
{
    struct reader_answer a;
    reply_init(&a, READER_DEMAND, id);
    reply_fail(&a, err);
    d->fn(d->arg, &a);
}

/* The first that asked about this job; NULL: nobody waits any more. */
static struct asked *take_asked(struct demands *d, const char *job)
{
    for (struct asked **at = &d->first; *at; at = &(*at)->next)
        if (!strcmp((*at)->job, job)) {
            struct asked *found = *at;
            *at = found->next;
            return found;
        }
    return NULL;
}

static void answered(void *arg, const char *job, const struct demand *demand,
                     const struct error *err)
{
    struct demands *d = arg;
    struct reader_answer a;
    AUTO_FREE struct asked *q = take_asked(d, job);
    if (!q)
        return;
    if (!demand) {
        fail(d, q->id, err);
        return;
    }
    reply_init(&a, READER_DEMAND, q->id);
    demand_put(demand, a.demand);
    d->fn(d->arg, &a);
}

void demands_open(struct demands *d, struct loop *l, const struct conf *conf, reply_fn fn,
                  void *arg)
{
    *d = (struct demands){.conf = conf, .fn = fn, .arg = arg};
    d->inquiries = inquiries_create(l, conf, NULL, answered, d);
}

void demands_forget(struct demands *d)
{
    for (struct asked *next; d->first; d->first = next) {
        next = d->first->next;
        free(d->first);
    }
}

void demands_close(struct demands *d)
{
    inquiries_destroy(d->inquiries);
    demands_forget(d);
}

static int ask(struct demands *d, const struct reader_request *q, struct error *err)
{
    if (q->manager != GRANT_GRIDENGINE || !d->conf->ge_qstat)
        return error_set(err, ENOTSUP, "there is no qstat in mprund's configuration");
    if (!ge_is_job(q->job))
        return error_set(err, EINVAL, "'%s' is no job of Grid Engine's", q->job);
    struct asked **last = &d->first;
    while (*last)
        last = &(*last)->next;
    *last = must(calloc(1, sizeof(**last)));
    (*last)->id = q->head.id;
    memcpy((*last)->job, q->job, sizeof((*last)->job));
    if (inquiries_ask(d->inquiries, q->job, err) == 0) /* it may have been answered already */
        return 0;
    free(take_ptr(*last));
    return -1;
}

void demands_ask(struct demands *d, const struct reader_request *q)
{
    struct error e;
    if (ask(d, q, &e) < 0)
        fail(d, q->head.id, &e);
}
