/* SPDX-License-Identifier: BSD-3-Clause */
/* name-service.c - see name-service.h
 *
 * A list in the order of publishing: programs publish few names, and a bound keeps the others from
 * making it long. */
#include "launcher/worlds/name-service.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/loop.h"
#include "common/must.h"
#include "launcher/tunables.h"
#include "launcher/worlds/open-mpi-port.h"
#include "wire/messages/names.h"
#include "wire/messages/values.h"

struct published {
    TAILQ_ENTRY(published) link;
    struct rank_name owner;      /* with lookup: the rank that looks it up */
    const void *host;            /* the owner's */
    const struct lookup *lookup; /* another step has it: it is here for this lookup; NULL: none */
    enum name_range range;
    enum name_life life;
    const char *key, *nspace; /* in bytes, behind the value; the latter "" without lookup, */
    uint32_t their_rank;      /* as is the owner's number in it */
    size_t nvalue, size;
    uint8_t bytes[];
};

struct lookup { /* or a publish, whose answer waits until other steps ask here */
    TAILQ_ENTRY(lookup) link;
    struct name_service *service;
    void *from;
    Mprun__NameRequest *request;
    struct rank_name rank;
    bool is_foreign; /* of another step */
    bool is_refused; /* that one knows that the port it waits at is not here */
    uint64_t number; /* under which other steps were asked; 0: they were not */
    size_t due;      /* so many of them have not answered yet */
    struct loop_timer timer;
    size_t size;
};

/* ---- the names ------------------------------------------------------------------------------- */

static bool is_visible(const struct published *p, struct rank_name to, const void *on)
{
    switch (p->range) {
    case NAME_RANGE_WORLD:
        return p->owner.world == to.world;
    case NAME_RANGE_HOST:
        return p->host == on;
    case NAME_RANGE_RANK:
        return rank_name_equal(p->owner, to);
    default:
        return true;
    }
}

static struct published *find(const struct name_service *s, const char *key, const struct lookup *l)
{
    struct published *p;
    TAILQ_FOREACH(p, &s->names, link)
    if (strcmp(p->key, key) == 0 && (!p->lookup || p->lookup == l) &&
        (l->is_foreign ? p->range == NAME_RANGE_STEP : is_visible(p, l->rank, l->from)))
        break;
    return p;
}

static void remove_name(struct name_service *s, struct published *p)
{
    TAILQ_REMOVE(&s->names, p, link);
    s->bytes -= p->size;
    free(p);
}

