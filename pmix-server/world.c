/* SPDX-License-Identifier: BSD-3-Clause */
/* world.c - world_create() checks the message; all other functions rely on a world in which each
 * rank is on one node. */
#include "pmix-server/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "wire/messages/launch.h"
#include "wire/messages/placements.h"
#include "wire/messages/values.h"

void world_destroy(struct world *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->nnodes; i++) {
        free(w->nodes[i].name);
        rank_set_free(&w->nodes[i].ranks);
    }
    for (size_t i = 0; i < w->napps; i++) {
        rank_set_free(&w->apps[i].ranks);
        free(w->apps[i].program);
        free(w->apps[i].directory);
    }
    for (size_t i = 0; i < w->nbound; i++)
        free(w->bound[i]);
    rank_map_free(&w->map);
    free(w->nodes);
    free(w->apps);
    free(w->bound);
    free(w->directory);
    free(w->preput);
    free(w);
}

/* Makes a node of each placement with ranks; takes its name and its ranks. */
static int make_nodes(struct world *w, struct placement *hosts, struct error *err)
{
    w->here = -1;
    w->nodes = must(calloc(w->nhosts + 1, sizeof(*w->nodes)));
    for (uint32_t i = 0; i < w->nhosts; i++) {
        uint32_t node = (uint32_t)w->nnodes;
        if (!rank_set_count(&hosts[i].ranks))
            continue;
        if (rank_map_put(&w->map, &hosts[i].ranks, node, err) < 0)
            return -1;
        if (i == w->own_host)
            w->here = (int)node;
        w->nodes[w->nnodes++] = (struct world_node){hosts[i].host, i, hosts[i].ranks};
        hosts[i].host = NULL; /* both are the node's now */
        hosts[i].ranks = (struct rank_set){0};
    }
    return 0;
}

static int take_placements(struct world *w, const Mprun__PmiWorld *m, struct error *err)
{
    struct placement *hosts = NULL;
    AUTO(rank_map_free) struct rank_map checked = {0};
    size_t n = 0;
    int rc = -1;
    rank_map_create(&checked, w->number, w->nranks);
    rank_map_create(&w->map, w->number, w->nranks);
    if (placements_unpack(m->hosts, m->n_hosts, &checked, &hosts, &n, err) == 0) {
        w->nhosts = (uint32_t)n;
        rc = w->own_host < w->nhosts || world_is_other(w)
                 ? make_nodes(w, hosts, err)
                 : error_set(err, EINVAL, "this is host %u of %u", w->own_host, w->nhosts);
    }
    placements_free(hosts, n);
    return rc;
}

static int take_app(struct world *w, const Mprun__App *a, uint32_t first, struct error *err)
{
    if (!a->count || (uint64_t)first + a->count > w->nranks)
        return error_set(err, EINVAL, "a program's %u ranks from %u on are not all in it", a->count,
                         first);
    struct world_app *to = &w->apps[w->napps++];
    to->program = a->n_argv ? bytes_dup(&a->argv[0]) : must(strdup(""));
    to->directory = bytes_dup(&a->directory);
    if (!to->program || !to->directory)
        return error_set(err, EINVAL, "a program's name or directory has a NUL in it");
    must_do(rank_set_add_block(&to->ranks, w->number, first, a->count));
    return 0;
}

static int take_apps(struct world *w, const Mprun__PmiWorld *m, struct error *err)
{
    w->apps = must(calloc(m->n_apps + 1, sizeof(*w->apps)));
    for (uint32_t i = 0, next = 0; i < m->n_apps; next += m->apps[i++]->count)
        if (take_app(w, m->apps[i], next, err) < 0)
            return -1;
    return 0;
}

static int take_bindings(struct world *w, const Mprun__PmiWorld *m, struct error *err)
{
    if (!m->n_bound_threads)
        return 0;
    uint32_t n = rank_set_count(world_local_ranks(w));
    if (m->n_bound_threads != n)
        return error_set(err, EINVAL, "bindings of %zu ranks, but %u are here", m->n_bound_threads,
                         n);
    w->bound = must(calloc(m->n_bound_threads, sizeof(*w->bound)));
    while (w->nbound < m->n_bound_threads) {
        w->bound[w->nbound] = must(strdup(m->bound_threads[w->nbound]));
        w->nbound++;
    }
    return 0;
}

static int take(struct world *w, const Mprun__PmiWorld *m, struct error *err)
{
    if (m->of_other_step != (m->world & WORLD_OF_OTHER_STEP ? 1 : 0))
        return error_set(err, EINVAL, "its number is not of its step");
    if (!m->nspace[0] || strlen(m->nspace) > WORLD_NSPACE_MAX)
        return error_set(err, EINVAL, "its name is empty or too long");
    if (!m->nranks || m->nranks > LAUNCH_RANKS_MAX)
        return error_set(err, EINVAL, "it has %s", m->nranks ? "too many ranks" : "no ranks");
    w->number = m->world;
    w->pmi = m->pmi;
    w->nranks = m->nranks;
    w->own_host = m->of_other_step ? UINT32_MAX : m->host_index;
    w->universe = m->universe;
    w->is_spawned = m->parent != NULL;
    w->parent = rank_name_unpack(m->parent);
    snprintf(w->nspace, sizeof(w->nspace), "%s", m->nspace);
    w->directory = m->of_other_step ? must(strdup("")) : bytes_dup(&m->directory);
    if (!w->directory)
        return error_set(err, EINVAL, "its directory has a NUL in it");
    if (m->preput.len) {
        w->preput = must(malloc(m->preput.len));
        memcpy(w->preput, m->preput.data, w->npreput = m->preput.len);
    }
    if (take_placements(w, m, err) < 0 || take_apps(w, m, err) < 0)
        return -1;
    return take_bindings(w, m, err);
}

