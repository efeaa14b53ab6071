/* SPDX-License-Identifier: BSD-3-Clause */
/* requests.c - a list in the order of asking: answers come in about that order: searches are short.
 */
#include "pmix-server/pmix/requests.h"

#include <stdlib.h>
#include <string.h>

#include "common/must.h"

struct request {
    TAILQ_ENTRY(request) link;
    struct requests *all;
    uint64_t id;
    struct asker asker;
    struct loop_timer timer; /* not started if there is no time limit */
};

void asker_answer(const struct asker *a, pmix_status_t status, const void *data, size_t n)
{
    if (a->op) {
        a->op(status, a->cbdata);
        return;
    }
    if (a->spawn) {
        a->spawn(status, (char *)"", a->cbdata);
        return;
    }
    if (a->lookup) {
        a->lookup(status, NULL, 0, a->cbdata);
        return;
    }
    if (a->info) {
        a->info(status, NULL, 0, a->cbdata, NULL, NULL);
        return;
    }
    if (!a->modex)
        return;
    char *copy = n ? must(malloc(n)) : NULL;
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

void requests_init(struct requests *r, struct loop *loop)
{
    r->loop = loop;
    TAILQ_INIT(&r->list);
}

static void request_timed_out(void *arg)
{
    struct request *q = arg;
    requests_answer(q->all, q->id, PMIX_ERR_TIMEOUT, NULL, 0);
}

void requests_world_ended(struct requests *r, uint32_t world)
{
    struct request *q = TAILQ_FIRST(&r->list), *next;
    for (; q; q = next) {
        next = TAILQ_NEXT(q, link);
        if (q->asker.world == world)
            requests_answer(r, q->id, PMIX_ERR_NOT_FOUND, NULL, 0);
    }
}

uint64_t requests_add(struct requests *r, const struct asker *a, double seconds)
{
    struct request *q = must(calloc(1, sizeof(*q)));
    loop_timer_init(&q->timer, r->loop, request_timed_out, q);
    q->all = r;
    q->id = ++r->last_id;
    q->asker = *a;
    TAILQ_INSERT_TAIL(&r->list, q, link);
    if (seconds)
        loop_timer_start(&q->timer, seconds, 0);
    return q->id;
}

bool requests_take(struct requests *r, uint64_t id, struct asker *ret)
{
    struct request *q = TAILQ_FIRST(&r->list);
    while (q && q->id != id)
        q = TAILQ_NEXT(q, link);
    if (!q)
        return false;
    TAILQ_REMOVE(&r->list, q, link);
    *ret = q->asker;
    loop_timer_stop(&q->timer);
    free(q);
    return true;
}

void requests_answer(struct requests *r, uint64_t id, pmix_status_t status, const void *data,
                     size_t n)
{
    struct asker asker;
    if (requests_take(r, id, &asker))
        asker_answer(&asker, status, data, n);
}
