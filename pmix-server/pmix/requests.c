/* SPDX-License-Identifier: BSD-3-Clause */
/* A list in the order of asking: answers come in about that order, so searches end early. */
#include "pmix-server/pmix/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pmix.h>

struct request {
    struct request *next;
    struct requests *all;
    uint64_t id;
    struct asker asker;
    struct loop_timer timer; /* not started without a time limit */
};

struct requests {
    struct loop *loop;
    struct request *first, **last;
    uint64_t last_id;
};

void asker_answer(const struct asker *a, pmix_status_t status, const void *data, size_t n)
{
    if (a->op) {
        a->op(status, a->cbdata);
        return;
    }
    if (!a->modex)
        return;
    char *copy = n ? malloc(n) : NULL;
    if (n && !copy) {
        a->modex(PMIX_ERR_NOMEM, NULL, 0, a->cbdata, NULL, NULL);
        return;
    }
    if (n)
        memcpy(copy, data, n);
    a->modex(status, copy, n, a->cbdata, free, copy);
}

int asker_timeout(const pmix_info_t *info, size_t ninfo)
{
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_TIMEOUT) && info[i].value.type == PMIX_INT &&
            info[i].value.data.integer > 0)
            return info[i].value.data.integer;
    return 0;
}

struct requests *requests_create(struct loop *loop, struct error *err)
{
    struct requests *r = calloc(1, sizeof(*r));
    if (!r) {
        error_errno(err, ENOMEM, "make the list of requests");
        return NULL;
    }
    r->loop = loop;
    r->last = &r->first;
    return r;
}

static struct request *request_unlink(struct requests *r, struct request **at)
{
    struct request *q = *at;
    *at = q->next;
    if (r->last == &q->next)
        r->last = at;
    return q;
}

static void request_destroy(struct request *q)
{
    loop_timer_stop(&q->timer);
    free(q);
}

static void request_timed_out(void *arg)
{
    struct request *q = arg;
    requests_answer(q->all, q->id, PMIX_ERR_TIMEOUT, NULL, 0);
}

uint64_t requests_add(struct requests *r, const struct asker *a, int seconds)
{
    struct request *q = calloc(1, sizeof(*q));
    if (!q) {
        asker_answer(a, PMIX_ERR_NOMEM, NULL, 0);
        return 0;
    }
    loop_timer_init(&q->timer, r->loop, request_timed_out, q);
    q->all = r;
    q->id = ++r->last_id;
    q->asker = *a;
    *r->last = q;
    r->last = &q->next;
    if (seconds)
        loop_timer_start(&q->timer, seconds, 0);
    return q->id;
}

void requests_answer(struct requests *r, uint64_t id, pmix_status_t status, const void *data,
                     size_t n)
{
    for (struct request **at = &r->first; *at; at = &(*at)->next) {
        if ((*at)->id != id)
            continue;
        struct request *q = request_unlink(r, at);
        asker_answer(&q->asker, status, data, n);
        request_destroy(q);
        return;
    }
}
