/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmix/requests.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/text/idset.h"
#include "common/must.h"
#include "pmix-server/pmix/publish.h"
#include "pmix-server/pmix/spawn.h"
#include "pmix-server/server.h"
#include "pmix-server/tunables.h"
#include "pmix-server/world.h"
#include "wire/little-endian.h"

struct collective_item {
    struct bridge_item item;
    struct server *server;
    const char *asked; /* the last namespace that mprun was asked for; NULL: none */
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

static bool is_group(enum collective kind)
{
    return kind == COLLECTIVE_GROUP || kind == COLLECTIVE_GROUP_END;
}

/* mprun takes care of hosts of other steps. */
static int add_participant(const struct server *s, const pmix_proc_t *proc, struct participant *ret,
                           struct idset *hosts, bool *crosses)
{
    const struct world *w = server_nspace(s, proc->nspace);
    if (!w)
        return -1;
    *ret = (struct participant){w->number, proc->rank};
    if (world_is_other(w)) {
        *crosses = true;
        return proc->rank == PMIX_RANK_WILDCARD || world_node_of(w, proc->rank) >= 0 ? 0 : -1;
    }
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

/* Writes the signature; sorts p. */
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
    struct buffer waiting;   /* requests (uint64_t) of the turns that have not ended */
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
    t = must(calloc(1, sizeof(*t) + n));
    memcpy(t->signature, signature, n);
    t->nsignature = n;
    t->next = c->turns;
    c->turns = t;
    return t;
}

/* Answers come in the order of turns; any other answer is dropped. */
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

static void answer_turns(struct server *s, struct turn *t)
{
    uint64_t id;
    while ((id = turn_take(t, t->answered)))
        requests_answer(&s->requests, id, PMIX_ERR_NOT_FOUND, NULL, 0);
}

void collectives_forget(struct server *s, uint32_t world)
{
    for (struct turn **at = &s->collectives.turns; *at;) {
        struct turn *t = *at;
        if (!turn_has(t, world)) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        if (t->signature[0] != COLLECTIVE_BARRIER) /* whose ranks have all gone */
            answer_turns(s, t);
        buffer_free(&t->waiting);
        free(t);
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void send_collect(struct server *s, const struct collective_item *c, struct participant *p,
                         const struct idset *hosts, bool crosses)
{
    size_t nhosts = idset_count(hosts);
    size_t n = 1 + c->nprocs * PARTICIPANT_SIZE + strlen(c->name);
    AUTO_FREE uint8_t *signature = must(malloc(n));
    AUTO_FREE uint32_t *list = must(calloc(nhosts + 1, sizeof(*list)));
    write_signature(c, p, signature);
    struct turn *t = turn_of(&s->collectives, signature, n);
    uint64_t id = requests_add(&s->requests, &c->asker, c->seconds);
    Mprun__Collect m = MPRUN__COLLECT__INIT;
    Mprun__Collect__Part part = MPRUN__COLLECT__PART__INIT, *parts[] = {&part};
    buffer_append(&t->waiting, &id, sizeof(id));
    m.turn = t->used++;
    m.crosses = crosses;
    m.signature = (ProtobufCBinaryData){n, signature};
    IDSET_FOREACH (h, hosts)
        list[m.n_hosts++] = (uint32_t)h;
    m.hosts = list;
    if (m.n_hosts == s->worlds->nhosts) /* all hosts: no list is needed */
        m.n_hosts = 0;
    part.host = s->worlds->own_host;
    part.data = (ProtobufCBinaryData){c->ndata, (uint8_t *)item_data(c)};
    m.n_parts = 1;
    m.parts = parts;
    link_send(s->link, FRAME_COLLECT, &m.base);
}

static void take_part(struct server *s, struct collective_item *c)
{
    struct idset hosts = {.words = NULL};
    AUTO_FREE struct participant *p = must(calloc(c->nprocs + 1, sizeof(*p)));
    bool ok = true, crosses = false;
    for (size_t i = 0; ok && i < c->nprocs; i++)
        ok = add_participant(s, &c->procs[i], &p[i], &hosts, &crosses) == 0;
    if (!ok)
        asker_answer(&c->asker, PMIX_ERR_NOT_FOUND, NULL, 0);
    else if (crosses && is_group(c->kind)) /* each step numbers its own */
        asker_answer(&c->asker, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
    else if (idset_count(&hosts) < 2 && !c->name[0] && !crosses)
        /* the library rarely asks mprun then: all members are here; but a group wants a number */
        asker_answer(&c->asker, PMIX_SUCCESS, item_data(c), c->ndata);
    else
        send_collect(s, c, p, &hosts, crosses);
    idset_free(&hosts);
    free(c);
}

/* ---- ranks of other steps -------------------------------------------------------------------- */

static void collective_run(struct bridge_item *item, struct server *s);

/* In the loop's thread: mprun has sent the world of the namespace, or does not know it. */
static void world_answered(pmix_status_t status, void *cbdata)
{
    struct collective_item *c = cbdata;
    if (status == PMIX_SUCCESS)
        collective_run(&c->item, c->server);
    else
        take_part(c->server, c); /* which answers that there is none */
}

static const char *unknown_nspace(const struct server *s, const struct collective_item *c)
{
    for (size_t i = 0; i < c->nprocs; i++)
        if (!server_nspace(s, c->procs[i].nspace))
            return c->procs[i].nspace;
    return NULL;
}

static bool has_nowhere(const struct collective_item *c)
{
    for (size_t i = 0; i < c->nprocs; i++)
        if (!strcmp(c->procs[i].nspace, SPAWN_NOWHERE))
            return true;
    return false;
}

/* Finds a rank of this host in whose name to ask mprun. */
static bool find_own_rank(const struct server *s, const struct collective_item *c,
                          struct rank_name *ret)
{
    for (size_t i = 0; i < c->nprocs; i++) {
        const struct world *w = world_by_nspace(s->worlds, c->procs[i].nspace);
        if (!w || w->here < 0)
            continue;
        *ret = rank_set_at(world_local_ranks(w), 0);
        return true;
    }
    return false;
}

/* A namespace that the step does not have may be another step's. */
static void collective_run(struct bridge_item *item, struct server *s)
{
    struct collective_item *c = (struct collective_item *)item;
    const struct asker asker = {.op = world_answered, .cbdata = c};
    const char *unknown = is_group(c->kind) ? NULL : unknown_nspace(s, c);
    struct rank_name own;
    if (unknown && has_nowhere(c)) {
        asker_answer(&c->asker, SPAWN_NOWHERE_ANSWER, NULL, 0);
        free(c);
        return;
    }
    if (!unknown || (c->asked && !strcmp(c->asked, unknown)) || !find_own_rank(s, c, &own)) {
        take_part(s, c);
        return;
    }
    c->asked = unknown;
    publish_ask_world(s, own, unknown, &asker);
}

/* The library owns the data, as its header says, although no known version frees it: so a
 * collective leaks what this host brought to it, about 100 bytes a rank in MPI_Init. */
pmix_status_t collective_upcall(struct server *s, const struct collective_call *call)
{
    size_t nprocs_size = call->nprocs * sizeof(pmix_proc_t);
    if (is_group(call->kind) &&
        (!call->name || !*call->name || strlen(call->name) > GROUP_NAME_MAX))
        return PMIX_ERR_BAD_PARAM;
    struct collective_item *c = must(malloc(sizeof(*c) + nprocs_size + call->ndata));
    *c = (struct collective_item){.item.run = collective_run,
                                  .server = s,
                                  .kind = call->kind,
                                  .asker = call->asker,
                                  .seconds = asker_timeout(call->info, call->ninfo),
                                  .nprocs = call->nprocs,
                                  .ndata = call->ndata};
    if (is_group(call->kind)) {
        /* 4.2.2 calls the wrong function when its own time limit of a group ends, and crashes: so
         * our limit comes first */
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
