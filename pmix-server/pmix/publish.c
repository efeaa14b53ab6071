/* SPDX-License-Identifier: BSD-3-Clause */
/* publish.c - makes the three calls into one kind of message: the library's thread makes it, the
 * loop's thread completes and sends it. */
#include "pmix-server/pmix/publish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pmix.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/words.h"
#include "pmix-server/pmix/requests.h"
#include "pmix-server/server.h"
#include "pmix-server/world.h"
#include "wire/messages/names.h"
#include "wire/messages/values.h"

struct call {
    struct bridge_item item;
    pmix_proc_t proc;
    struct asker asker;
    Mprun__NameRequest *request; /* all of it malloc'ed, as if unpacked */
};

static void call_destroy(struct call *c)
{
    if (c->request)
        mprun__name_request__free_unpacked(c->request, NULL);
    free(c);
}

/* In the loop's thread. */
static void call_run(struct bridge_item *item, struct server *s)
{
    struct call *c = (struct call *)item;
    const struct world *w = world_by_nspace(s->worlds, c->proc.nspace);
    Mprun__RankName from;
    if (!w) {
        asker_answer(&c->asker, PMIX_ERR_NOT_FOUND, NULL, 0);
        call_destroy(c);
        return;
    }
    rank_name_pack((struct rank_name){.world = w->number, .rank = c->proc.rank}, &from);
    c->request->id = requests_add(&s->requests, &c->asker, 0); /* mprun has the time limit */
    c->request->from = &from;
    link_send(s->link, FRAME_NAME_REQUEST, &c->request->base);
    c->request->from = NULL;
    call_destroy(c);
}

/* ---- requests: in the library's thread ------------------------------------------------------- */

static struct call *call_create(const pmix_proc_t *proc, enum name_request what, size_t nnames,
                                const struct asker *asker)
{
    struct call *c = must(calloc(1, sizeof(*c)));
    c->item.run = call_run;
    c->proc = *proc;
    c->asker = *asker;
    c->request = must(malloc(sizeof(*c->request)));
    mprun__name_request__init(c->request);
    c->request->what = what;
    c->request->names = must(calloc(nnames + 1, sizeof(*c->request->names)));
    return c;
}

/* Adds a name; takes the bytes of its value. */
static void add_name(struct call *c, const char *key, void *value, size_t nvalue)
{
    Mprun__Name *name = must(malloc(sizeof(*name)));
    mprun__name__init(name);
    name->value = (ProtobufCBinaryData){nvalue, value};
    name->key = must(strdup(key));
    c->request->names[c->request->n_names++] = name;
}

static pmix_status_t add_value(struct call *c, const pmix_info_t *info)
{
    pmix_data_buffer_t packed;
    pmix_byte_object_t bytes = {.bytes = NULL};
    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    pmix_status_t rc =
        PMIx_Data_pack(NULL, &packed, (pmix_value_t *)(uintptr_t)&info->value, 1, PMIX_VALUE);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_Data_unload(&packed, &bytes);
    if (rc == PMIX_SUCCESS)
        add_name(c, info->key, bytes.bytes, bytes.size);
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    return rc;
}

static bool is_directive(const pmix_info_t *i)
{
    return !strncmp(i->key, "pmix.", 5);
}

static pmix_status_t take_range(struct call *c, pmix_data_range_t range)
{
    switch (range) {
    case PMIX_RANGE_UNDEF:
    case PMIX_RANGE_SESSION:
    case PMIX_RANGE_GLOBAL:
        c->request->range = NAME_RANGE_STEP;
        return PMIX_SUCCESS;
    case PMIX_RANGE_NAMESPACE:
        c->request->range = NAME_RANGE_WORLD;
        return PMIX_SUCCESS;
    case PMIX_RANGE_LOCAL:
        c->request->range = NAME_RANGE_HOST;
        return PMIX_SUCCESS;
    case PMIX_RANGE_PROC_LOCAL:
        c->request->range = NAME_RANGE_RANK;
        return PMIX_SUCCESS;
    default: /* of the resource manager, of a list of ranks */
        return PMIX_ERR_NOT_SUPPORTED;
    }
}

