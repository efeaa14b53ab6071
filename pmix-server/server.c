/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/must.h"
#include "common/cleanup.h"
#include "pmix-server/tunables.h"
#include "pmix-server/world.h"
#include "wire/messages/values.h"

int server_open(struct server *s, int fd, const struct link_events *events, struct error *err)
{
    static const struct link_options options = {.role = LINK_TRUSTED};
    s->loop = loop_create(err);
    if (!s->loop || bridge_init(&s->bridge, s->loop, s, err) < 0)
        return -1;
    requests_init(&s->requests, s->loop);
    s->link = link_create(s->loop, fd, fd, &options, "mpstarter", events, s, err);
    return s->link ? 0 : -1;
}

int server_init(struct server *s, const Mprun__PmiInit *m, struct error *err)
{
    if (s->directory)
        return error_set(err, EEXIST, "start the PMIx library: it is running already");
    s->directory = bytes_dup(&m->directory);
    s->hostname = bytes_dup(&m->hostname);
    s->step_id = bytes_dup(&m->step_id);
    if (m->n_variables)
        s->given_variables = strings_unpack(m->variables, m->n_variables);
    if (!s->directory || !s->hostname || !s->step_id || (m->n_variables && !s->given_variables))
        return error_set(err, EINVAL, "start the PMIx library: a name has a NUL in it");
    if (s->directory[0] != '/' || !s->hostname[0])
        return error_set(err, EINVAL, "start the PMIx library: no directory, or no name, given");
    return 0;
}

void server_add_world(struct server *s, struct world *w)
{
    struct world **list = world_is_other(w) ? &s->others : &s->worlds;
    w->next = *list;
    *list = w;
}

struct world *server_world(const struct server *s, uint32_t number)
{
    return world_by_number(number & WORLD_OF_OTHER_STEP ? s->others : s->worlds, number);
}

struct world *server_nspace(const struct server *s, const char *nspace)
{
    struct world *w = world_by_nspace(s->worlds, nspace);
    return w ? w : world_by_nspace(s->others, nspace);
}

/* Once server.worlds has a world, it always has one. */
struct world *server_take_world(struct server *s, uint32_t number)
{
    bool is_other = number & WORLD_OF_OTHER_STEP;
    for (struct world **at = is_other ? &s->others : &s->worlds; *at && (is_other || (*at)->next);
         at = &(*at)->next)
        if ((*at)->number == number) {
            struct world *w = *at;
            *at = w->next;
            return w;
        }
    return NULL;
}

void server_had_client(struct server *s)
{
    s->had_clients = true;
}

void server_lose(struct server *s)
{
    s->exit_code = 1;
    loop_stop(s->loop);
}

void server_hold(struct server *s)
{
    s->busy++;
}

void server_release(struct server *s)
{
    s->busy--;
    if (s->ending)
        server_end(s);
}

void server_end(struct server *s)
{
    s->ending = true;
    if (!s->busy)
        loop_stop(s->loop);
}

/* ---- what the starter is told ---------------------------------------------------------------- */

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

void server_tell_client(const struct server *s, const struct world *w, uint32_t rank, int connected)
{
    Mprun__RankName name = name_of(w, rank);
    Mprun__PmiClient m = MPRUN__PMI_CLIENT__INIT;
    m.name = &name;
    m.connected = connected;
    send_now(s, FRAME_PMI_CLIENT, &m.base);
}

void server_tell_abort(const struct server *s, const struct world *w, uint32_t rank, int code,
                       const char *text, Mprun__RankName **ranks, size_t n_ranks)
{
    Mprun__RankName name = name_of(w, rank);
    Mprun__Aborted m = MPRUN__ABORTED__INIT;
    m.name = &name;
    char ascii[ABORT_TEXT_MAX];
    size_t n = strnlen(text, sizeof(ascii) - 1);
    /* the schema's strings are UTF-8, but a rank's text can be any bytes */
    for (size_t i = 0; i < n; i++)
        ascii[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    ascii[n] = 0;
    m.code = code;
    m.text = ascii;
    m.n_ranks = n_ranks;
    m.ranks = ranks;
    send_now(s, FRAME_ABORTED, &m.base);
}

void server_tell_output(const struct server *s, const struct world *w, uint32_t rank,
                        unsigned stream, const void *text, size_t n)
{
    struct bulk_header h = {.name = {.world = w->number, .rank = rank},
                            .stream = (uint8_t)stream,
                            .time_ns = loop_wallclock_ns()};
    AUTO_FREE uint8_t *frame = must(malloc(BULK_HEADER + n));
    bulk_header_pack(&h, frame);
    memcpy(frame + BULK_HEADER, text, n);
    link_send_bytes(s->link, FRAME_OUTPUT, frame, BULK_HEADER + n);
}

struct gone_item {
    struct bridge_item item;
    Mprun__RankName name;
};

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

/* Does not tell the library, which sees the connection end: if it no longer knew the client, it
 * would not tell the others of that end. */
void server_tell_gone(struct server *s, Mprun__RankName *name)
{
    if (bridge_is_empty(&s->bridge)) {
        send_gone(s, name);
        return;
    }
    struct gone_item *g = must(calloc(1, sizeof(*g)));
    g->item.run = gone_run;
    rank_name_pack(rank_name_unpack(name), &g->name);
    bridge_post(&s->bridge, &g->item);
}

void server_fail(struct server *s, const struct error *err)
{
    log_debug("%s", err->text); /* the starter reports it */
    Mprun__PmiFailed m = MPRUN__PMI_FAILED__INIT;
    m.text = (char *)err->text;
    send_now(s, FRAME_PMI_FAILED, &m.base);
    server_lose(s);
}
