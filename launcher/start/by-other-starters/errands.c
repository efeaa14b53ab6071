/* SPDX-License-Identifier: BSD-3-Clause */
/* errands.c - programs that a host's starter starts for mprun, beside the step's ranks: who is told
 * what becomes of each */
#include <stdlib.h>

#include "launcher/hosts/host-links.h"
#include "launcher/start/by-other-starters/by-other-starters.h"

struct errand {
    struct errand *next;
    uint32_t id;
    struct host *host;
    errand_fn fn; /* NULL: nobody is told any more */
    void *arg;
    int outlives; /* the host's part of the step */
};

struct errands {
    struct errand *all;
    uint32_t last;
    unsigned *nguests; /* by launch_index: other steps' starters that live with the host */
};

struct errands *errands_create(size_t nhosts)
{
    struct errands *e = calloc(1, sizeof(*e));
    if (e && !(e->nguests = calloc(nhosts, sizeof(*e->nguests)))) {
        free(e);
        e = NULL;
    }
    return e;
}

bool errands_may_be_sent(const struct step_plan *plan)
{
    return plan->transport != TRANSPORT_TCP || plan->cmd->security == LINK_ENCRYPT;
}

bool errands_has_guests(const struct errands *e, const struct host *h)
{
    return e->nguests[h->launch_index] > 0;
}

uint32_t errand_send(struct errands *all, struct host *on, Mprun__Errand *m, errand_fn fn,
                     void *arg)
{
    struct errand *e = host_is_reachable(on) ? calloc(1, sizeof(*e)) : NULL;
    if (!e)
        return 0;
    *e = (struct errand){.next = all->all,
                         .id = ++all->last,
                         .host = on,
                         .fn = fn,
                         .arg = arg,
                         .outlives = m->n_argv == 0};
    all->all = e;
    all->nguests[on->launch_index] += (unsigned)e->outlives;
    m->id = e->id;
    host_send(on, FRAME_ERRAND, &m->base);
    return e->id;
}

static struct errand **find(struct errands *all, uint32_t id)
{
    struct errand **at = &all->all;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

void errand_forget(struct errands *all, uint32_t id)
{
    struct errand *e = *find(all, id);
    if (e)
        e->fn = NULL;
}

static void errand_remove(struct errands *all, struct errand **at)
{
    struct errand *e = *at;
    *at = e->next;
    all->nguests[e->host->launch_index] -= (unsigned)e->outlives;
    free(e);
}

void errands_news(struct errands *all, const struct host *h, const Mprun__ErrandNews *m)
{
    struct errand **at = find(all, m->id), *e = *at;
    if (e && e->host == h) {
        errand_fn fn = e->fn;
        void *arg = e->arg;
        if (m->what == ERRAND_REFUSED || m->what == ERRAND_ENDED)
            errand_remove(all, at);
        if (fn)
            fn(arg, m);
    }
}

/* Those who are told may send others. */
void errands_host_gone(struct errands *all, const struct host *h)
{
    struct errand *e = all->all;
    while (e) {
        errand_fn fn = e->host == h ? e->fn : NULL;
        e->fn = fn ? NULL : e->fn;
        if (fn)
            fn(e->arg, NULL);
        e = fn ? all->all : e->next;
    }
}

void errands_destroy(struct errands *all)
{
    if (!all)
        return;
    while (all->all)
        errand_remove(all, &all->all);
    free(all->nguests);
    free(all);
}