static struct published *published_create(const Mprun__Name *m)
{
    size_t nkey = strlen(m->key) + 1, nnspace = strlen(m->nspace) + 1;
    size_t size = sizeof(struct published) + m->value.len + nkey + nnspace;
    struct published *p = must(malloc(size));
    if (m->value.len)
        memcpy(p->bytes, m->value.data, m->value.len);
    p->key = memcpy(p->bytes + m->value.len, m->key, nkey);
    p->nspace = memcpy(p->bytes + m->value.len + nkey, m->nspace, nnspace);
    p->their_rank = m->owner ? m->owner->rank : RANK_ALL;
    p->nvalue = m->value.len;
    p->size = size;
    return p;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void answer(const struct name_service *s, void *to, uint64_t id, enum name_status status)
{
    Mprun__NameReply m = MPRUN__NAME_REPLY__INIT;
    m.id = id;
    m.status = status;
    s->reply(to, &m);
}

static void reply(const struct lookup *l, const Mprun__NameReply *m)
{
    const struct name_service *s = l->service;
    (l->is_foreign ? s->steps->reply : s->reply)(l->from, m);
}

static void refuse(const struct lookup *l, enum name_status status)
{
    Mprun__NameReply m = MPRUN__NAME_REPLY__INIT;
    m.id = l->request->id;
    m.status = status;
    reply(l, &m);
}

struct found { /* a name in a reply */
    struct published *name;
    Mprun__Name message;
    Mprun__RankName owner;
};

/* A lookup may have a name twice. */
static bool is_found(const struct found *found, size_t n, const struct published *p)
{
    while (n > 0)
        if (found[--n].name == p)
            return true;
    return false;
}

static size_t find_all(const struct name_service *s, const struct lookup *l, struct found *ret,
                       Mprun__Name **list)
{
    size_t n = 0;
    for (size_t i = 0; i < l->request->n_names; i++) {
        struct published *p = find(s, l->request->names[i]->key, l);
        if (!p || is_found(ret, n, p))
            continue;
        struct found *f = &ret[n];
        f->name = p;
        rank_name_pack(p->lookup ? (struct rank_name){.rank = p->their_rank} : p->owner, &f->owner);
        mprun__name__init(&f->message);
        f->message.nspace =
            (char *)(uintptr_t)(l->is_foreign ? s->steps->nspace(s->steps_arg, p->owner.world)
                                              : p->nspace);
        f->message.key = (char *)(uintptr_t)p->key;
        f->message.value = (ProtobufCBinaryData){p->nvalue, p->bytes};
        f->message.owner = &f->owner;
        list[n++] = &f->message;
    }
    return n;
}

/* Answers if there are as many names as are wanted; one that wants none, and a publish, waits only
 * for what other steps say. False: it has to wait. */
static bool answer_lookup(struct name_service *s, const struct lookup *l)
{
    const Mprun__NameRequest *q = l->request;
    if (q->what == NAME_PUBLISH) {
        if (!l->due)
            answer(s, l->from, q->id, NAME_OK);
        return !l->due;
    }
    AUTO_FREE struct found *found = must(calloc(q->n_names + 1, sizeof(*found)));
    AUTO_FREE Mprun__Name **list = must(calloc(q->n_names + 1, sizeof(*list)));
    Mprun__NameReply m = MPRUN__NAME_REPLY__INIT;
    m.n_names = find_all(s, l, found, list);
    if (m.n_names < q->wanted || (!q->wanted && l->due && m.n_names < q->n_names))
        return false;
    m.id = q->id;
    m.names = list;
    m.status = m.n_names == q->n_names ? NAME_OK : m.n_names ? NAME_PARTIAL : NAME_NOT_FOUND;
    reply(l, &m);
    for (size_t i = 0; i < m.n_names; i++)
        if (found[i].name->life == NAME_LIFE_READ)
            remove_name(s, found[i].name);
    return true;
}

/* ---- lookups that wait ----------------------------------------------------------------------- */

/* Drops what other steps have said for this lookup. */
static void drop_foreign(struct name_service *s, const struct lookup *l)
{
    struct published *next;
    for (struct published *p = TAILQ_FIRST(&s->names); p; p = next) {
        next = TAILQ_NEXT(p, link);
        if (p->lookup == l)
            remove_name(s, p);
    }
}

static void lookup_destroy(struct lookup *l)
{
    drop_foreign(l->service, l);
    TAILQ_REMOVE(&l->service->waiting, l, link);
    if (l->number)
        l->service->steps->forget(l->service->steps_arg, l->number);
    l->service->bytes -= l->size;
    loop_timer_stop(&l->timer);
    mprun__name_request__free_unpacked(l->request, NULL);
    free(l);
}

static void lookup_timed_out(void *arg)
{
    struct lookup *l = arg;
    l->due = 0;
    if (l->request->wanted || !answer_lookup(l->service, l))
        refuse(l, NAME_TIMEOUT);
    lookup_destroy(l);
}

static Mprun__NameRequest *copy_request(const Mprun__NameRequest *m, size_t *ret_size)
{
    *ret_size = mprun__name_request__get_packed_size(m);
    AUTO_FREE uint8_t *bytes = must(malloc(*ret_size + 1));
    return must(mprun__name_request__unpack(NULL, mprun__name_request__pack(m, bytes), bytes));
}

/* NULL: too much waits. */
static struct lookup *wait_for_names(struct name_service *s, const struct lookup *like)
{
    struct lookup *l = must(malloc(sizeof(*l)));
    *l = *like;
    l->request = copy_request(like->request, &l->size);
    if (s->bytes + (l->size += sizeof(*l)) > NAMES_BYTES_MAX) {
        mprun__name_request__free_unpacked(l->request, NULL);
        free(l);
        return NULL;
    }
    s->bytes += l->size;
    TAILQ_INSERT_TAIL(&s->waiting, l, link);
    loop_timer_init(&l->timer, s->loop, lookup_timed_out, l);
    double seconds = l->request->wanted ? l->request->seconds : NEIGHBOUR_SECONDS;
    if (seconds)
        loop_timer_start(&l->timer, seconds, 0);
    return l;
}

/* It waits at a port, and neither this step nor one that was asked has the world that opened it.
 * Another step, which may have it, waits on, as ranks here may yet come to its port. */
static bool is_hopeless(const struct lookup *l)
{
    for (size_t i = 0; !l->due && i < l->request->n_names; i++)
        if (open_mpi_port_owner(l->service->worlds, l->request->names[i]->key) == PORT_ELSEWHERE)
            return true;
    return false;
}

static void look_again(struct lookup *l)
{
    bool is_over = answer_lookup(l->service, l);
    if (!is_over && !l->is_refused && is_hopeless(l)) {
        refuse(l, NAME_NOT_FOUND);
        l->is_refused = true;
        is_over = !l->is_foreign;
    }
    if (is_over)
        lookup_destroy(l);
}

static void answer_waiting(struct name_service *s)
{
    struct lookup *next;
    for (struct lookup *l = TAILQ_FIRST(&s->waiting); l; l = next) {
        next = TAILQ_NEXT(l, link);
        look_again(l);
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

static void ask_steps(struct lookup *l)
{
    struct name_service *s = l->service;
    l->due = 0;
    if (l->request->what == NAME_LOOKUP) {
        l->number = ++s->last_number;
        l->due = s->steps->ask(s->steps_arg, l->number, l->request);
    }
    look_again(l);
}

void name_service_steps_known(struct name_service *s)
{
    struct lookup *next;
    for (struct lookup *l = TAILQ_FIRST(&s->waiting); l; l = next) {
        next = TAILQ_NEXT(l, link);
        if (!l->is_foreign && !l->number)
            ask_steps(l);
    }
}

static void lookup(struct name_service *s, void *from, const Mprun__NameRequest *m, bool is_foreign)
{
    bool asks = s->steps && !is_foreign;
    const struct lookup like = {.service = s,
                                .from = from,
                                .request = (Mprun__NameRequest *)(uintptr_t)m,
                                .rank = rank_name_unpack(m->from),
                                .is_foreign = is_foreign,
                                .due = asks};
    if (answer_lookup(s, &like))
        return;
    struct lookup *l = wait_for_names(s, &like);
    if (!l) {
        refuse(&like, NAME_TOO_MUCH);
        return;
    }
    if (!asks)
        look_again(l);
    else if (s->steps->join(s->steps_arg))
        ask_steps(l);
}

/* All names of the request, or none. */
static enum name_status publish_all(struct name_service *s, const void *from,
                                    const Mprun__NameRequest *m)
{
    struct rank_name owner = rank_name_unpack(m->from);
    const struct lookup own = {.from = (void *)(uintptr_t)from, .rank = owner};
    TAILQ_HEAD(, published) fresh = TAILQ_HEAD_INITIALIZER(fresh);
    enum name_status status = NAME_OK;
    size_t size = 0;
    struct published *p;
    for (size_t i = 0; status == NAME_OK && i < m->n_names; i++) {
        const struct published *old = find(s, m->names[i]->key, &own);
        if (old) {
            status = NAME_DUPLICATE;
            continue;
        }
        p = published_create(m->names[i]);
        p->owner = owner;
        p->lookup = NULL;
        p->host = from;
        p->range = (enum name_range)m->range;
        p->life = (enum name_life)m->life;
        size += p->size;
        TAILQ_INSERT_TAIL(&fresh, p, link);
    }
    if (status == NAME_OK && s->bytes + size > NAMES_BYTES_MAX)
        status = NAME_TOO_MUCH;
    if (status == NAME_OK) {
        s->bytes += size;
        TAILQ_CONCAT(&s->names, &fresh, link);
    }
    while ((p = TAILQ_FIRST(&fresh))) {
        TAILQ_REMOVE(&fresh, p, link);
        free(p);
    }
    return status;
}

static void publish(struct name_service *s, void *from, const Mprun__NameRequest *m)
{
    enum name_status status = publish_all(s, from, m);
    const struct lookup like = {.service = s,
                                .from = from,
                                .request = (Mprun__NameRequest *)(uintptr_t)m,
                                .rank = rank_name_unpack(m->from),
                                .due = 1};
    bool waits = status == NAME_OK && s->steps && m->range == NAME_RANGE_STEP &&
                 !s->steps->join(s->steps_arg) && wait_for_names(s, &like);
    if (!waits)
        answer(s, from, m->id, status);
    answer_waiting(s);
}

static bool is_named(const Mprun__NameRequest *m, const char *key)
{
    for (size_t i = 0; i < m->n_names; i++)
        if (strcmp(m->names[i]->key, key) == 0)
            return true;
    return m->n_names == 0;
}

static void unpublish(struct name_service *s, void *from, const Mprun__NameRequest *m)
{
    struct rank_name owner = rank_name_unpack(m->from);
    struct published *next;
    size_t n = 0;
    for (struct published *p = TAILQ_FIRST(&s->names); p; p = next) {
        next = TAILQ_NEXT(p, link);
        if (p->lookup || !rank_name_equal(p->owner, owner) || !is_named(m, p->key))
            continue;
        remove_name(s, p);
        n++;
    }
    answer(s, from, m->id, n || m->n_names == 0 ? NAME_OK : NAME_NOT_FOUND);
}

int name_service_request(struct name_service *s, void *from, const Mprun__NameRequest *m)
{
    if (m->range >= NAME_RANGE_COUNT || m->life >= NAME_LIFE_COUNT)
        return -1;
    switch (m->what) {
    case NAME_PUBLISH:
        publish(s, from, m);
        return 0;
    case NAME_LOOKUP:
        lookup(s, from, m, false);
        return 0;
    case NAME_UNPUBLISH:
        unpublish(s, from, m);
        return 0;
    default:
        return -1;
    }
}

/* ---- other steps ----------------------------------------------------------------------------- */

void name_service_set_steps(struct name_service *s, const struct name_steps *steps, void *arg)
{
    s->steps = steps;
    s->steps_arg = arg;
}

static void forget(struct name_service *s, const void *from, uint64_t id)
{
    struct lookup *next;
    for (struct lookup *l = TAILQ_FIRST(&s->waiting); l; l = next) {
        next = TAILQ_NEXT(l, link);
        if (l->is_foreign && l->from == from && (!id || l->request->id == id))
            lookup_destroy(l);
    }
}

int name_service_step_request(struct name_service *s, void *from, const Mprun__NameRequest *m)
{
    if (m->what == NAME_LOOKUP && m->id && m->from && m->n_names)
        lookup(s, from, m, true);
    else if (m->what == NAME_FORGET && m->id)
        forget(s, from, m->id);
    else
        return -1;
    return 0;
}

void name_service_step_gone(struct name_service *s, const void *from)
{
    forget(s, from, 0);
}

void name_service_tell_waiting(const struct name_service *s,
                               void (*fn)(void *arg, uint64_t number, const Mprun__NameRequest *m),
                               void *arg)
{
    struct lookup *l;
    TAILQ_FOREACH(l, &s->waiting, link)
    if (l->number)
        fn(arg, l->number, l->request);
}

/* For the one lookup alone. */
static void keep_foreign(struct name_service *s, const struct lookup *l, const Mprun__Name *m)
{
    struct published *p = published_create(m);
    if (s->bytes + p->size > NAMES_BYTES_MAX) {
        free(p);
        return;
    }
    p->owner = l->rank;
    p->host = l->from;
    p->lookup = l;
    p->range = NAME_RANGE_RANK;
    p->life = NAME_LIFE_READ;
    s->bytes += p->size;
    TAILQ_INSERT_TAIL(&s->names, p, link);
}

void name_service_step_reply(struct name_service *s, uint64_t number, const Mprun__NameReply *m,
                             bool was_asked)
{
    struct lookup *l;
    TAILQ_FOREACH(l, &s->waiting, link)
    if (l->number == number)
        break;
    if (!l)
        return;
    for (size_t i = 0; m && i < m->n_names; i++)
        keep_foreign(s, l, m->names[i]);
    l->due -= was_asked && l->due > 0;
    look_again(l);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void drop_names(struct name_service *s, enum name_life life, struct rank_name of)
{
    struct published *next;
    for (struct published *p = TAILQ_FIRST(&s->names); p; p = next) {
        next = TAILQ_NEXT(p, link);
        bool is_of =
            life == NAME_LIFE_RANK ? rank_name_equal(p->owner, of) : p->owner.world == of.world;
        if (is_of && p->life == life)
            remove_name(s, p);
    }
}

void name_service_rank_ended(struct name_service *s, struct rank_name rank)
{
    struct lookup *next;
    for (struct lookup *l = TAILQ_FIRST(&s->waiting); l; l = next) {
        next = TAILQ_NEXT(l, link);
        if (!l->is_foreign && rank_name_equal(l->rank, rank))
            lookup_timed_out(l); /* its host still holds the request */
    }
    drop_names(s, NAME_LIFE_RANK, rank);
}

void name_service_world_ended(struct name_service *s, uint32_t world)
{
    drop_names(s, NAME_LIFE_WORLD, (struct rank_name){.world = world});
    answer_waiting(s);
}

void name_service_init(struct name_service *s, struct loop *loop, const struct worlds *worlds,
                       name_reply_f reply)
{
    s->loop = loop;
    s->worlds = worlds;
    s->reply = reply;
    TAILQ_INIT(&s->names);
    TAILQ_INIT(&s->waiting);
}

void name_service_free(struct name_service *s)
{
    if (!s->loop)
        return;
    while (!TAILQ_EMPTY(&s->waiting))
        lookup_destroy(TAILQ_FIRST(&s->waiting));
    while (!TAILQ_EMPTY(&s->names))
        remove_name(s, TAILQ_FIRST(&s->names));
}
