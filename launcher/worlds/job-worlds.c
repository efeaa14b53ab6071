/* SPDX-License-Identifier: BSD-3-Clause */
/* job-worlds.c - see job-worlds.h
 *
 * Each step has numbers of its own for worlds. In a collective's signature between steps each
 * participant is therefore a namespace, a zero and four bytes of the rank, ordered by namespace and
 * rank, behind the byte for the kind. Turns are the same in all steps, as every participant counts
 * them. */
#include "launcher/worlds/job-worlds.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "launcher/hosts/host-links.h"
#include "launcher/tunables.h"
#include "launcher/worlds/worlds.h"
#include "wire/little-endian.h"
#include "wire/messages/launch.h"
#include "wire/messages/placements.h"

enum { PMIX_ERROR = -1, SIGNATURE_ENTRY = 8 };

struct other_world {
    struct other_world *next;
    uint32_t number, step, theirs; /* its number here; its step, and its number there */
    char nspace[sizeof(((struct world *)0)->nspace)];
};

struct meeting { /* a collective that awaits parts of other steps */
    struct meeting *next;
    Mprun__Collect *own; /* as our hosts know it */
    struct buffer signature, data;
    uint32_t *awaited; /* steps */
    size_t nawaited;
};

struct early { /* a part of another step */
    struct early *next;
    uint32_t step;
    Mprun__Collect *m;
};

/* ---- worlds of other steps ------------------------------------------------------------------- */

static struct other_world *find_other(const struct job_worlds *j, uint32_t number)
{
    struct other_world *o = j->others;
    while (o && o->number != number)
        o = o->next;
    return o;
}

static const struct world *find_own(const struct job_worlds *j, const char *nspace)
{
    const struct world *w = j->worlds->first;
    while (w && strcmp(w->nspace, nspace) != 0)
        w = w->next;
    return w && w->nspace[0] && w->ended < w->nranks ? w : NULL;
}

const char *job_worlds_nspace(const struct job_worlds *j, uint32_t world)
{
    const struct world *w = worlds_find(j->worlds, world);
    return w && w->ended < w->nranks ? w->nspace : "";
}

static uint8_t *pack_world(const struct job_worlds *j, const struct world *w, size_t *ret_n)
{
    const struct step_plan *plan = j->hosts->plan;
    Mprun__PmiWorld m = MPRUN__PMI_WORLD__INIT;
    struct step step = {.apps = w->apps, .napps = w->napps}; /* borrowed */
    AUTO_FREE struct placement *hosts = must(calloc(plan->nused + 1, sizeof(*hosts)));
    AUTO(packed_placements_free) struct packed_placements placements;
    AUTO(packed_apps_free) struct packed_apps apps;
    for (size_t i = 0; i < plan->nused; i++)
        hosts[i] = (struct placement){.host = plan->placements[i].host, .ranks = w->ranks[i]};
    placements_pack(hosts, plan->nused, &placements);
    apps_pack(&step, false, &apps);
    m.world = w->number;
    m.nspace = (char *)(uintptr_t)w->nspace;
    m.nranks = w->nranks;
    m.universe = step_plan_universe(plan, w->nranks);
    m.n_hosts = placements.n;
    m.hosts = placements.list;
    m.n_apps = apps.n;
    m.apps = apps.list;
    uint8_t *packed = must(malloc(mprun__pmi_world__get_packed_size(&m)));
    *ret_n = mprun__pmi_world__pack(&m, packed);
    return packed;
}

uint8_t *job_worlds_describe(struct job_worlds *j, const char *nspace, size_t *ret_n)
{
    const struct world *w = find_own(j, nspace);
    uint8_t *packed = w ? pack_world(j, w, ret_n) : NULL;
    if (packed)
        worlds_mark_told(j->worlds, w->number);
    return packed;
}

static bool is_good(const struct job_worlds *j, const Mprun__PmiWorld *m, const char *nspace)
{
    return m && nspace[0] && strcmp(m->nspace, nspace) == 0 &&
           strlen(nspace) < sizeof(j->others->nspace) && m->nranks > 0 &&
           m->nranks <= LAUNCH_RANKS_MAX && !(m->world & WORLD_OF_OTHER_STEP) &&
           !find_own(j, nspace);
}

