/* SPDX-License-Identifier: BSD-3-Clause */
/* errands.c - programs that a host's starter starts for mprun, beside the step's ranks: who is told
 * what becomes of each */
#include <stdlib.h>

#include "launcher/run.h"

struct errand {
    struct errand *next;
    uint32_t id;
    struct host *host;
    errand_fn fn; /* NULL: nobody is told any more */
    void *arg;
    int outlives; /* the host's part of the step */
};

/* What an errand carries is a step's key. */
int errands_may_be_sent(const struct run *r)
{
    return r->transport != TRANSPORT_TCP || r->cmd.security == LINK_ENCRYPT;
}

uint32_t errand_send(struct host *on, Mprun__Errand *m, errand_fn fn, void *arg)
{
    struct run *r = on->run;
    struct link *l = host_link(on);
    struct errand *e = l ? calloc(1, sizeof(*e)) : NULL;
    if (!e)
        return 0;
    *e = (struct errand){.next = r->errands,
                         .id = ++r->last_errand,
                         .host = on,
                         .fn = fn,
                         .arg = arg,
                         .outlives = m->n_argv == 0};
    r->errands = e;
    on->nguests += (unsigned)e->outlives;
    m->id = e->id;
    link_send(l, FRAME_ERRAND, &m->base);
    return e->id;
}

static struct errand **find(struct run *r, uint32_t id)
{
    struct errand **at = &r->errands;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

void errand_forget(struct run *r, uint32_t id)
{
    struct errand *e = *find(r, id);
    if (e)
        e->fn = NULL;
}

static void errand_remove(struct errand **at)
{
    struct errand *e = *at;
    *at = e->next;
    e->host->nguests -= (unsigned)e->outlives;
    free(e);
}

int errands_news(struct host *h, const uint8_t *p, size_t n)
{
    Mprun__ErrandNews *m = mprun__errand_news__unpack(NULL, n, p);
    if (!m)
        return -1;
    struct errand **at = find(h->run, m->id), *e = *at;
    if (e && e->host == h) {
        errand_fn fn = e->fn;
        void *arg = e->arg;
        if (m->what == ERRAND_REFUSED || m->what == ERRAND_ENDED)
            errand_remove(at);
        if (fn)
            fn(arg, m);
    }
    mprun__errand_news__free_unpacked(m, NULL);
    return 0;
}

/* Those who are told may send others. */
void errands_host_gone(struct host *h)
{
    struct errand *e = h->run->errands;
    while (e) {
        errand_fn fn = e->host == h ? e->fn : NULL;
        e->fn = fn ? NULL : e->fn;
        if (fn)
            fn(e->arg, NULL);
        e = fn ? h->run->errands : e->next;
    }
}

void errands_free(struct run *r)
{
    while (r->errands)
        errand_remove(&r->errands);
}
