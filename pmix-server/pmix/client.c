/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmix/client.h"

#include <stdlib.h>

#include "pmix-server/server.h"
#include "pmix-server/world.h"
#include "wire/messages/values.h"

struct gone_item {
    struct bridge_item item;
    Mprun__RankName name;
};

static void send_now(const struct server *s, enum frame_type type, const ProtobufCMessage *m)
{
    link_send(s->link, type, m);
    link_flush(s->link);
}

static Mprun__RankName name_of(const struct world *w, uint32_t rank)
{
    Mprun__RankName name;
    rank_name_pack((struct rank_name){.world = w->number, .rank = rank}, &name);
    return name;
}

void client_tell(const struct server *s, const struct world *w, uint32_t rank, int connected)
{
    Mprun__RankName name = name_of(w, rank);
    Mprun__PmiClient m = MPRUN__PMI_CLIENT__INIT;
    m.name = &name;
    m.connected = connected;
    send_now(s, FRAME_PMI_CLIENT, &m.base);
}

void client_tell_abort(const struct server *s, const struct world *w, uint32_t rank, int code,
                       const char *text)
{
    Mprun__RankName name = name_of(w, rank);
    Mprun__Aborted m = MPRUN__ABORTED__INIT;
    m.name = &name;
    m.code = code;
    m.text = (char *)text;
    send_now(s, FRAME_ABORTED, &m.base);
}

static void send_gone(const struct server *s, Mprun__RankName *name)
{
    Mprun__PmiGone m = MPRUN__PMI_GONE__INIT;
    m.name = name;
    send_now(s, FRAME_PMI_GONE, &m.base);
}

static void gone_run(struct bridge_item *item, struct server *s)
{
    struct gone_item *g = (struct gone_item *)item;
    send_gone(s, &g->name);
    free(g);
}

/* The library is not told: it sees the connection go, and a client it no longer knows would keep
 * the others from being told. */
void client_gone(struct server *s, Mprun__RankName *name)
{
    if (bridge_is_empty(&s->bridge)) {
        send_gone(s, name);
        return;
    }
    struct gone_item *g = calloc(1, sizeof(*g));
    if (!g)
        return;
    g->item.run = gone_run;
    rank_name_pack(rank_name_unpack(name), &g->name);
    bridge_post(&s->bridge, &g->item);
}