void job_worlds_learn(struct job_worlds *j, uint32_t step, const char *nspace,
                      ProtobufCBinaryData description)
{
    for (const struct other_world *o = j->others; o; o = o->next)
        if (strcmp(o->nspace, nspace) == 0)
            return; /* every host asks */
    Mprun__PmiWorld *m = mprun__pmi_world__unpack(NULL, description.len, description.data);
    bool is_well = is_good(j, m, nspace) && j->nothers < OTHER_WORLDS_MAX;
    if (is_well) {
        struct other_world *o = must(calloc(1, sizeof(*o)));
        o->number = WORLD_OF_OTHER_STEP | ++j->last_number;
        o->step = step;
        o->theirs = m->world;
        strcpy(o->nspace, nspace);
        o->next = j->others;
        j->others = o;
        j->nothers++;
        m->world = o->number;
        m->of_other_step = true;
        hosts_broadcast(j->hosts, FRAME_PMI_WORLD, &m->base);
    } else {
        log_debug("another step describes a world that cannot be used");
    }
    mprun__pmi_world__free_unpacked(m, NULL);
}

/* ---- collectives ----------------------------------------------------------------------------- */

static void meeting_drop(struct meeting **at)
{
    struct meeting *t = *at;
    *at = t->next;
    mprun__collect__free_unpacked(t->own, NULL);
    buffer_free(&t->signature);
    buffer_free(&t->data);
    free(t->awaited);
    free(t);
}

static void early_drop(struct job_worlds *j, struct early **at)
{
    struct early *e = *at;
    *at = e->next;
    j->bytes -= mprun__collect__get_packed_size(e->m);
    mprun__collect__free_unpacked(e->m, NULL);
    free(e);
}

static bool has_nspace(const uint8_t *signature, size_t n, const char *nspace)
{
    return memmem(signature, n, nspace, strlen(nspace) + 1) != NULL;
}

/* Nothing that this world had to do with is completed any more; the hosts themselves answer what
 * waits there for a world of another step. */
static void drop_all_with(struct job_worlds *j, const char *nspace)
{
    for (struct meeting **at = &j->meetings; *at;)
        if (has_nspace(buffer_ptr(&(*at)->signature), buffer_len(&(*at)->signature), nspace))
            meeting_drop(at);
        else
            at = &(*at)->next;
    for (struct early **at = &j->early; *at;)
        if (has_nspace((*at)->m->signature.data, (*at)->m->signature.len, nspace))
            early_drop(j, at);
        else
            at = &(*at)->next;
}

static void await_step(struct meeting *t, uint32_t step)
{
    for (size_t i = 0; i < t->nawaited; i++)
        if (t->awaited[i] == step)
            return;
    t->awaited = must(reallocarray(t->awaited, t->nawaited + 1, sizeof(*t->awaited)));
    t->awaited[t->nawaited++] = step;
}

struct participant {
    const char *nspace;
    uint32_t rank;
};

static int by_nspace(const void *a, const void *b)
{
    const struct participant *x = a, *y = b;
    int order = strcmp(x->nspace, y->nspace);
    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Translates the hosts' signature, and awaits the steps that are in it. False: a world has ended
 * meanwhile. */
static bool translate(const struct job_worlds *j, struct meeting *t)
{
    const uint8_t *at = t->own->signature.data;
    size_t n = t->own->signature.len / SIGNATURE_ENTRY;
    AUTO_FREE struct participant *all = must(calloc(n + 1, sizeof(*all)));
    bool ok = t->own->signature.len == 1 + n * SIGNATURE_ENTRY;
    if (ok)
        buffer_append(&t->signature, at, 1);
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t world = get32(at + 1 + i * SIGNATURE_ENTRY);
        const struct other_world *o = find_other(j, world);
        all[i].nspace = o ? o->nspace : job_worlds_nspace(j, world);
        all[i].rank = get32(at + 5 + i * SIGNATURE_ENTRY);
        ok = all[i].nspace[0];
        if (o)
            await_step(t, o->step);
    }
    if (ok)
        qsort(all, n, sizeof(*all), by_nspace);
    for (size_t i = 0; ok && i < n; i++) {
        uint8_t rank[4];
        put32(rank, all[i].rank);
        buffer_append(&t->signature, all[i].nspace, strlen(all[i].nspace) + 1);
        buffer_append(&t->signature, rank, sizeof(rank));
    }
    return ok;
}