struct world *world_create(const Mprun__PmiWorld *m, struct error *err)
{
    struct world *w = must(calloc(1, sizeof(*w)));
    if (take(w, m, err) == 0)
        return w;
    error_context(err, "take world %u", m->world);
    world_destroy(w);
    return NULL;
}

bool world_is_other(const struct world *w)
{
    return w->number & WORLD_OF_OTHER_STEP;
}

struct world *world_by_number(struct world *list, uint32_t number)
{
    while (list && list->number != number)
        list = list->next;
    return list;
}

struct world *world_by_nspace(struct world *list, const char *nspace)
{
    while (list && strcmp(list->nspace, nspace))
        list = list->next;
    return list;
}

const struct rank_set *world_local_ranks(const struct world *w)
{
    static const struct rank_set none;
    return w->here < 0 ? &none : &w->nodes[w->here].ranks;
}

int64_t world_node_of(const struct world *w, uint32_t rank)
{
    return rank_map_host(&w->map, (struct rank_name){.world = w->number, .rank = rank});
}

bool world_is_local(const struct world *w, uint32_t rank)
{
    return w->here >= 0 && world_node_of(w, rank) == w->here;
}

const char *world_bound(const struct world *w, uint32_t local_rank)
{
    return local_rank < w->nbound ? w->bound[local_rank] : "";
}

uint32_t world_universe(const struct world *w)
{
    return w->universe > w->nranks ? w->universe : w->nranks;
}

const struct world_app *world_app_of(const struct world *w, uint32_t rank)
{
    for (size_t i = 0; i < w->napps; i++)
        if (rank_set_has(&w->apps[i].ranks, (struct rank_name){w->number, rank, 0}))
            return &w->apps[i];
    return NULL;
}

int world_add_host(const struct world *w, uint32_t rank, struct idset *hosts)
{
    int64_t node = world_node_of(w, rank);
    return node < 0 ? -1 : idset_add_range(hosts, w->nodes[node].host, w->nodes[node].host);
}

int world_add_all_hosts(const struct world *w, struct idset *hosts)
{
    for (size_t i = 0; i < w->nnodes; i++)
        if (idset_add_range(hosts, w->nodes[i].host, w->nodes[i].host) < 0)
            return -1;
    return 0;
}

static void print_node_ranks(FILE *f, const struct world *w, uint32_t node)
{
    const struct rank_set *ranks = &w->nodes[node].ranks;
    for (uint32_t i = 0; i < rank_set_count(ranks); i++)
        fprintf(f, "%s%u", i ? "," : "", rank_set_at(ranks, i).rank);
}

/* Returns the text that a function prints; the caller frees it. */
static char *printed(void (*print)(FILE *f, const struct world *w, uint32_t node),
                     const struct world *w, uint32_t node)
{
    char *text = NULL;
    size_t size;
    FILE *f = must(open_memstream(&text, &size));
    print(f, w, node);
    must_do(fclose(f));
    return text;
}

static void print_names(FILE *f, const struct world *w, uint32_t unused)
{
    for (size_t i = 0; i < w->nnodes; i++)
        fprintf(f, "%s%s", i ? "," : "", w->nodes[i].name);
}

static void print_map(FILE *f, const struct world *w, uint32_t unused)
{
    for (uint32_t i = 0; i < w->nnodes; i++) {
        fputs(i ? ";" : "", f);
        print_node_ranks(f, w, i);
    }
}

/* Returns the number of ranks after which the hosts begin anew; all ranks, if they do not. Readers
 * of a mapping repeat it. */
static uint32_t turn_length(const struct world *w)
{
    const uint32_t *node = w->map.host;
    uint32_t n = 1;
    while (n < w->nranks && (node[n] != node[0] || node[n - 1] == node[0]))
        n++;
    for (uint32_t rank = n; rank < w->nranks; rank++)
        if (node[rank] != node[rank - n])
            return w->nranks;
    return n;
}

/* Returns how many ranks from this one on are on the same node. */
static uint32_t block_length(const struct world *w, uint32_t rank)
{
    uint32_t n = 1;
    while (world_node_of(w, rank + n) == world_node_of(w, rank))
        n++;
    return n;
}

/* Each part is blocks of equal size on consecutive nodes. */
static void print_mapping(FILE *f, const struct world *w, uint32_t unused)
{
    uint32_t end = turn_length(w);
    fputs("(vector", f);
    for (uint32_t rank = 0; rank < end;) {
        uint32_t each = block_length(w, rank), n = 0;
        int64_t first = world_node_of(w, rank);
        for (; rank < end && world_node_of(w, rank) == first + n && block_length(w, rank) == each;
             n++)
            rank += each;
        fprintf(f, ",(%u,%u,%u)", (uint32_t)first, n, each);
    }
    fputc(')', f);
}

char *world_process_mapping(const struct world *w)
{
    return printed(print_mapping, w, 0);
}

char *world_node_ranks(const struct world *w, uint32_t node)
{
    return printed(print_node_ranks, w, node);
}

char *world_node_names(const struct world *w)
{
    return printed(print_names, w, 0);
}

char *world_rank_map(const struct world *w)
{
    return printed(print_map, w, 0);
}
