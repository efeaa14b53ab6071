/* SPDX-License-Identifier: BSD-3-Clause */
/* guests.c - another mprun of the same job has its step started by our starters
 *
 * The resource manager takes no further task on a host (adapter.h: START_LATER), and ours is there.
 * What is asked over the control socket becomes an errand of the host's starter; what that tells of
 * it goes back. Once the other step's starter has reported to its own mprun, this one is not needed
 * any more, and does not wait for it. */
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "launcher/run.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

struct guest {
    struct guest *next;
    struct run *run;
    struct link *asker;
    uint32_t asker_id; /* its number for it */
    uint32_t errand;
};

static void answer(struct link *l, uint32_t id, enum errand_news what, const char *why)
{
    Mprun__ErrandNews m = MPRUN__ERRAND_NEWS__INIT;
    m.id = id;
    m.what = what;
    m.text = bytes_of(why);
    link_send(l, FRAME_ERRAND_NEWS, &m.base);
}

static void pass_on(struct link *l, uint32_t id, const Mprun__ErrandNews *news)
{
    Mprun__ErrandNews m = MPRUN__ERRAND_NEWS__INIT;
    m.id = id;
    m.what = news->what;
    m.text = news->text;
    m.status = news->status;
    link_send(l, FRAME_ERRAND_NEWS, &m.base);
}

static void guest_remove(struct guest *g)
{
    struct guest **at = &g->run->guests;
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

static struct host *find_host(struct run *r, const ProtobufCBinaryData *name)
{
    for (size_t i = 0; i < r->nused; i++)
        if (strlen(r->launched[i]->name) == name->len &&
            memcmp(r->launched[i]->name, name->data, name->len) == 0)
            return r->launched[i];
    return NULL;
}

/* NULL: it can be; else nothing that it asks is ever done. */
static const char *why_never(struct run *r, const Mprun__Hand *m)
{
    if (strcmp(m->version, PACKAGE_VERSION) != 0)
        return "it is another version of mprun";
    if (strcmp(m->adapter, r->adapter->name) != 0 || strcmp(m->job, r->alloc.job_id) != 0)
        return "it is in another job";
    if (!errands_may_be_sent(r))
        return "its links are not encrypted";
    return NULL;
}

/* NULL: a starter of ours can be asked, *ret. */
static const char *why_not(struct run *r, const Mprun__Hand *m, struct host **ret)
{
    struct host *h = *ret = find_host(r, &m->host);
    if (!h)
        return "it is not on this host";
    if (r->killing || h->state != AGENT_READY || !host_link(h))
        return "its ranks do not run";
    return m->input.len > ERRAND_INPUT_MAX ? "too long" : NULL;
}

static int take(struct run *r, struct link *asker, const Mprun__Hand *m)
{
    struct host *h;
    Mprun__Errand e = MPRUN__ERRAND__INIT;
    const char *never = why_never(r, m), *why = never ? never : why_not(r, m, &h);
    if (!why && m->input.len == 0) {
        answer(asker, m->id, ERRAND_WILLING, "");
        return 0;
    }
    struct guest *g = why ? NULL : calloc(1, sizeof(*g));
    if (g) {
        *g = (struct guest){.next = r->guests, .run = r, .asker = asker, .asker_id = m->id};
        e.input = m->input;
        g->errand = errand_send(h, &e, news, g);
    }
    if (!g || !g->errand) {
        free(g);
        answer(asker, m->id, never ? ERRAND_NEVER : ERRAND_REFUSED, why ? why : "out of memory");
        return 0;
    }
    r->guests = g;
    log_debug("host %s: starts a starter for another step", h->name);
    return 0;
}

int guests_hand(struct run *r, struct link *asker, const uint8_t *p, size_t n)
{
    Mprun__Hand *m = mprun__hand__unpack(NULL, n, p);
    int rc = m ? take(r, asker, m) : -1;
    if (m && m->input.data)
        explicit_bzero(m->input.data, m->input.len);
    mprun__hand__free_unpacked(m, NULL);
    return rc;
}

void guests_asker_gone(struct run *r, const struct link *asker)
{
    struct guest *next;
    for (struct guest *g = r->guests; g; g = next) {
        next = g->next;
        if (g->asker != asker)
            continue;
        errand_forget(r, g->errand);
        guest_remove(g);
    }
}