static pmix_status_t take_persistence(struct call *c, pmix_persistence_t p)
{
    switch (p) {
    case PMIX_PERSIST_INDEF:
    case PMIX_PERSIST_SESSION:
        c->request->life = NAME_LIFE_STEP;
        return PMIX_SUCCESS;
    case PMIX_PERSIST_APP:
        c->request->life = NAME_LIFE_WORLD;
        return PMIX_SUCCESS;
    case PMIX_PERSIST_PROC:
        c->request->life = NAME_LIFE_RANK;
        return PMIX_SUCCESS;
    case PMIX_PERSIST_FIRST_READ:
        c->request->life = NAME_LIFE_READ;
        return PMIX_SUCCESS;
    default:
        return PMIX_ERR_NOT_SUPPORTED;
    }
}

static pmix_status_t take_publish(struct call *c, const pmix_info_t *info)
{
    if (PMIX_CHECK_KEY(info, PMIX_RANGE))
        return info->value.type == PMIX_DATA_RANGE ? take_range(c, info->value.data.range)
                                                   : PMIX_ERR_BAD_PARAM;
    if (PMIX_CHECK_KEY(info, PMIX_PERSISTENCE))
        return info->value.type == PMIX_PERSIST ? take_persistence(c, info->value.data.persist)
                                                : PMIX_ERR_BAD_PARAM;
    return is_directive(info) ? PMIX_SUCCESS : add_value(c, info);
}

pmix_status_t publish_upcall(struct server *s, const pmix_proc_t *proc, const pmix_info_t *info,
                             size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    const struct asker asker = {.op = cbfunc, .cbdata = cbdata};
    struct call *c = call_create(proc, NAME_PUBLISH, ninfo, &asker);
    pmix_status_t rc = PMIX_SUCCESS;
    c->request->life = NAME_LIFE_WORLD;
    for (size_t i = 0; rc == PMIX_SUCCESS && i < ninfo; i++)
        rc = take_publish(c, &info[i]);
    if (rc == PMIX_SUCCESS && !c->request->n_names) /* "pmix." begins no name of a rank's */
        rc = PMIX_ERR_BAD_PARAM;
    if (rc == PMIX_SUCCESS)
        bridge_post(&s->bridge, &c->item);
    else
        call_destroy(c);
    return rc;
}

/* Returns how many values the directive wants to wait for. */
static uint32_t wanted_values(const pmix_info_t *info, size_t nkeys)
{
    const pmix_value_t *v = &info->value;
    if (v->type == PMIX_BOOL)
        return v->data.flag ? (uint32_t)nkeys : 0;
    if (v->type == PMIX_INT && v->data.integer > 0 && (size_t)v->data.integer < nkeys)
        return (uint32_t)v->data.integer;
    return (uint32_t)nkeys;
}

static void add_keys(struct call *c, char **keys)
{
    for (size_t i = 0; keys && keys[i]; i++)
        add_name(c, keys[i], NULL, 0);
}

pmix_status_t lookup_upcall(struct server *s, const pmix_proc_t *proc, char **keys,
                            const pmix_info_t *info, size_t ninfo, pmix_lookup_cbfunc_t cbfunc,
                            void *cbdata)
{
    const struct asker asker = {.lookup = cbfunc, .cbdata = cbdata};
    size_t n = words_count(keys);
    if (!n)
        return PMIX_ERR_BAD_PARAM;
    struct call *c = call_create(proc, NAME_LOOKUP, n, &asker);
    add_keys(c, keys);
    c->request->seconds = (uint32_t)asker_timeout(info, ninfo);
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_WAIT))
            c->request->wanted = wanted_values(&info[i], n);
    bridge_post(&s->bridge, &c->item);
    return PMIX_SUCCESS;
}

