/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmix/client.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <pmix.h>

#include "pmix-server/server.h"
#include "pmix-server/thread-bridge.h"
#include "pmix-server/world.h"
#include "wire/messages/values.h"

struct client_item {
    struct bridge_item item;
    struct server *server;
    pmix_proc_t proc;
    int connected;
    pmix_op_cbfunc_t cbfunc;
    void *cbdata;
};

/* In the library's thread. A rank that could not be registered cannot connect, and says so. */
static void noted(pmix_status_t status, void *cbdata)
{
}

static int register_one(const struct world *w, uint32_t rank, struct error *err)
{
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, w->nspace, rank);
    pmix_status_t rc = PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, noted, NULL);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        return error_set(err, EIO, "register rank %u with the PMIx library: %s", rank,
                         PMIx_Error_string(rc));
    return 0;
}

int clients_register(const struct world *w, struct error *err)
{
    const struct rank_set *here = world_local_ranks(w);
    for (uint32_t i = 0; i < rank_set_count(here); i++)
        if (register_one(w, rank_set_at(here, i).rank, err) < 0)
            return -1;
    return 0;
}

struct gone_item {
    struct bridge_item item;
    struct server *server;
    Mprun__RankName name;
};

static void send_gone(const struct server *s, Mprun__RankName *name)
{
    Mprun__PmiGone m = MPRUN__PMI_GONE__INIT;
    m.name = name;
    link_send(s->link, FRAME_PMI_GONE, &m.base);
    link_flush(s->link);
}

static void gone_run(struct bridge_item *item)
{
    struct gone_item *g = (struct gone_item *)item;
    send_gone(g->server, &g->name);
    free(g);
}

/* The library is not told: it sees the connection go, and a client it no longer knows would keep
 * the others from being told. */
void client_gone(struct server *s, Mprun__RankName *name)
{
    if (bridge_is_empty(s->bridge)) {
        send_gone(s, name);
        return;
    }
    struct gone_item *g = calloc(1, sizeof(*g));
    if (!g)
        return;
    g->item.run = gone_run;
    g->server = s;
    rank_name_pack(rank_name_unpack(name), &g->name);
    bridge_post(s->bridge, &g->item);
}

void client_tell(const struct server *s, const struct world *w, uint32_t rank, int connected)
{
    Mprun__RankName name = MPRUN__RANK_NAME__INIT;
    name.world = w->number;
    name.rank = rank;
    Mprun__PmiClient m = MPRUN__PMI_CLIENT__INIT;
    m.name = &name;
    m.connected = connected;
    link_send(s->link, FRAME_PMI_CLIENT, &m.base);
    link_flush(s->link);
}

static void client_run(struct bridge_item *item)
{
    struct client_item *c = (struct client_item *)item;
    const struct world *w = world_by_nspace(c->server->worlds, c->proc.nspace);
    if (c->connected)
        server_had_client(c->server);
    if (w)
        client_tell(c->server, w, c->proc.rank, c->connected);
    if (c->cbfunc)
        c->cbfunc(PMIX_SUCCESS, c->cbdata);
    free(c);
}

pmix_status_t client_upcall(struct server *s, const pmix_proc_t *proc, int connected,
                            pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    struct client_item *c = calloc(1, sizeof(*c));
    if (!c)
        return PMIX_ERR_NOMEM;
    *c = (struct client_item){.item.run = client_run,
                              .server = s,
                              .proc = *proc,
                              .connected = connected,
                              .cbfunc = cbfunc,
                              .cbdata = cbdata};
    bridge_post(s->bridge, &c->item);
    return PMIX_SUCCESS;
}
