/* SPDX-License-Identifier: BSD-3-Clause */
/* group.c - groups of ranks: made and ended together, as a collective
 *
 * A group that is made by invitation needs nothing here: events carry the invitations. */
#include "pmix-server/pmix/requests.h"

#include <stdlib.h>

#include <pmix.h>

#include "common/must.h"
#include "pmix-server/pmix/infos.h"
#include "pmix-server/server.h"

struct group_call {
    struct server *server;
    bool wants_id;
    pmix_info_cbfunc_t cbfunc;
    void *cbdata;
    struct infos answer; /* the library reads it until it calls group_answered */
};

static void group_answered(void *cbdata)
{
    struct group_call *g = cbdata;
    infos_free(&g->answer);
    free(g);
}

/* All members have come: data has what the library of each host has put there for the others. */
static void group_collected(pmix_status_t status, const char *data, size_t n, void *cbdata,
                            pmix_release_cbfunc_t release, void *release_data)
{
    struct group_call *g = cbdata;
    size_t id = g->server->collectives.number;
    pmix_byte_object_t endpoints = {.bytes = (char *)(uintptr_t)data, .size = n};
    if (status == PMIX_SUCCESS && g->wants_id)
        infos_add(&g->answer, PMIX_GROUP_CONTEXT_ID, &id, PMIX_SIZE);
    if (status == PMIX_SUCCESS && n)
        infos_add(&g->answer, PMIX_GROUP_ENDPT_DATA, &endpoints, PMIX_BYTE_OBJECT);
    if (status == PMIX_SUCCESS)
        status = g->answer.status;
    g->cbfunc(status, g->answer.v, g->answer.n, g->cbdata, group_answered, g);
    if (release)
        release(release_data);
}

pmix_status_t group_upcall(struct server *s, pmix_group_operation_t op, const char *name,
                           const pmix_proc_t *procs, size_t nprocs, const pmix_info_t *info,
                           size_t ninfo, pmix_info_cbfunc_t cbfunc, void *cbdata)
{
    struct group_call *g = must(calloc(1, sizeof(*g)));
    *g = (struct group_call){.server = s, .cbfunc = cbfunc, .cbdata = cbdata};
    struct collective_call call = {.kind = op == PMIX_GROUP_CONSTRUCT ? COLLECTIVE_GROUP
                                                                      : COLLECTIVE_GROUP_END,
                                   .name = name,
                                   .procs = procs,
                                   .nprocs = nprocs,
                                   .info = info,
                                   .ninfo = ninfo,
                                   .asker = {.modex = group_collected, .cbdata = g}};
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_ASSIGN_CONTEXT_ID))
            g->wants_id = PMIX_INFO_TRUE(&info[i]);
        if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_ENDPT_DATA) &&
            info[i].value.type == PMIX_BYTE_OBJECT) {
            call.data = info[i].value.data.bo.bytes;
            call.ndata = info[i].value.data.bo.size;
        }
    }
    pmix_status_t rc = collective_upcall(s, &call);
    if (rc != PMIX_SUCCESS)
        free(g);
    return rc;
}