/* Takes the part if the collective awaits it. */
static bool meeting_take(struct meeting *t, uint32_t step, const Mprun__Collect *m)
{
    size_t i = 0;
    while (i < t->nawaited && t->awaited[i] != step)
        i++;
    if (i == t->nawaited || m->turn != t->own->turn ||
        m->signature.len != buffer_len(&t->signature) ||
        memcmp(m->signature.data, buffer_ptr(&t->signature), m->signature.len) != 0)
        return false;
    buffer_append(&t->data, m->parts[0]->data.data, m->parts[0]->data.len);
    t->awaited[i] = t->awaited[--t->nawaited];
    return true;
}

static void meeting_look(struct job_worlds *j, struct meeting **at)
{
    struct meeting *t = *at;
    if (t->nawaited)
        return;
    j->answer(j->answer_arg, t->own, 0, buffer_ptr(&t->data), buffer_len(&t->data));
    meeting_drop(at);
}

/* The parts of our hosts, as one, to all that await it. */
static void send_part(const struct job_worlds *j, const struct meeting *t)
{
    Mprun__Collect m = MPRUN__COLLECT__INIT;
    Mprun__Collect__Part part = MPRUN__COLLECT__PART__INIT, *parts[] = {&part};
    m.signature = (ProtobufCBinaryData){buffer_len(&t->signature), buffer_ptr(&t->signature)};
    m.turn = t->own->turn;
    part.data = (ProtobufCBinaryData){buffer_len(&t->data), buffer_ptr(&t->data)};
    m.n_parts = 1;
    m.parts = parts;
    for (size_t i = 0; i < t->nawaited; i++)
        j->send(j->send_arg, t->awaited[i], FRAME_COLLECT, &m.base);
}

/* Signature, turn and hosts. */
static Mprun__Collect *copy_head(const Mprun__Collect *m)
{
    Mprun__Collect head = *m;
    head.n_parts = 0;
    AUTO_FREE uint8_t *packed = must(malloc(mprun__collect__get_packed_size(&head) + 1));
    return must(mprun__collect__unpack(NULL, mprun__collect__pack(&head, packed), packed));
}

void job_worlds_collect(struct job_worlds *j, const Mprun__Collect *m, const uint8_t *data,
                        size_t n)
{
    struct meeting *t = must(calloc(1, sizeof(*t)));
    t->next = j->meetings;
    j->meetings = t;
    t->own = copy_head(m);
    if (!translate(j, t)) {
        meeting_drop(&j->meetings);
        j->answer(j->answer_arg, m, PMIX_ERROR, NULL, 0);
        return;
    }
    buffer_append(&t->data, data, n);
    send_part(j, t);
    for (struct early **at = &j->early; *at;)
        if (meeting_take(t, (*at)->step, (*at)->m))
            early_drop(j, at);
        else
            at = &(*at)->next;
    meeting_look(j, &j->meetings);
}

struct sender {
    struct job_worlds *j;
    uint32_t step;
};

static int take_part(void *sender, const uint8_t *p, size_t n)
{
    struct sender *s = sender;
    struct job_worlds *j = s->j;
    Mprun__Collect *m = mprun__collect__unpack(NULL, n, p);
    bool is_taken = false, is_known = m && m->n_parts == 1 && m->signature.len > 0;
    for (struct meeting **at = &j->meetings; is_known && !is_taken && *at;) {
        is_taken = meeting_take(*at, s->step, m);
        if (is_taken)
            meeting_look(j, at);
        else
            at = &(*at)->next;
    }
    size_t size = m ? mprun__collect__get_packed_size(m) : 0;
    if (is_known && !is_taken && j->bytes + size <= EARLY_PARTS_MAX) {
        struct early *e = must(malloc(sizeof(*e)));
        *e = (struct early){.next = j->early, .step = s->step, .m = m};
        j->early = e;
        j->bytes += size;
        return 0;
    }
    mprun__collect__free_unpacked(m, NULL);
    return is_taken ? 0 : -1;
}

/* ---- data of a rank -------------------------------------------------------------------------- */

bool job_worlds_modex_request(const struct job_worlds *j, Mprun__ModexRequest *m)
{
    const struct other_world *o = m->name ? find_other(j, m->name->world) : NULL;
    if (!o)
        return false;
    m->name->world = o->theirs;
    j->send(j->send_arg, o->step, FRAME_MODEX_REQUEST, &m->base);
    return true;
}

