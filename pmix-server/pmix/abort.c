/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmix/abort.h"

#include <stdlib.h>
#include <string.h>

#include "pmix-server/policy.h"
#include "pmix-server/server.h"
#include "pmix-server/thread-bridge.h"
#include "pmix-server/world.h"

struct abort_item {
    struct bridge_item item;
    struct server *server;
    pmix_proc_t proc;
    int status;
    pmix_op_cbfunc_t cbfunc;
    void *cbdata;
    char text[];
};

void abort_tell(const struct server *s, const struct world *w, uint32_t rank, int code,
                const char *text)
{
    Mprun__RankName name = MPRUN__RANK_NAME__INIT;
    name.world = w->number;
    name.rank = rank;
    Mprun__Aborted m = MPRUN__ABORTED__INIT;
    m.name = &name;
    m.code = code;
    m.text = (char *)text;
    link_send(s->link, FRAME_ABORTED, &m.base);
    link_flush(s->link);
}

static void abort_run(struct bridge_item *item)
{
    struct abort_item *a = (struct abort_item *)item;
    const struct world *w = world_by_nspace(a->server->worlds, a->proc.nspace);
    if (w)
        abort_tell(a->server, w, a->proc.rank, a->status, a->text);
    if (a->cbfunc)
        a->cbfunc(PMIX_SUCCESS, a->cbdata);
    free(a);
}

/* The schema's strings are UTF-8, a rank's message is any bytes. "N/A" is Open MPI's for none. */
static void copy_text(char *to, const char *from, size_t n)
{
    if (!strcmp(from, "N/A"))
        n = 0;
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)from[i] < 0x80 ? from[i] : '?';
    to[n] = 0;
}

pmix_status_t abort_upcall(struct server *s, const pmix_proc_t *proc, int status, const char *text,
                           pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    size_t n = text ? strnlen(text, ABORT_TEXT_MAX) : 0;
    struct abort_item *a = malloc(sizeof(*a) + n + 1);
    if (!a)
        return PMIX_ERR_NOMEM;
    *a = (struct abort_item){.item.run = abort_run,
                             .server = s,
                             .proc = *proc,
                             .status = status,
                             .cbfunc = cbfunc,
                             .cbdata = cbdata};
    copy_text(a->text, text ? text : "", n);
    bridge_post(s->bridge, &a->item);
    return PMIX_SUCCESS;
}
