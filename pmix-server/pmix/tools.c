/* SPDX-License-Identifier: BSD-3-Clause */
/* tools.c - tools of the same user that are no ranks (PMIx_tool_init)
 *
 * The library writes its address into files of its directory, which only this user can read, and
 * tools look for them there. The library keeps the connections. A tool is no member of a world.
 *
 * mppmi refuses no tool: library 4.2 then removes the tool's namespace from a list that does not
 * have it, and crashes. */
#include "pmix-server/pmix/requests.h"

#include <stdio.h>
#include <stdlib.h>

#include <pmix.h>

#include "common/must.h"
#include "pmix-server/server.h"
#include "pmix-server/world.h"

static unsigned ntools; /* names given; the program has one server */

struct tool {
    struct bridge_item item;
    pmix_proc_t proc; /* the name that it has chosen; "": none */
    pmix_tool_connection_cbfunc_t cbfunc;
    void *cbdata;
};

/* A tool that takes the name of a rank gets a name of our own: requests under the rank's name are
 * the rank's. */
static void tool_run(struct bridge_item *item, struct server *s)
{
    struct tool *t = (struct tool *)item;
    if (!t->proc.nspace[0] || world_by_nspace(s->worlds, t->proc.nspace)) {
        char name[PMIX_MAX_NSLEN + 1];
        snprintf(name, sizeof(name), "mppmi.%.200s.tool-%u", s->hostname, ++ntools);
        PMIX_LOAD_PROCID(&t->proc, name, 0);
    }
    server_had_client(s);
    t->cbfunc(PMIX_SUCCESS, &t->proc, t->cbdata);
    free(t);
}

void tool_upcall(struct server *s, const pmix_info_t *info, size_t ninfo,
                 pmix_tool_connection_cbfunc_t cbfunc, void *cbdata)
{
    struct tool *t = must(calloc(1, sizeof(*t)));
    t->item.run = tool_run;
    t->cbfunc = cbfunc;
    t->cbdata = cbdata;
    for (size_t i = 0; i < ninfo; i++) {
        const pmix_value_t *v = &info[i].value;
        if (PMIX_CHECK_KEY(&info[i], PMIX_NSPACE) && v->type == PMIX_STRING)
            PMIX_LOAD_NSPACE(t->proc.nspace, v->data.string);
        if (PMIX_CHECK_KEY(&info[i], PMIX_RANK) && v->type == PMIX_PROC_RANK)
            t->proc.rank = v->data.rank;
    }
    bridge_post(&s->bridge, &t->item);
}
