/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmix/spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pmix.h>

#include "common/must.h"
#include "common/text/words.h"
#include "pmix-server/pmix/publish.h"
#include "pmix-server/pmix/requests.h"
#include "pmix-server/server.h"
#include "pmix-server/world.h"
#include "wire/messages/values.h"

struct call {
    struct bridge_item item;
    pmix_proc_t parent;
    struct asker asker;
    Mprun__Spawn *request;   /* all of it malloc'ed, as if unpacked */
    struct open_mpi_4 *root; /* NULL: other ranks do not wait for this one */
};

static void call_destroy(struct call *c)
{
    mprun__spawn__free_unpacked(c->request, NULL);
    free(c->root);
    free(c);
}

/* ---- Open MPI 4 ------------------------------------------------------------------------------
 * Where a spawn fails, its root returns from MPI_Comm_spawn, and the other ranks of the
 * communicator wait for ever to be told whom the root has met at its port. So the root hears of a
 * success, meets ranks that are nowhere, and tells the others; that nobody can be connected with
 * these is the error of all of them. */

struct open_mpi_4 {
    struct server *server;
    pmix_proc_t parent;
    struct asker asker;
    char meets[80]; /* the name under which it looks for the new ranks */
};

static void published(pmix_status_t status, void *cbdata)
{
}

static void open_mpi_4_answer(pmix_status_t status, char *nspace, void *cbdata)
{
    struct open_mpi_4 *o = cbdata;
    if (status == PMIX_ERR_JOB_FAILED_TO_LAUNCH) {
        pmix_info_t info[2];
        pmix_persistence_t once = PMIX_PERSIST_FIRST_READ;
        PMIX_INFO_LOAD(&info[0], PMIX_PERSISTENCE, &once, PMIX_PERSIST);
        PMIX_INFO_LOAD(&info[1], o->meets, "1.0:" SPAWN_NOWHERE, PMIX_STRING);
        status = publish_upcall(o->server, &o->parent, info, 2, published, NULL);
        PMIX_INFO_DESTRUCT(&info[1]);
        nspace = (char *)SPAWN_NOWHERE;
    }
    o->asker.spawn(status, nspace, o->asker.cbdata);
    free(o);
}

/* Sets the call's root if other ranks may wait for this rank. */
static void note_open_mpi_4(struct server *s, struct call *c, const pmix_info_t *info, size_t n,
                            const pmix_app_t *app)
{
    const char *port = NULL;
    for (size_t i = 0; app->env && app->env[i]; i++)
        if (!strncmp(app->env[i], "OMPI_PARENT_PORT=", 17))
            port = app->env[i] + 17;
    for (size_t i = 0; port && !c->root && i < n; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_PERSONALITY) && info[i].value.type == PMIX_STRING &&
            info[i].value.data.string &&
            !strcmp(info[i].value.data.string, "ompi")) { /* later ones are others */
            c->root = must(malloc(sizeof(*c->root)));
            *c->root = (struct open_mpi_4){.server = s, .parent = c->parent, .asker = c->asker};
            snprintf(c->root->meets, sizeof(c->root->meets), "%s:connect", port);
        }
}

void spawn_send(struct server *s, Mprun__Spawn *request, struct rank_name parent,
                const struct asker *asker)
{
    Mprun__RankName name;
    rank_name_pack(parent, &name);
    request->id = requests_add(&s->requests, asker, 0);
    request->parent = &name;
    link_send(s->link, FRAME_SPAWN, &request->base);
    request->parent = NULL;
}

/* In the loop's thread. */
static void call_run(struct bridge_item *item, struct server *s)
{
    struct call *c = (struct call *)item;
    const struct world *w = world_by_nspace(s->worlds, c->parent.nspace);
    struct rank_name tool = {.rank = RANK_ALL};
    struct rank_name parent = {.world = w ? w->number : 0, .rank = c->parent.rank};
    if (c->root && w && (w->nranks > 1 || w->is_spawned)) {
        c->asker = (struct asker){.spawn = open_mpi_4_answer, .cbdata = c->root};
        c->root = NULL;
    }
    spawn_send(s, c->request, w ? parent : tool, &c->asker);
    call_destroy(c);
}

/* ---- the request: in the library's thread ---------------------------------------------------- */

/* Keys of PMIx that mprun has, or has to refuse, with MPI's names for them. Other keys mean nothing
 * to a launcher. */
