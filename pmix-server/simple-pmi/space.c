/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/simple-pmi/space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "pmix-server/server.h"
#include "pmix-server/simple-pmi/connection.h"
#include "pmix-server/world.h"

const char *space_name(const struct simple_pmi *p, uint32_t world, char ret[SPACE_NAME_MAX])
{
    snprintf(ret, SPACE_NAME_MAX, "%.40s-%u", p->server->step_id, world);
    return ret;
}

struct space *space_for(struct simple_pmi *p, const struct world *w)
{
    struct space *s = p->spaces;
    while (s && s->world != w->number)
        s = s->next;
    if (s)
        return s;
    AUTO_FREE char *mapping = world_process_mapping(w);
    s = must(calloc(1, sizeof(*s)));
    if (kvs_put_packed(&s->kvs, w->preput, w->npreput) < 0)
        log_warn("world %u: what its parent has put for it is damaged", w->number);
    /* Leave out a mapping that is too long: MPI then finds it out for itself. */
    if (strlen(mapping) < PMI_VALUE_MAX)
        kvs_put(&s->kvs, "PMI_process_mapping", mapping);
    s->pmi = p;
    s->world = w->number;
    space_name(p, w->number, s->name);
    s->next = p->spaces;
    p->spaces = s;
    return s;
}

void space_destroy(struct space *s)
{
    if (!s)
        return;
    struct space **at = &s->pmi->spaces;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    kvs_free(&s->kvs);
    kvs_free(&s->node);
    buffer_free(&s->fresh);
    free(s);
}

static const char *may_put(struct connection *c, const char *key, const char *value)
{
    if (!key || !value || !*key || strlen(key) > PMI_KEY_MAX || strlen(value) > PMI_VALUE_MAX)
        return "bad_put";
    c->nput += strlen(key) + strlen(value);
    return c->nput > PMI_PUT_MAX ? "more_bytes_than_a_rank_may_put" : NULL;
}

const char *space_put(struct connection *c, const char *key, const char *value)
{
    const char *why_not = may_put(c, key, value);
    if (why_not)
        return why_not;
    kvs_put(&c->space->kvs, key, value);
    kvs_pack(&c->space->fresh, key, value);
    return NULL;
}

const char *space_put_node(struct connection *c, const char *key, const char *value)
{
    const char *why_not = may_put(c, key, value);
    if (!why_not)
        kvs_put(&c->space->node, key, value);
    return why_not;
}

/* ---- the fence ------------------------------------------------------------------------------- */

static void fence_done(struct space *s)
{
    s->waiting = 0;
    struct connection *c;
    LIST_FOREACH(c, &s->pmi->connections, list)
    {
        if (c->space != s || !c->in_fence)
            continue;
        c->in_fence = false;
        c->dialect->fence_done(c);
    }
}

/* All hosts have come to the fence: data is what each of them has put. */
static void fence_collected(pmix_status_t status, const char *data, size_t n, void *cbdata,
                            pmix_release_cbfunc_t release, void *release_data)
{
    struct space *s = cbdata;
    if (status != PMIX_SUCCESS || kvs_put_packed(&s->kvs, (const uint8_t *)data, n) < 0) {
        struct error err;
        error_set(&err, EIO, "PMI fence of world %u: damaged data from other hosts", s->world);
        server_fail(s->pmi->server, &err);
    } else {
        fence_done(s);
    }
    if (release)
        release(release_data);
}

static void collect(struct space *s, const struct world *w)
{
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, w->nspace, PMIX_RANK_WILDCARD);
    struct collective_call call = {.kind = COLLECTIVE_BARRIER,
                                   .procs = &all,
                                   .nprocs = 1,
                                   .ndata = buffer_len(&s->fresh),
                                   .asker = {.modex = fence_collected, .cbdata = s}};
    if (call.ndata)
        call.data = (const char *)buffer_ptr(&s->fresh);
    pmix_status_t rc = collective_upcall(s->pmi->server, &call);
    if (rc != PMIX_SUCCESS)
        asker_answer(&call.asker, rc, NULL, 0);
}

void space_fence(struct connection *c)
{
    struct space *s = c->space;
    const struct world *w = connection_world(c);
    if (c->in_fence) {
        connection_refuse(c, "it is in the fence already, and asks for another");
        return;
    }
    c->in_fence = true;
    if (++s->waiting < rank_set_count(world_local_ranks(w)))
        return;
    if (w->nnodes > 1)
        collect(s, w);
    buffer_consume(&s->fresh, buffer_len(&s->fresh));
    if (w->nnodes == 1)
        fence_done(s);
}
