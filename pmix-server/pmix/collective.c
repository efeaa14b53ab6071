/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmix/requests.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/idset.h"
#include "pmix-server/server.h"
#include "pmix-server/tunables.h"
#include "pmix-server/world.h"
#include "wire/little-endian.h"

struct collective_item {
    struct bridge_item item;
    enum collective kind;
    struct asker asker;
    double seconds;
    char name[GROUP_NAME_MAX + 1]; /* of a group; else "" */
    size_t nprocs, ndata;
    pmix_proc_t procs[]; /* then the data */
};

struct participant {
    uint32_t world, rank;
};

enum { PARTICIPANT_SIZE = 8 };

static const uint8_t *item_data(const struct collective_item *c)
{
    return (const uint8_t *)&c->procs[c->nprocs];
}

static int add_participant(const struct server *s, const pmix_proc_t *proc, struct participant *ret,
                           struct idset *hosts)
{
    const struct world *w = world_by_nspace(s->worlds, proc->nspace);
    if (!w)
        return -1;
    *ret = (struct participant){w->number, proc->rank};
    return proc->rank == PMIX_RANK_WILDCARD ? world_add_all_hosts(w, hosts)
                                            : world_add_host(w, proc->rank, hosts);
}

static int participant_order(const void *a, const void *b)
{
    const struct participant *x = a, *y = b;
    if (x->world != y->world)
        return x->world < y->world ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Sorts p. */
static void write_signature(const struct collective_item *c, struct participant *p, uint8_t *to)
{
    qsort(p, c->nprocs, sizeof(*p), participant_order);
    *to++ = (uint8_t)c->kind;
    for (size_t i = 0; i < c->nprocs; i++, to += PARTICIPANT_SIZE) {
        put32(to, p[i].world);
        put32(to + 4, p[i].rank);
    }
    memcpy(to, c->name, strlen(c->name));
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* The collectives of one signature so far. Freed with the first world that has a participant. */
struct turn {
    struct turn *next;
    uint64_t used, answered; /* turns that were begun, and ended */
    struct buffer waiting;   /* requests (uint64_t) of the turns between */
    size_t nsignature;
    uint8_t signature[];
};

static struct turn *find_turn(const struct collectives *c, const uint8_t *signature, size_t n)
{
    struct turn *t = c->turns;
    while (t && (t->nsignature != n || memcmp(t->signature, signature, n) != 0))
        t = t->next;
    return t;
}

static struct turn *turn_of(struct collectives *c, const uint8_t *signature, size_t n)
{
    struct turn *t = find_turn(c, signature, n);
    if (t)
        return t;
    t = calloc(1, sizeof(*t) + n);
    if (!t)
        return NULL;
    memcpy(t->signature, signature, n);
    t->nsignature = n;
    t->next = c->turns;
    c->turns = t;
    return t;
}

/* Answers come in the order of turns; one that does not is for nobody. */
static uint64_t turn_take(struct turn *t, uint64_t turn)
{
    uint64_t id;
    if (!t || turn != t->answered || t->answered == t->used)
        return 0;
    memcpy(&id, buffer_ptr(&t->waiting), sizeof(id));
    buffer_consume(&t->waiting, sizeof(id));
    t->answered++;
    return id;
}

static bool turn_has(const struct turn *t, uint32_t world)
{
    for (size_t at = 1; at + PARTICIPANT_SIZE <= t->nsignature; at += PARTICIPANT_SIZE)
        if (get32(t->signature + at) == world)
            return true;
    return false;
}

void collectives_forget(struct collectives *c, uint32_t world)
{
    for (struct turn **at = &c->turns; *at;) {
        struct turn *t = *at;
        if (!turn_has(t, world)) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        buffer_free(&t->waiting);
        free(t);
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void send_collect(struct server *s, const struct collective_item *c, struct participant *p,
                         const struct idset *hosts)
{
    size_t nhosts = idset_count(hosts);
    size_t n = 1 + c->nprocs * PARTICIPANT_SIZE + strlen(c->name);
    AUTO_FREE uint8_t *signature = malloc(n);
    AUTO_FREE uint32_t *list = calloc(nhosts, sizeof(*list));
    if (signature)
        write_signature(c, p, signature);
    struct turn *t = signature && list ? turn_of(&s->collectives, signature, n) : NULL;
    if (!t || !buffer_reserve(&t->waiting, sizeof(uint64_t))) {
        asker_answer(&c->asker, PMIX_ERR_NOMEM, NULL, 0);
        return;
    }
    uint64_t id = requests_add(&s->requests, &c->asker, c->seconds);
    if (!id)
        return;
    Mprun__Collect m = MPRUN__COLLECT__INIT;
    Mprun__Collect__Part part = MPRUN__COLLECT__PART__INIT, *parts[] = {&part};
    buffer_append(&t->waiting, &id, sizeof(id)); /* there is room */
    m.turn = t->used++;
    m.signature = (ProtobufCBinaryData){n, signature};
    for (int h = idset_next(hosts, 0); h >= 0; h = idset_next(hosts, (unsigned)h + 1))
        list[m.n_hosts++] = (uint32_t)h;
    m.hosts = list;
    if (m.n_hosts == s->worlds->nhosts) /* all: nobody has to be named */
        m.n_hosts = 0;
    part.host = s->worlds->own_host;
    part.data = (ProtobufCBinaryData){c->ndata, (uint8_t *)item_data(c)};
    m.n_parts = 1;
    m.parts = parts;
    link_send(s->link, FRAME_COLLECT, &m.base);
}

static void collective_run(struct bridge_item *item, struct server *s)
{
    struct collective_item *c = (struct collective_item *)item;
    struct idset hosts = {.words = NULL};
    AUTO_FREE struct participant *p = calloc(c->nprocs ? c->nprocs : 1, sizeof(*p));
    int ok = p != NULL;
    for (size_t i = 0; ok && i < c->nprocs; i++)
        ok = add_participant(s, &c->procs[i], &p[i], &hosts) == 0;
    if (!ok)
        asker_answer(&c->asker, p ? PMIX_ERR_NOT_FOUND : PMIX_ERR_NOMEM, NULL, 0);
    else if (idset_count(&hosts) < 2 && !c->name[0])
        /* the library rarely asks then: all of it is here; a group wants a number */
        asker_answer(&c->asker, PMIX_SUCCESS, item_data(c), c->ndata);
    else
        send_collect(s, c, p, &hosts);
    idset_free(&hosts);
    free(c);
}

/* The data stays the library's, as its header has it, although no version is known that frees it:
 * so a collective leaks what this host brought to it, about 100 bytes a rank in MPI_Init. */
pmix_status_t collective_upcall(struct server *s, const struct collective_call *call)
{
    size_t nprocs_size = call->nprocs * sizeof(pmix_proc_t);
    bool is_group = call->kind == COLLECTIVE_GROUP || call->kind == COLLECTIVE_GROUP_END;
    if (is_group && (!call->name || !*call->name || strlen(call->name) > GROUP_NAME_MAX))
        return PMIX_ERR_BAD_PARAM;
    struct collective_item *c = malloc(sizeof(*c) + nprocs_size + call->ndata);
    if (!c)
        return PMIX_ERR_NOMEM;
    *c = (struct collective_item){.item.run = collective_run,
                                  .kind = call->kind,
                                  .asker = call->asker,
                                  .seconds = asker_timeout(call->info, call->ninfo),
                                  .nprocs = call->nprocs,
                                  .ndata = call->ndata};
    if (is_group) {
        /* 4.2.2 forgets that its own time limit of a group is for another function, and crashes:
         * ours comes before */
        c->seconds *= 0.8;
        memcpy(c->name, call->name, strlen(call->name));
    }
    memcpy(c->procs, call->procs, nprocs_size);
    if (call->ndata)
        memcpy(&c->procs[c->nprocs], call->data, call->ndata);
    bridge_post(&s->bridge, &c->item);
    return PMIX_SUCCESS;
}

void collective_answer(struct server *s, const Mprun__Collected *m)
{
    uint64_t id =
        turn_take(find_turn(&s->collectives, m->signature.data, m->signature.len), m->turn);
    s->collectives.number = m->number;
    if (id)
        requests_answer(&s->requests, id, m->status, m->data.data, m->data.len);
}
