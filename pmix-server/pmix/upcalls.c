/* SPDX-License-Identifier: BSD-3-Clause */
/* upcalls.c - the PMIx library calls these on its own thread and holds locks meanwhile: an upcall
 * must not wait, not call a PMIx function that waits, and not answer before it has returned.
 *
 * If the table has no upcall, the library answers "not supported": allocations, credentials. The
 * library has monitors of its own. */
#include "pmix-server/pmix/library.h"

#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "pmix-server/pmix/publish.h"
#include "pmix-server/pmix/requests.h"
#include "pmix-server/pmix/spawn.h"
#include "pmix-server/tunables.h"
#include "pmix-server/server.h"
#include "pmix-server/world.h"

/* Upcalls have no context argument. The program has one server. */
static struct server *self;

/* An upcall about one rank, on its way to the loop's thread. */
struct rank_item {
    struct bridge_item item;
    pmix_proc_t proc;
    int value; /* 1: connected, 0: finalized; the code of an abort */
    pmix_op_cbfunc_t cbfunc;
    void *cbdata;
    char text[]; /* of an abort */
};

/* Copies n bytes of text into a copy of the item. Returns PMIX_SUCCESS. */
static pmix_status_t post_rank_item(const struct rank_item *like, const char *text, size_t n)
{
    struct rank_item *r = must(calloc(1, sizeof(*r) + n + 1));
    *r = *like;
    memcpy(r->text, text, n);
    bridge_post(&self->bridge, &r->item);
    return PMIX_SUCCESS;
}

static void end_rank_item(struct rank_item *r)
{
    if (r->cbfunc)
        r->cbfunc(PMIX_SUCCESS, r->cbdata);
    free(r);
}

static void client_run(struct bridge_item *item, struct server *s)
{
    struct rank_item *r = (struct rank_item *)item;
    const struct world *w = world_by_nspace(s->worlds, r->proc.nspace);
    if (r->value)
        server_had_client(s);
    if (w)
        server_tell_client(s, w, r->proc.rank, r->value);
    end_rank_item(r);
}

static void abort_run(struct bridge_item *item, struct server *s)
{
    struct rank_item *r = (struct rank_item *)item;
    const struct world *w = world_by_nspace(s->worlds, r->proc.nspace);
    if (w)
        server_tell_abort(s, w, r->proc.rank, r->value, r->text, NULL, 0);
    end_rank_item(r);
}

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                                  size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    struct rank_item r = {{.run = client_run}, *proc, 1, cbfunc, cbdata};
    return post_rank_item(&r, "", 0);
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t cbfunc,
                                  void *cbdata)
{
    struct rank_item r = {{.run = client_run}, *proc, 0, cbfunc, cbdata};
    return post_rank_item(&r, "", 0);
}

static bool names_rank(const pmix_proc_t *procs, size_t n, const pmix_proc_t *rank)
{
    for (size_t i = 0; i < n; i++)
        if (PMIX_CHECK_PROCID(&procs[i], rank))
            return true;
    return false;
}

/* Open MPI passes "N/A" for no text. A rank that aborts itself, too, ends the step. */
static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status, const char text[],
                              pmix_proc_t procs[], size_t nprocs, pmix_op_cbfunc_t cbfunc,
                              void *cbdata)
{
    struct rank_item r = {{.run = abort_run}, *proc, status, cbfunc, cbdata};
    size_t n = text && strcmp(text, "N/A") != 0 ? strnlen(text, ABORT_TEXT_MAX) : 0;
    struct asker asker = {.op = cbfunc, .cbdata = cbdata};
    if (nprocs && !names_rank(procs, nprocs, proc))
        return abort_some_upcall(self, proc, status, n ? text : "", procs, nprocs, &asker);
    return post_rank_item(&r, text, n);
}

static pmix_status_t collect(uint32_t kind, const pmix_proc_t *procs, size_t nprocs,
                             const pmix_info_t *info, size_t ninfo, const void *data, size_t ndata,
                             struct asker asker)
{
    struct collective_call call = {kind, NULL, procs, nprocs, info, ninfo, data, ndata, asker};
    return collective_upcall(self, &call);
}

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                              size_t ninfo, char *data, size_t ndata, pmix_modex_cbfunc_t cbfunc,
                              void *cbdata)
{
    return collect(COLLECTIVE_FENCE, procs, nprocs, info, ninfo, data, ndata,
                   (struct asker){.modex = cbfunc, .cbdata = cbdata});
}

static pmix_status_t on_connect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                                size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    return collect(COLLECTIVE_CONNECT, procs, nprocs, info, ninfo, NULL, 0,
                   (struct asker){.op = cbfunc, .cbdata = cbdata});
}

static pmix_status_t on_disconnect(const pmix_proc_t procs[], size_t nprocs,
                                   const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                   void *cbdata)
{
    return collect(COLLECTIVE_DISCONNECT, procs, nprocs, info, ninfo, NULL, 0,
                   (struct asker){.op = cbfunc, .cbdata = cbdata});
}

