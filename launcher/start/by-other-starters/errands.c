/* SPDX-License-Identifier: BSD-3-Clause */
/* errands.c - programs that a host's starter starts for mprun, beside the step's ranks: who is told
 * what becomes of each; among them starters of another mprun of the same job
 *
 * The resource manager takes no further task on a host (adapter.h: START_LATER), and ours is there.
 * A request on the control socket becomes an errand of the host's starter; the starter's news of it
 * go back to the mprun that asked. Once the other step's starter has reported to its own mprun, it
 * does not need this mprun any more, and this mprun does not wait for it. */
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
    bool outlives; /* the host's part of the step */
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
    *e = (struct errand){.next = s->errands,
                         .id = ++s->last_errand,
                         .on = on,
                         .fn = fn,
                         .arg = arg,
                         .outlives = m->n_argv == 0};
    s->errands = e;
    on->nguests += e->outlives;
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

static void errand_forget(struct starters *s, uint32_t id)
{
    struct errand *e = *find(s, id);
    if (e)
        e->fn = NULL;
}

static void errand_remove(struct errand **at)
{
    struct errand *e = *at;
    *at = e->next;
    e->on->nguests -= e->outlives;
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

/* ---- for other steps of the job -------------------------------------------------------------- */

struct guest {
    struct guest *next;
    struct starters *starters;
    struct link *asker;
    uint32_t asker_id; /* its number for it */
    uint32_t errand;
};

static void pass_on(struct link *l, uint32_t id, const Mprun__ErrandNews *news)
{
    Mprun__ErrandNews m = MPRUN__ERRAND_NEWS__INIT;
    m.id = id;
    m.what = news->what;
    m.text = news->text;
    m.status = news->status;
    link_send(l, FRAME_ERRAND_NEWS, &m.base);
}

static void answer(struct link *l, uint32_t id, enum errand_news what, const char *why)
{
    pass_on(l, id, &(Mprun__ErrandNews){.what = what, .text = bytes_of(why)});
}

static void guest_remove(struct guest *g)
{
    struct guest **at = &g->starters->guests;
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    free(g);
}

static void news(void *arg, const Mprun__ErrandNews *m)
{
    struct guest *g = arg;
    if (m)
        pass_on(g->asker, g->asker_id, m);
    else
        answer(g->asker, g->asker_id, ERRAND_REFUSED, "the host's starter has gone");
    if (!m || m->what == ERRAND_REFUSED || m->what == ERRAND_ENDED)
        guest_remove(g);
}

static struct host *find_host(struct starters *s, const ProtobufCBinaryData *name)
{
    for (size_t i = 0; i < s->plan->nused; i++)
        if (strlen(s->of[i].host->name) == name->len &&
            memcmp(s->of[i].host->name, name->data, name->len) == 0)
            return s->of[i].host;
    return NULL;
}

static bool is_stranger(struct starters *s, const Mprun__Hand *m)
{
    return strcmp(m->adapter, s->plan->adapter->name) != 0 ||
           strcmp(m->job, s->plan->alloc.job_id) != 0;
}

/* Why nothing that it asks is ever done, and what its user can do; "": it can be. */
static void why_never(struct starters *s, const Mprun__Hand *m, char *buf, size_t n)
{
    buf[0] = 0;
    if (strcmp(m->version, PACKAGE_VERSION) != 0)
        snprintf(buf, n,
                 "it is mprun version %s, this one is version %.40s; use one version for all steps "
                 "of a job, or run them one after the other",
                 PACKAGE_VERSION, m->version);
    else if (!errands_may_be_sent(s->plan))
        snprintf(buf, n,
                 "its links are not encrypted; leave out its --link-security, or run the steps one "
                 "after the other");
}

/* NULL: a starter of that host, which is ours, can be asked. */
static const char *why_not(struct starters *s, const Mprun__Hand *m, struct host *h)
{
    if (verdict_is_ending(s->step.verdict) || h->state != AGENT_READY || !host_is_reachable(h))
        return "its ranks do not run";
    return m->input.len > ERRAND_INPUT_MAX ? "too long" : NULL;
}

/* Is it to be done? 0 when it is answered. */
static bool is_accepted(struct starters *s, struct link *asker, const Mprun__Hand *m,
                        struct host *h)
{
    char never[200];
    if (is_stranger(s, m)) {
        answer(asker, m->id, ERRAND_STRANGER, "it is in another job");
        return false;
    }
    if (!h) {
        answer(asker, m->id, ERRAND_REFUSED, "it is not on this host");
        return false;
    }
    why_never(s, m, never, sizeof(never));
    const char *why = never[0] ? never : why_not(s, m, h);
    if (why)
        answer(asker, m->id, never[0] ? ERRAND_NEVER : ERRAND_REFUSED, why);
    else if (m->input.len == 0)
        answer(asker, m->id, ERRAND_WILLING, "");
    return !why && m->input.len > 0;
}

static int take(struct starters *s, struct link *asker, const Mprun__Hand *m)
{
    struct host *h = find_host(s, &m->host);
    Mprun__Errand e = MPRUN__ERRAND__INIT;
    if (!is_accepted(s, asker, m, h))
        return 0;
    struct guest *g = calloc(1, sizeof(*g));
    if (g) {
        *g = (struct guest){.next = s->guests, .starters = s, .asker = asker, .asker_id = m->id};
        e.input = m->input;
        g->errand = errand_send(starter_of(s, h), &e, news, g);
    }
    if (!g || !g->errand) {
        free(g);
        answer(asker, m->id, ERRAND_REFUSED, "out of memory");
        return 0;
    }
    s->guests = g;
    log_debug("host %s: starts a starter for another step", h->name);
    return 0;
}

int starters_hand(struct starters *s, struct link *asker, const uint8_t *p, size_t n)
{
    Mprun__Hand *m = mprun__hand__unpack(NULL, n, p);
    int rc = m ? take(s, asker, m) : -1;
    if (m && m->input.data)
        explicit_bzero(m->input.data, m->input.len);
    mprun__hand__free_unpacked(m, NULL);
    return rc;
}

void starters_asker_gone(struct starters *s, const struct link *asker)
{
    struct guest *next;
    for (struct guest *g = s->guests; g; g = next) {
        next = g->next;
        if (g->asker != asker)
            continue;
        errand_forget(s, g->errand);
        guest_remove(g);
    }
}