void job_worlds_modex_reply(const struct job_worlds *j, Mprun__ModexReply *m)
{
    uint32_t step = m->to_step;
    m->to_step = 0;
    j->send(j->send_arg, step, FRAME_MODEX_REPLY, &m->base);
}

static int take_modex_request(void *sender, void *message)
{
    const struct sender *s = sender;
    Mprun__ModexRequest *m = message;
    struct host *owner = m->name ? host_of_rank(s->j->hosts, rank_name_unpack(m->name)) : NULL;
    m->from_step = s->step;
    if (owner && host_send(owner, FRAME_MODEX_REQUEST, &m->base))
        return 0;
    Mprun__ModexReply no = MPRUN__MODEX_REPLY__INIT;
    no.id = m->id;
    no.status = PMIX_ERROR;
    no.to_host = m->from_host;
    s->j->send(s->j->send_arg, s->step, FRAME_MODEX_REPLY, &no.base);
    return 0;
}

static int take_modex_reply(void *sender, void *message)
{
    const struct sender *s = sender;
    const Mprun__ModexReply *m = message;
    struct host *to = host_at(s->j->hosts, m->to_host);
    if (to)
        host_send(to, FRAME_MODEX_REPLY, &m->base);
    return 0;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void forget(struct job_worlds *j, struct other_world **at)
{
    struct other_world *o = *at;
    Mprun__WorldEnd m = MPRUN__WORLD_END__INIT;
    *at = o->next;
    j->nothers--;
    drop_all_with(j, o->nspace);
    m.world = o->number;
    hosts_broadcast(j->hosts, FRAME_WORLD_END, &m.base);
    free(o);
}

static int take_world_end(void *sender, void *message)
{
    const struct sender *s = sender;
    const Mprun__WorldEnd *m = message;
    for (struct other_world **at = &s->j->others; *at; at = &(*at)->next)
        if ((*at)->step == s->step && (*at)->theirs == m->world) {
            forget(s->j, at);
            break;
        }
    return 0;
}

bool job_worlds_step_gone(struct job_worlds *j, uint32_t step)
{
    uint32_t before = j->nothers;
    for (struct other_world **at = &j->others; *at;)
        if ((*at)->step == step)
            forget(j, at);
        else
            at = &(*at)->next;
    for (struct early **at = &j->early; *at;)
        if ((*at)->step == step)
            early_drop(j, at);
        else
            at = &(*at)->next;
    return j->nothers < before;
}

void job_worlds_own_ended(struct job_worlds *j, const struct world *w)
{
    Mprun__WorldEnd m = MPRUN__WORLD_END__INIT;
    if (!w->is_told)
        return;
    m.world = w->number;
    drop_all_with(j, w->nspace);
    j->send(j->send_arg, 0, FRAME_WORLD_END, &m.base);
}

/* ---- life ------------------------------------------------------------------------------------ */

static const struct frame_handler handlers[FRAME_TYPE_COUNT] = {
    [FRAME_COLLECT] = {.take_bytes = take_part},
    [FRAME_MODEX_REQUEST] = {.take = take_modex_request},
    [FRAME_MODEX_REPLY] = {.take = take_modex_reply},
    [FRAME_WORLD_END] = {.take = take_world_end},
};

bool job_worlds_frame(struct job_worlds *j, uint32_t step, enum frame_type type, const uint8_t *p,
                      size_t n)
{
    struct sender s = {j, step};
    return frame_handle(handlers, type, &s, p, n) == 0;
}

void job_worlds_init(struct job_worlds *j, struct host_table *hosts, struct worlds *worlds)
{
    *j = (struct job_worlds){.hosts = hosts, .worlds = worlds};
}

void job_worlds_on_send(struct job_worlds *j, job_worlds_send_f send, void *arg)
{
    j->send = send;
    j->send_arg = arg;
}

void job_worlds_on_answer(struct job_worlds *j, job_worlds_answer_f answer, void *arg)
{
    j->answer = answer;
    j->answer_arg = arg;
}

void job_worlds_free(struct job_worlds *j)
{
    while (j->meetings)
        meeting_drop(&j->meetings);
    while (j->early)
        early_drop(j, &j->early);
    while (j->others) {
        struct other_world *o = j->others;
        j->others = o->next;
        free(o);
    }
}