pmix_status_t unpublish_upcall(struct server *s, const pmix_proc_t *proc, char **keys,
                               pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    const struct asker asker = {.op = cbfunc, .cbdata = cbdata};
    struct call *c = call_create(proc, NAME_UNPUBLISH, words_count(keys), &asker);
    add_keys(c, keys);
    bridge_post(&s->bridge, &c->item);
    return PMIX_SUCCESS;
}

void publish_ask_world(struct server *s, struct rank_name from, const char *nspace,
                       const struct asker *asker)
{
    Mprun__NameRequest m = MPRUN__NAME_REQUEST__INIT;
    Mprun__Name name = MPRUN__NAME__INIT, *names[] = {&name};
    Mprun__RankName rank;
    char key[sizeof(NAME_OF_WORLD) + WORLD_NSPACE_MAX];
    snprintf(key, sizeof(key), NAME_OF_WORLD "%.*s", WORLD_NSPACE_MAX, nspace);
    rank_name_pack(from, &rank);
    name.key = key;
    m.what = NAME_LOOKUP;
    m.from = &rank;
    m.n_names = 1;
    m.names = names;
    m.id = requests_add(&s->requests, asker, 0);
    link_send(s->link, FRAME_NAME_REQUEST, &m.base);
}

/* ---- answers --------------------------------------------------------------------------------- */

static pmix_status_t status_of(uint32_t status)
{
    switch (status) {
    case NAME_OK:
        return PMIX_SUCCESS;
    case NAME_PARTIAL:
        return PMIX_ERR_PARTIAL_SUCCESS;
    case NAME_NOT_FOUND:
        return PMIX_ERR_NOT_FOUND;
    case NAME_TIMEOUT:
        return PMIX_ERR_TIMEOUT;
    case NAME_DUPLICATE:
        return PMIX_ERR_DUPLICATE_KEY;
    case NAME_TOO_MUCH:
        return PMIX_ERR_OUT_OF_RESOURCE;
    default:
        return PMIX_ERROR;
    }
}

static bool unpack_name(const struct server *s, const Mprun__Name *m, pmix_pdata_t *to)
{
    const struct world *w = m->owner ? world_by_number(s->worlds, m->owner->world) : NULL;
    const char *nspace = m->nspace[0] ? m->nspace : w ? w->nspace : "";
    pmix_data_buffer_t packed;
    pmix_byte_object_t bytes = {.size = m->value.len, .bytes = must(malloc(m->value.len + 1))};
    int32_t one = 1;
    PMIX_PDATA_CONSTRUCT(to);
    if (m->value.len)
        memcpy(bytes.bytes, m->value.data, m->value.len);
    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    PMIx_Data_load(&packed, &bytes); /* the buffer owns the bytes now */
    pmix_status_t rc = PMIx_Data_unpack(NULL, &packed, &to->value, &one, PMIX_VALUE);
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    PMIX_LOAD_PROCID(&to->proc, nspace, m->owner ? m->owner->rank : PMIX_RANK_UNDEF);
    PMIX_LOAD_KEY(to->key, m->key);
    return rc == PMIX_SUCCESS;
}

static void answer_lookup(const struct server *s, const struct asker *to, const Mprun__NameReply *m)
{
    AUTO_FREE pmix_pdata_t *found = must(calloc(m->n_names + 1, sizeof(*found)));
    pmix_status_t status = status_of(m->status);
    size_t n = 0;
    for (size_t i = 0; i < m->n_names; i++)
        if (unpack_name(s, m->names[i], &found[n]))
            n++;
    if (n < m->n_names)
        status = n ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_ERR_UNPACK_FAILURE;
    to->lookup(status, n ? found : NULL, n, to->cbdata);
    for (size_t i = 0; i < n; i++)
        PMIX_PDATA_DESTRUCT(&found[i]);
}

void publish_answer(struct server *s, const Mprun__NameReply *m)
{
    struct asker asker;
    if (!requests_take(&s->requests, m->id, &asker))
        return;
    if (asker.lookup)
        answer_lookup(s, &asker, m);
    else
        asker_answer(&asker, status_of(m->status), NULL, 0);
}
