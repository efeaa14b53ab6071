/* SPDX-License-Identifier: BSD-3-Clause */
/* nspace.c - the library's thread registers the clients with the library once the world is there.
 * From that thread each call only adds to the thread's queue, ahead of anything that a rank started
 * after PMI_READY can send. From the loop's thread each call would cost two thread switches. */
#include "pmix-server/pmix/nspace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pmix.h>
#include <pmix_server.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/files/path.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "model/step.h"
#include "pmix-server/pmix/infos.h"
#include "pmix-server/pmix/library-socket.h"
#include "pmix-server/pmix/variables.h"
#include "pmix-server/server.h"
#include "pmix-server/world.h"
#include "wire/messages/values.h"

/* Makes the session directory of the world's ranks here (ours, if the starter named none), and in
 * it a directory for each rank. */
static int session_directory(const struct server *s, const struct world *w, char **ret,
                             struct error *err)
{
    const struct rank_set *here = world_local_ranks(w);
    AUTO_FREE char *path =
        must(w->directory[0] ? strdup(w->directory)
                             : text_format("%s/world-%u", s->directory, w->number));
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_errno(err, errno, "make the session directory '%s'", path);
    for (uint32_t i = 0; i < rank_set_count(here); i++) {
        AUTO_FREE char *own = must(text_format("%s/%u", path, rank_set_at(here, i).rank));
        if (mkdir(own, 0700) < 0 && errno != EEXIST)
            return error_errno(err, errno, "make the session directory '%s'", own);
    }
    *ret = take_ptr(path);
    return 0;
}

/* The library knows the ranks of the world, if they use it (env). Ranks of world 0 may have been
 * started before. */
static int send_ready(struct server *s, const struct world *w, char **env, struct error *err)
{
    AUTO_FREE const char **list = variables_of_ranks(env);
    size_t n = words_count((char *const *)(uintptr_t)list);
    AUTO_FREE ProtobufCBinaryData *all = must(calloc(n + 1, sizeof(*all)));
    if (env && s->given_variables && variables_compare(s->given_variables, list, err) < 0)
        return -1;
    words_free(take_ptr(s->given_variables));
    library_socket_open();
    Mprun__PmiReady ready = MPRUN__PMI_READY__INIT;
    ready.world = w->number;
    ready.env = all;
    for (; ready.n_env < n; ready.n_env++)
        all[ready.n_env] = bytes_of(list[ready.n_env]);
    link_send(s->link, FRAME_PMI_READY, &ready.base);
    link_flush(s->link);
    return 0;
}

/* ---- registering: to the library's thread, and back ------------------------------------------ */

struct registration {
    struct bridge_item item;
    struct server *server;
    struct world *world;
    struct infos keys;
    char **env;       /* of a local rank */
    struct error err; /* text is "" when all went well */
};

static void registration_free(struct registration *r)
{
    infos_free(&r->keys);
    pmix_argv_free(r->env);
    free(r);
}

static void registration_run(struct bridge_item *item, struct server *s)
{
    struct registration *r = (struct registration *)item;
    bool is_other = world_is_other(r->world);
    if (!r->err.text[0] && !is_other)
        send_ready(s, r->world, r->env, &r->err);
    if (r->err.text[0] && is_other)
        log_warn("%s", r->err.text);
    else if (r->err.text[0])
        server_fail(s, &r->err);
    r->world->is_registering = false;
    if (r->world->has_ended)
        nspace_end(s, r->world->number);
    registration_free(r);
    server_release(s);
}

/* In the library's thread. A rank that could not be registered cannot connect, and reports that. */
static void client_registered(pmix_status_t status, void *cbdata)
{
}

/* In the library's thread. */
static int register_ranks(struct registration *r)
{
    const struct world *w = r->world;
    const struct rank_set *here = world_local_ranks(w);
    pmix_status_t rc;
    for (uint32_t i = 0; i < rank_set_count(here); i++) {
        pmix_proc_t proc;
        PMIX_LOAD_PROCID(&proc, w->nspace, rank_set_at(here, i).rank);
        rc = i == 0 ? PMIx_server_setup_fork(&proc, &r->env) : PMIX_SUCCESS;
        if (rc != PMIX_SUCCESS)
            return error_set(&r->err, EIO, "make the environment of world %u: PMIx library: %s",
                             w->number, PMIx_Error_string(rc));
        rc =
            PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, client_registered, NULL);
        if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
            return error_set(&r->err, EIO, "register rank %u with the PMIx library: %s", proc.rank,
                             PMIx_Error_string(rc));
    }
    return 0;
}