static const struct {
    const char *pmix, *name;
} keys[] = {
    {PMIX_HOST, "host"},
    {PMIX_HOSTFILE, "hostfile"},
    {PMIX_ADD_HOST, "add-host"},
    {PMIX_ADD_HOSTFILE, "add-hostfile"},
    {PMIX_WDIR, "wdir"},
    {PMIX_MAPBY, "map_by"},
    {PMIX_PPR, "ppr"},
    {PMIX_BINDTO, "bind_to"},
    {PMIX_PREFIX, "prefix"},
    {PMIX_PRELOAD_BIN, "preload_binary"},
    {PMIX_PRELOAD_FILES, "preload_files"},
};

static const char *key_name(const pmix_info_t *info)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (PMIX_CHECK_KEY(info, keys[i].pmix))
            return keys[i].name;
    return NULL;
}

static ProtobufCBinaryData copy_bytes(const char *text)
{
    return (ProtobufCBinaryData){.len = strlen(text), .data = must(strdup(text))};
}

static void add_words(char **words, size_t *ret_n, ProtobufCBinaryData **ret)
{
    size_t n = words_count(words);
    *ret = must(calloc(n + 1, sizeof(**ret)));
    for (*ret_n = 0; *ret_n < n; (*ret_n)++)
        (*ret)[*ret_n] = copy_bytes(words[*ret_n]);
}

static const char *value_text(const pmix_value_t *v)
{
    if (v->type == PMIX_STRING)
        return v->data.string ? v->data.string : "";
    return v->type == PMIX_BOOL ? v->data.flag ? "true" : "false" : NULL;
}

static void add_key(Mprun__Spawn__App *to, const pmix_info_t *info)
{
    const char *name = key_name(info), *value = value_text(&info->value);
    if (!name || !value)
        return;
    Mprun__Spawn__Key *key = must(calloc(1, sizeof(*key)));
    mprun__spawn__key__init(key);
    to->keys[to->n_keys++] = key;
    key->name = must(strdup(name));
    key->value = copy_bytes(value);
}

/* Adds keys of the whole job to each of its programs. */
static void add_keys(Mprun__Spawn__App *to, const pmix_info_t *info, size_t n,
                     const pmix_info_t *job, size_t njob)
{
    to->keys = must(calloc(n + njob + 1, sizeof(*to->keys)));
    for (size_t i = 0; i < njob; i++)
        add_key(to, &job[i]);
    for (size_t i = 0; i < n; i++)
        add_key(to, &info[i]);
}

/* argv[0] is the command, whatever name the program is to see: MPI does the same. */
static void add_app(Mprun__Spawn *to, const pmix_app_t *a, const pmix_info_t *job, size_t njob)
{
    Mprun__Spawn__App *app = must(calloc(1, sizeof(*app)));
    mprun__spawn__app__init(app);
    to->apps[to->n_apps++] = app;
    app->count = a->maxprocs > 0 ? (uint32_t)a->maxprocs : 0;
    char *command[] = {a->cmd, NULL};
    add_words(a->argv && a->argv[0] ? a->argv : command, &app->n_argv, &app->argv);
    add_words(a->env, &app->n_env, &app->env);
    app->directory = copy_bytes(a->cwd ? a->cwd : "");
    add_keys(app, a->info, a->ninfo, job, njob);
}

pmix_status_t spawn_upcall(struct server *s, const pmix_proc_t *parent, const pmix_info_t *info,
                           size_t ninfo, const pmix_app_t *apps, size_t napps,
                           pmix_spawn_cbfunc_t cbfunc, void *cbdata)
{
    struct call *c = must(calloc(1, sizeof(*c)));
    c->item.run = call_run;
    c->parent = *parent;
    c->asker = (struct asker){.spawn = cbfunc, .cbdata = cbdata};
    c->request = must(malloc(sizeof(*c->request)));
    mprun__spawn__init(c->request);
    c->request->apps = must(calloc(napps + 1, sizeof(*c->request->apps)));
    for (size_t i = 0; i < napps; i++)
        add_app(c->request, &apps[i], info, ninfo);
    if (napps)
        note_open_mpi_4(s, c, info, ninfo, &apps[0]);
    bridge_post(&s->bridge, &c->item);
    return PMIX_SUCCESS;
}

/* ---- the answer ------------------------------------------------------------------------------ */

void spawn_answer(struct server *s, const Mprun__Spawned *m)
{
    struct asker asker;
    const struct world *w = world_by_number(s->worlds, m->world);
    if (!requests_take(&s->requests, m->id, &asker))
        return;
    if (m->why_not[0] || !w) {
        asker_answer(&asker, PMIX_ERR_JOB_FAILED_TO_LAUNCH, NULL, 0);
        return;
    }
    pmix_nspace_t nspace;
    PMIX_LOAD_NSPACE(nspace, w->nspace);
    asker.spawn(PMIX_SUCCESS, nspace, asker.cbdata);
}