static pmix_status_t on_modex(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                              pmix_modex_cbfunc_t cbfunc, void *cbdata)
{
    struct asker asker = {.modex = cbfunc, .cbdata = cbdata};
    return dmodex_upcall(self, proc, info, ninfo, &asker);
}

static pmix_status_t on_publish(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                                pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    return publish_upcall(self, proc, info, ninfo, cbfunc, cbdata);
}

static pmix_status_t on_lookup(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                               size_t ninfo, pmix_lookup_cbfunc_t cbfunc, void *cbdata)
{
    return lookup_upcall(self, proc, keys, info, ninfo, cbfunc, cbdata);
}

static pmix_status_t on_unpublish(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                                  size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    return unpublish_upcall(self, proc, keys, cbfunc, cbdata);
}

static pmix_status_t on_spawn(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                              const pmix_app_t apps[], size_t napps, pmix_spawn_cbfunc_t cbfunc,
                              void *cbdata)
{
    return spawn_upcall(self, proc, info, ninfo, apps, napps, cbfunc, cbdata);
}

/* The library keeps the handlers; we offer it every event from other hosts. */
static pmix_status_t on_register_events(pmix_status_t *codes, size_t ncodes,
                                        const pmix_info_t info[], size_t ninfo,
                                        pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_deregister_events(pmix_status_t *codes, size_t ncodes,
                                          pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_notify(pmix_status_t code, const pmix_proc_t *source,
                               pmix_data_range_t range, pmix_info_t info[], size_t ninfo,
                               pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    return event_upcall(self, code, source, range, info, ninfo);
}

static pmix_status_t on_group(pmix_group_operation_t op, char name[], const pmix_proc_t procs[],
                              size_t nprocs, const pmix_info_t info[], size_t ninfo,
                              pmix_info_cbfunc_t cbfunc, void *cbdata)
{
    return group_upcall(self, op, name, procs, nprocs, info, ninfo, cbfunc, cbdata);
}

static pmix_status_t on_query(pmix_proc_t *asker, pmix_query_t *queries, size_t nqueries,
                              pmix_info_cbfunc_t cbfunc, void *cbdata)
{
    return query_upcall(self, queries, nqueries, cbfunc, cbdata);
}

static pmix_status_t on_job_control(const pmix_proc_t *from, const pmix_proc_t targets[],
                                    size_t ntargets, const pmix_info_t info[], size_t ninfo,
                                    pmix_info_cbfunc_t cbfunc, void *cbdata)
{
    struct asker asker = {.info = cbfunc, .cbdata = cbdata};
    return control_upcall(self, from, targets, ntargets, info, ninfo, &asker);
}

/* Answers later: an answer from here would lock up the library. */
static void on_log(const pmix_proc_t *client, const pmix_info_t data[], size_t ndata,
                   const pmix_info_t directives[], size_t ndirectives, pmix_op_cbfunc_t cbfunc,
                   void *cbdata)
{
    struct asker asker = {.op = cbfunc, .cbdata = cbdata};
    log_upcall(self, client, data, ndata, &asker);
}

static pmix_status_t on_iof_pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                                 size_t ninfo, pmix_iof_channel_t channels, pmix_op_cbfunc_t cbfunc,
                                 void *cbdata)
{
    return iof_pull_upcall(self);
}

static pmix_status_t on_push(const pmix_proc_t *source, const pmix_proc_t targets[],
                             size_t ntargets, const pmix_info_t directives[], size_t ndirs,
                             const pmix_byte_object_t *bo, pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    struct asker asker = {.op = cbfunc, .cbdata = cbdata};
    return push_upcall(self, targets, ntargets, bo, &asker);
}

static void on_tool(pmix_info_t *info, size_t ninfo, pmix_tool_connection_cbfunc_t cbfunc,
                    void *cbdata)
{
    tool_upcall(self, info, ninfo, cbfunc, cbdata);
}

static pmix_server_module_t table = {
    .client_connected2 = on_connected,
    .client_finalized = on_finalized,
    .abort = on_abort,
    .fence_nb = on_fence,
    .connect = on_connect,
    .disconnect = on_disconnect,
    .direct_modex = on_modex,
    .publish = on_publish,
    .lookup = on_lookup,
    .unpublish = on_unpublish,
    .spawn = on_spawn,
    .register_events = on_register_events,
    .deregister_events = on_deregister_events,
    .notify_event = on_notify,
    .log = on_log,
    .job_control = on_job_control,
    .query = on_query,
    .group = on_group,
    .tool_connected = on_tool,
    .iof_pull = on_iof_pull,
    .push_stdin = on_push,
};

pmix_server_module_t *upcalls_for(struct server *s)
{
    self = s;
    return &table;
}
