/* SPDX-License-Identifier: BSD-3-Clause */
/* errands.c - programs that a host's starter starts for mprun, beside the step's ranks: who is told
 * what becomes of each */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "launcher/start/starter-private.h"

struct errand {
    struct errand *next;
    uint32_t id;
    struct starter *on;
    errand_fn fn; /* NULL: nobody is told any more */
    void *arg;
};

bool errands_may_be_sent(const struct step_plan *plan)
{
    return plan->transport == TRANSPORT_UNIX || plan->cmd->security == LINK_ENCRYPT;
}

uint32_t errand_send(struct starter *on, Mprun__Errand *m, errand_fn fn, void *arg)
{
    struct starters *s = on->all;
    struct errand *e = host_is_reachable(on->host) ? calloc(1, sizeof(*e)) : NULL;
    if (!e)
        return 0;
    *e =
        (struct errand){.next = s->errands, .id = ++s->last_errand, .on = on, .fn = fn, .arg = arg};
    s->errands = e;
    m->id = e->id;
    host_send(on->host, FRAME_ERRAND, &m->base);
    return e->id;
}

static struct errand **find(struct starters *s, uint32_t id)
{
    struct errand **at = &s->errands;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static void errand_remove(struct errand **at)
{
    struct errand *e = *at;
    *at = e->next;
    free(e);
}

void starters_errand_news(struct starters *s, const struct host *h, const Mprun__ErrandNews *m)
{
    struct errand **at = find(s, m->id), *e = *at;
    if (e && e->on->host == h) {
        errand_fn fn = e->fn;
        void *arg = e->arg;
        if (m->what == ERRAND_REFUSED || m->what == ERRAND_ENDED)
            errand_remove(at);
        if (fn)
            fn(arg, m);
    }
}

/* The hosts that are told may send others. */
void errands_host_gone(struct starters *s, const struct host *h)
{
    struct errand *e = s->errands;
    while (e) {
        errand_fn fn = e->on->host == h ? e->fn : NULL;
        e->fn = fn ? NULL : e->fn;
        if (fn)
            fn(e->arg, NULL);
        e = fn ? s->errands : e->next;
    }
}

void errands_close(struct starters *s)
{
    while (s->errands)
        errand_remove(&s->errands);
}
