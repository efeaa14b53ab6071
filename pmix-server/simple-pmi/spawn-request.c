/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/simple-pmi/spawn-request.h"

#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "common/text/number.h"
#include "common/cleanup.h"
#include "pmix-server/simple-pmi/kvs.h"
#include "pmix-server/tunables.h"

struct spawn_request *spawn_request_create(void)
{
    struct spawn_request *r = must(calloc(1, sizeof(*r)));
    r->message = must(calloc(1, sizeof(*r->message)));
    mprun__spawn__init(r->message);
    return r;
}

void spawn_request_destroy(struct spawn_request *r)
{
    if (!r)
        return;
    r->message->preput = (ProtobufCBinaryData){0}; /* borrowed */
    mprun__spawn__free_unpacked(r->message, NULL);
    buffer_free(&r->preput);
    free(r->key);
    free(r);
}

/* Makes room for one more pointer or value in a list that is full at powers of two. */
static void grow(void *list, size_t n, size_t size)
{
    void **at = list;
    if (!(n & (n - 1)))
        *at = must(realloc(*at, (n ? 2 * n : 1) * size));
}

void spawn_request_begin_program(struct spawn_request *r)
{
    Mprun__Spawn *m = r->message;
    r->size += sizeof(Mprun__Spawn__App);
    if (r->size > PMI_SPAWN_MAX)
        return;
    Mprun__Spawn__App *app = must(calloc(1, sizeof(*app)));
    grow(&m->apps, m->n_apps, sizeof(*m->apps));
    mprun__spawn__app__init(app);
    m->apps[m->n_apps++] = app;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static ProtobufCBinaryData copy_bytes(const char *text)
{
    return (ProtobufCBinaryData){.len = strlen(text), .data = must(strdup(text))};
}

static int take_count(struct spawn_request *r, Mprun__Spawn__App *app, const char *value)
{
    int64_t n;
    if (number_parse(value, NULL, 0, INT32_MAX, &n, NULL) < 0)
        return -1;
    app->count = (uint32_t)n;
    return 0;
}

static int take_argument(struct spawn_request *r, Mprun__Spawn__App *app, const char *value)
{
    grow(&app->argv, app->n_argv, sizeof(*app->argv));
    app->argv[app->n_argv++] = copy_bytes(value);
    return 0;
}

/* Takes a program's name, which comes before its arguments. */
static int take_program(struct spawn_request *r, Mprun__Spawn__App *app, const char *value)
{
    return app->n_argv ? -1 : take_argument(r, app, value);
}

static int take_key(struct spawn_request *r, Mprun__Spawn__App *app, const char *value)
{
    free(r->key);
    r->key = must(strdup(value));
    return 0;
}

static int take_info(struct spawn_request *r, Mprun__Spawn__App *app, const char *value)
{
    if (!r->key)
        return -1;
    Mprun__Spawn__Key *key = must(calloc(1, sizeof(*key)));
    grow(&app->keys, app->n_keys, sizeof(*app->keys));
    mprun__spawn__key__init(key);
    app->keys[app->n_keys++] = key;
    key->name = r->key;
    key->value = copy_bytes(value);
    r->key = NULL;
    return 0;
}

static int take_preput(struct spawn_request *r, Mprun__Spawn__App *app, const char *value)
{
    if (!r->key || !*r->key || strlen(r->key) > PMI_KEY_MAX || strlen(value) > PMI_VALUE_MAX)
        return -1;
    kvs_pack(&r->preput, r->key, value);
    free(take_ptr(r->key));
    return 0;
}

/* A number may follow each name; list elements come in order. Pairs belong to the whole world:
 * PMI-2 has them before its first program. */
static const struct {
    const char *name;
    bool is_of_world;
    int (*take)(struct spawn_request *r, Mprun__Spawn__App *app, const char *value);
} names[] = {
    {"nprocs", false, take_count},      {"execname", false, take_program}, /* PMI-1 */
    {"arg", false, take_argument},      {"preput_key_", true, take_key},
    {"preput_val_", true, take_preput}, {"info_key_", false, take_key},
    {"info_val_", false, take_info},    {"maxprocs", false, take_count}, /* PMI-2 */
    {"subcmd", false, take_program},    {"argv", false, take_argument},
    {"ppkey", true, take_key},          {"ppval", true, take_preput},
    {"infokey", false, take_key},       {"infoval", false, take_info},
};

static bool is_name(const char *field, const char *name)
{
    size_t n = strlen(name);
    return strncmp(field, name, n) == 0 && field[n + strspn(field + n, "0123456789")] == 0;
}

int spawn_request_take(struct spawn_request *r, const char *name, const char *value)
{
    Mprun__Spawn *m = r->message;
    Mprun__Spawn__App *app = m->n_apps ? m->apps[m->n_apps - 1] : NULL;
    r->size += strlen(name) + strlen(value);
    if (r->size > PMI_SPAWN_MAX)
        return -1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (is_name(name, names[i].name))
            return app || names[i].is_of_world ? names[i].take(r, app, value) : -1;
    return 0;
}

Mprun__Spawn *spawn_request_finish(struct spawn_request *r)
{
    Mprun__Spawn *m = r->message;
    for (size_t i = 0; i < m->n_apps; i++)
        if (!m->apps[i]->count || !m->apps[i]->n_argv)
            return NULL;
    m->preput.data = buffer_len(&r->preput) ? buffer_ptr(&r->preput) : NULL;
    m->preput.len = buffer_len(&r->preput);
    return m->n_apps && r->size <= PMI_SPAWN_MAX ? m : NULL;
}
