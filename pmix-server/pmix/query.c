/* SPDX-License-Identifier: BSD-3-Clause */
/* query.c - what a rank may ask about the step: its namespaces and their sizes
 *
 * The library answers questions about itself, and keeps what it has passed on until it has the
 * answer. */
#include "pmix-server/pmix/requests.h"

#include <stdlib.h>
#include <string.h>

#include <pmix.h>

#include "common/cleanup.h"
#include "pmix-server/pmix/infos.h"
#include "pmix-server/server.h"
#include "pmix-server/world.h"

struct query_item {
    struct bridge_item item;
    pmix_query_t *queries;
    size_t nqueries;
    pmix_info_cbfunc_t cbfunc;
    void *cbdata;
    struct infos answer; /* the library reads it until it calls query_answered */
};

static uint32_t job_size(const struct world *w)
{
    return w->nranks;
}

static uint32_t universe_size(const struct world *w)
{
    return world_universe(w);
}

static uint32_t number_of_nodes(const struct world *w)
{
    return (uint32_t)w->nnodes;
}

static uint32_t local_size(const struct world *w)
{
    return rank_set_count(world_local_ranks(w));
}

static const struct {
    const char *key;
    uint32_t (*of)(const struct world *w);
} numbers[] = {
    {PMIX_JOB_SIZE, job_size},
    {PMIX_UNIV_SIZE, universe_size},
    {PMIX_NUM_NODES, number_of_nodes},
    {PMIX_LOCAL_SIZE, local_size},
};
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

/* Appends a word to a list with commas. -1: out of memory. */
static int add_word(char **list, const char *word)
{
    char *longer = NULL;
    if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? "," : "", word) < 0)
        return -1;
    free(*list);
    *list = longer;
    return 0;
}

static void add_list(struct infos *to, const char *key, const char *list)
{
    if (list)
        infos_string(to, key, list);
    else if (to->status == PMIX_SUCCESS)
        to->status = PMIX_ERR_NOMEM;
}

static void add_namespaces(struct infos *to, const struct world *worlds)
{
    AUTO_FREE char *list = NULL;
    for (const struct world *w = worlds; w; w = w->next)
        if (add_word(&list, w->nspace) < 0)
            to->status = PMIX_ERR_NOMEM;
    add_list(to, PMIX_QUERY_NAMESPACES, list);
}

static void add_keys(struct infos *to)
{
    AUTO_FREE char *list = NULL;
    int rc = add_word(&list, PMIX_QUERY_NAMESPACES "," PMIX_QUERY_SUPPORTED_KEYS);
    for (size_t i = 0; rc == 0 && i < NUMBERS; i++)
        rc = add_word(&list, numbers[i].key);
    add_list(to, PMIX_QUERY_SUPPORTED_KEYS, rc == 0 ? list : NULL);
}

/* w: the world that is asked about; NULL: there is no such world. */
static void answer_key(struct infos *to, const char *key, const struct world *w,
                       const struct world *worlds)
{
    if (!strcmp(key, PMIX_QUERY_NAMESPACES))
        add_namespaces(to, worlds);
    else if (!strcmp(key, PMIX_QUERY_SUPPORTED_KEYS))
        add_keys(to);
    for (size_t i = 0; w && i < NUMBERS; i++)
        if (!strcmp(key, numbers[i].key))
            infos_u32(to, key, numbers[i].of(w));
}

/* The library does not say which rank asks: without a namespace the step's first world is meant. */
static const struct world *world_asked(const pmix_query_t *q, struct world *worlds)
{
    for (size_t i = 0; i < q->nqual; i++)
        if (PMIX_CHECK_KEY(&q->qualifiers[i], PMIX_NSPACE) &&
            q->qualifiers[i].value.type == PMIX_STRING && q->qualifiers[i].value.data.string)
            return world_by_nspace(worlds, q->qualifiers[i].value.data.string);
    return world_by_number(worlds, 0);
}

static void query_answered(void *cbdata)
{
    struct query_item *q = cbdata;
    infos_free(&q->answer);
    free(q);
}

static void query_run(struct bridge_item *item, struct server *s)
{
    struct query_item *q = (struct query_item *)item;
    size_t wanted = 0;
    for (size_t i = 0; i < q->nqueries; i++) {
        const struct world *w = world_asked(&q->queries[i], s->worlds);
        for (char **key = q->queries[i].keys; key && *key; key++, wanted++)
            answer_key(&q->answer, *key, w, s->worlds);
    }
    pmix_status_t status = q->answer.status;
    if (status == PMIX_SUCCESS && q->answer.n < wanted)
        status = q->answer.n ? PMIX_QUERY_PARTIAL_SUCCESS : PMIX_ERR_NOT_FOUND;
    q->cbfunc(status, q->answer.v, q->answer.n, q->cbdata, query_answered, q);
}

pmix_status_t query_upcall(struct server *s, pmix_query_t *queries, size_t n,
                           pmix_info_cbfunc_t cbfunc, void *cbdata)
{
    struct query_item *q = calloc(1, sizeof(*q));
    if (!q)
        return PMIX_ERR_NOMEM;
    *q = (struct query_item){.item.run = query_run,
                             .queries = queries,
                             .nqueries = n,
                             .cbfunc = cbfunc,
                             .cbdata = cbdata};
    bridge_post(&s->bridge, &q->item);
    return PMIX_SUCCESS;
}