/* In the library's thread. */
static void registered(pmix_status_t status, void *cbdata)
{
    struct registration *r = cbdata;
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
        error_set(&r->err, EIO, "register world %u with the PMIx library: %s", r->world->number,
                  PMIx_Error_string(status));
    else
        register_ranks(r);
    bridge_post(&r->server->bridge, &r->item);
}

static int register_world(struct server *s, struct world *w, struct error *err)
{
    AUTO_FREE char *nsdir = NULL;
    pmix_nspace_t nspace;
    if (!world_is_other(w) && session_directory(s, w, &nsdir, err) < 0)
        return -1;
    struct registration *r = must(calloc(1, sizeof(*r)));
    r->item.run = registration_run;
    r->server = s;
    r->world = w;
    bool has_parent = w->is_spawned && !world_is_other(w);
    nspace_keys(w, has_parent ? world_by_number(s->worlds, w->parent.world) : NULL, s->directory,
                nsdir, &r->keys);
    PMIX_LOAD_NSPACE(nspace, w->nspace);
    pmix_status_t rc = r->keys.status;
    if (rc == PMIX_SUCCESS)
        rc = PMIx_server_register_nspace(nspace, (int)rank_set_count(world_local_ranks(w)),
                                         r->keys.v, r->keys.n, registered, r);
    if (rc == PMIX_SUCCESS) {
        w->is_registering = true;
        server_hold(s);
        return 0;
    }
    registration_free(r);
    return error_set(err, EIO, "register world %u with the PMIx library: %s", w->number,
                     PMIx_Error_string(rc));
}

int nspace_register(struct server *s, const Mprun__PmiWorld *m, struct error *err)
{
    if (world_by_number(s->worlds, m->world) || world_by_nspace(s->worlds, m->nspace))
        return error_set(err, EEXIST, "take world %u: it is there already", m->world);
    struct world *w = world_create(m, err);
    if (!w)
        return -1;
    server_add_world(s, w);
    for (size_t i = 0; i < m->n_connections; i++)
        simple_pmi_adopt(&s->simple_pmi, m->connections[i]);
    return m->pmi & PMI_KIND_PMIX ? register_world(s, w, err) : send_ready(s, w, NULL, err);
}

void nspace_register_other(struct server *s, const Mprun__PmiWorld *m)
{
    struct error err = {.text = "it is there already"};
    bool is_known = server_nspace(s, m->nspace) || server_world(s, m->world);
    struct world *w = is_known ? NULL : world_create(m, &err);
    if (w && register_world(s, w, &err) == 0) {
        server_add_world(s, w);
        return;
    }
    world_destroy(w);
    log_warn("cannot use a world of another step: %s", err.text);
}

/* In the library's thread. */
static void deregistered(pmix_status_t status, void *cbdata)
{
}

void nspace_end(struct server *s, uint32_t world)
{
    struct error err;
    pmix_nspace_t nspace;
    struct world *w = server_world(s, world);
    if (w && w->is_registering) {
        w->has_ended = true;
        return;
    }
    w = server_take_world(s, world);
    if (!w)
        return;
    PMIX_LOAD_NSPACE(nspace, w->nspace);
    collectives_forget(s, world);
    requests_world_ended(&s->requests, world);
    if (world_is_other(w))
        event_other_ended(w->nspace);
    if ((w->pmi & PMI_KIND_PMIX) || world_is_other(w))
        PMIx_server_deregister_nspace(nspace, deregistered, NULL);
    simple_pmi_world_ended(&s->simple_pmi, world);
    if (w->directory[0] && path_remove_tree(w->directory, &err) < 0)
        log_warn("%s", err.text);
    world_destroy(w);
}

static void deregister_list(const struct world *w)
{
    for (; w; w = w->next) {
        pmix_nspace_t nspace;
        PMIX_LOAD_NSPACE(nspace, w->nspace);
        PMIx_server_deregister_nspace(nspace, NULL, NULL);
    }
}

void nspace_deregister_all(const struct server *s)
{
    deregister_list(s->worlds);
    deregister_list(s->others);
}
