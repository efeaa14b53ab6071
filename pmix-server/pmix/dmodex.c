/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmix/requests.h"

#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "pmix-server/server.h"
#include "pmix-server/world.h"

struct want_item { /* out: from the library to mprun */
    struct bridge_item item;
    pmix_proc_t proc;
    int seconds;
    struct asker asker;
};

struct serve { /* in: the rank that asks; lives until the library has the data */
    struct server *server;
    uint64_t id;
    uint32_t from_host, from_step;
};

struct found_item {
    struct bridge_item item;
    struct serve serve;
    pmix_status_t status;
    size_t n;
    uint8_t data[];
};

/* In the library's thread. */
static void forgotten(pmix_status_t status, void *cbdata)
{
}

/* In the library's thread, which handles no message of a rank between the two calls. */
static void answer_unknown(pmix_status_t status, void *cbdata)
{
    struct want_item *q = cbdata;
    asker_answer(&q->asker, PMIX_ERR_NOT_FOUND, NULL, 0);
    PMIx_server_deregister_nspace(q->proc.nspace, forgotten, NULL);
    free(q);
}

static void want_run(struct bridge_item *item, struct server *s)
{
    struct want_item *q = (struct want_item *)item;
    const struct world *w = server_nspace(s, q->proc.nspace);
    if (!w) {
        /* The library keeps a namespace that it has asked for, also after the answer, as one whose
         * ranks are still to come, and a connect would wait for them. So have it forget the
         * namespace, before the rank that has asked can begin a connect. */
        static const pmix_nspace_t nobodys = "-"; /* only to be called in the library's thread */
        PMIx_server_deregister_nspace(nobodys, answer_unknown, q);
        return;
    }
    if (world_node_of(w, q->proc.rank) < 0 || world_is_local(w, q->proc.rank)) {
        asker_answer(&q->asker, PMIX_ERR_NOT_FOUND, NULL, 0);
        free(q);
        return;
    }
    q->asker.world = w->number;
    Mprun__RankName name = MPRUN__RANK_NAME__INIT;
    name.world = w->number;
    name.rank = q->proc.rank;
    Mprun__ModexRequest m = MPRUN__MODEX_REQUEST__INIT;
    m.id = requests_add(&s->requests, &q->asker, q->seconds);
    m.name = &name;
    link_send(s->link, FRAME_MODEX_REQUEST, &m.base);
    free(q);
}

pmix_status_t dmodex_upcall(struct server *s, const pmix_proc_t *proc, const pmix_info_t *info,
                            size_t ninfo, const struct asker *asker)
{
    struct want_item *q = must(malloc(sizeof(*q)));
    *q = (struct want_item){.item.run = want_run,
                            .proc = *proc,
                            .seconds = asker_timeout(info, ninfo),
                            .asker = *asker};
    bridge_post(&s->bridge, &q->item);
    return PMIX_SUCCESS;
}

void dmodex_answer(struct server *s, const Mprun__ModexReply *m)
{
    requests_answer(&s->requests, m->id, m->status, m->data.data, m->data.len);
}

static void send_reply(const struct serve *to, pmix_status_t status, const uint8_t *data, size_t n)
{
    Mprun__ModexReply m = MPRUN__MODEX_REPLY__INIT;
    m.id = to->id;
    m.status = status;
    m.data = (ProtobufCBinaryData){n, (uint8_t *)data};
    m.to_host = to->from_host;
    m.to_step = to->from_step;
    link_send(to->server->link, FRAME_MODEX_REPLY, &m.base);
}

static void found_run(struct bridge_item *item, struct server *s)
{
    struct found_item *f = (struct found_item *)item;
    send_reply(&f->serve, f->status, f->data, f->n);
    free(f);
}

/* In the library's thread; the library owns data. */
static void found(pmix_status_t status, char *data, size_t n, void *cbdata)
{
    struct serve *serve = cbdata;
    struct found_item *f = must(malloc(sizeof(*f) + n));
    f->item.run = found_run;
    f->serve = *serve;
    f->status = status;
    f->n = n;
    if (n)
        memcpy(f->data, data, n);
    bridge_post(&serve->server->bridge, &f->item);
    free(serve);
}

void dmodex_serve(struct server *s, const Mprun__ModexRequest *m)
{
    struct serve asked = {s, m->id, m->from_host, m->from_step};
    const struct world *w = m->name ? world_by_number(s->worlds, m->name->world) : NULL;
    if (!w || !world_is_local(w, m->name->rank)) {
        send_reply(&asked, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    struct serve *serve = must(malloc(sizeof(*serve)));
    *serve = asked;
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, w->nspace, m->name->rank);
    pmix_status_t rc = PMIx_server_dmodex_request(&proc, found, serve);
    if (rc != PMIX_SUCCESS) {
        free(serve);
        send_reply(&asked, rc, NULL, 0);
    }
}
