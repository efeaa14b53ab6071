/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes in is checked once, here: everything after it may rely on blocks that are ascending,
 * cover every rank once, and name nodes that exist. */
#include "pmix-server/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

static char *bytes_text(ProtobufCBinaryData b)
{
    return strndup(b.data ? (const char *)b.data : "", b.len);
}

void world_destroy(struct world *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->nnodes; i++)
        free(w->nodes[i].name);
    for (size_t i = 0; i < w->napps; i++) {
        free(w->apps[i].program);
        free(w->apps[i].directory);
    }
    for (size_t i = 0; i < w->nbound; i++)
        free(w->bound[i]);
    free(w->blocks);
    free(w->nodes);
    free(w->apps);
    free(w->bound);
    free(w->directory);
    free(w);
}

/* The node of a host name, new when it is the first block there; -1: out of memory. Blocks of one
 * host mostly follow each other, or there is one a host: the search backwards ends at once, or has
 * to see that the name is new. */
static int node_for(struct world *w, const char *name, uint32_t host, int distinct)
{
    for (size_t i = w->nnodes; !distinct && i-- > 0;)
        if (!strcmp(w->nodes[i].name, name))
            return (int)i;
    struct world_node *n = &w->nodes[w->nnodes];
    *n = (struct world_node){.name = strdup(name), .host = host};
    if (!n->name)
        return -1;
    return (int)w->nnodes++;
}

static int block_order(const void *a, const void *b)
{
    const struct world_block *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int name_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether no host has two placements: then nodes need no search, and 4,096 hosts stay cheap. */
static int names_distinct(char *const *names, size_t n)
{
    AUTO_FREE char **sorted = malloc(n * sizeof(*sorted));
    if (!sorted)
        return 0;
    memcpy(sorted, names, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), name_order);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(sorted[i - 1], sorted[i]))
            return 0;
    return 1;
}

static int check_cover(const struct world *w, struct error *err)
{
    uint64_t next = 0;
    for (size_t i = 0; i < w->nblocks; i++) {
        if (w->blocks[i].first != next)
            return error_set(err, EINVAL,
                             "take world %u: rank %llu has no host, or more than one host",
                             w->number, (unsigned long long)next);
        next += w->blocks[i].count;
    }
    if (next != w->nranks)
        return error_set(err, EINVAL, "take world %u: placements for %llu ranks, but %u ranks",
                         w->number, (unsigned long long)next, w->nranks);
    return 0;
}

static void number_local_ranks(struct world *w)
{
    for (size_t i = 0; i < w->nblocks; i++) {
        struct world_node *n = &w->nodes[w->blocks[i].node];
        if (!n->nblocks++)
            n->first_block = (uint32_t)i;
        w->blocks[i].first_local = n->nranks;
        n->nranks += w->blocks[i].count;
    }
}

static int place_blocks(struct world *w, const Mprun__PmiWorld *m, char *const *names,
                        struct error *err)
{
    int distinct = names_distinct(names, m->n_hosts);
    w->here = -1;
    for (size_t i = 0; i < m->n_hosts; i++) {
        const Mprun__Placement *p = m->hosts[i];
        if (!p->count)
            continue;
        int node = node_for(w, names[i], (uint32_t)i, distinct);
        if (node < 0)
            return error_errno(err, ENOMEM, "take world %u", w->number);
        if (!strcmp(names[i], names[m->host_index]))
            w->here = node;
        w->blocks[w->nblocks++] = (struct world_block){p->first_rank, p->count, (uint32_t)node, 0};
    }
    qsort(w->blocks, w->nblocks, sizeof(*w->blocks), block_order);
    if (check_cover(w, err) < 0)
        return -1;
    number_local_ranks(w);
    return 0;
}

static int take_placements(struct world *w, const Mprun__PmiWorld *m, struct error *err)
{
    AUTO_FREE char **names = calloc(m->n_hosts, sizeof(*names));
    w->blocks = calloc(m->n_hosts, sizeof(*w->blocks));
    w->nodes = calloc(m->n_hosts, sizeof(*w->nodes));
    int ok = names && w->blocks && w->nodes;
    for (size_t i = 0; ok && i < m->n_hosts; i++)
        ok = (names[i] = bytes_text(m->hosts[i]->host)) != NULL;
    int rc =
        ok ? place_blocks(w, m, names, err) : error_errno(err, ENOMEM, "take world %u", w->number);
    for (size_t i = 0; names && i < m->n_hosts; i++)
        free(names[i]);
    return rc;
}

static int take_app(struct world *w, const Mprun__App *a, struct error *err)
{
    if ((uint64_t)a->first_rank + a->count > w->nranks)
        return error_set(err, EINVAL,
                         "take world %u: a program's ranks %u and following %u are "
                         "not all in it",
                         w->number, a->first_rank, a->count);
    ProtobufCBinaryData nothing = {0, NULL};
    struct world_app *to = &w->apps[w->napps++];
    to->program = bytes_text(a->n_argv ? a->argv[0] : nothing);
    to->directory = bytes_text(a->directory);
    to->first = a->first_rank;
    to->count = a->count;
    if (!to->program || !to->directory)
        return error_errno(err, ENOMEM, "take world %u", w->number);
    return 0;
}

static int take_apps(struct world *w, const Mprun__PmiWorld *m, struct error *err)
{
    w->apps = calloc(m->n_apps ? m->n_apps : 1, sizeof(*w->apps));
    if (!w->apps)
        return error_errno(err, ENOMEM, "take world %u", w->number);
    for (size_t i = 0; i < m->n_apps; i++)
        if (take_app(w, m->apps[i], err) < 0)
            return -1;
    return 0;
}

static int take_bindings(struct world *w, const Mprun__PmiWorld *m, struct error *err)
{
    if (!m->n_bound_threads)
        return 0;
    if (m->n_bound_threads != world_local_count(w))
        return error_set(err, EINVAL, "take world %u: bindings of %zu ranks, but %u are here",
                         w->number, m->n_bound_threads, world_local_count(w));
    w->bound = calloc(m->n_bound_threads, sizeof(*w->bound));
    if (!w->bound)
        return error_errno(err, ENOMEM, "take world %u", w->number);
    for (size_t i = 0; i < m->n_bound_threads; i++) {
        w->bound[w->nbound++] = strdup(m->bound_threads[i]);
        if (!w->bound[i])
            return error_errno(err, ENOMEM, "take world %u", w->number);
    }
    return 0;
}

static int check_message(const Mprun__PmiWorld *m, struct error *err)
{
    if (!m->nspace[0] || strlen(m->nspace) > WORLD_NSPACE_MAX)
        return error_set(err, EINVAL, "take world %u: its name is empty or too long", m->world);
    if (!m->nranks)
        return error_set(err, EINVAL, "take world %u: it has no ranks", m->world);
    if (m->host_index >= m->n_hosts)
        return error_set(err, EINVAL, "take world %u: this is host %u of %zu", m->world,
                         m->host_index, m->n_hosts);
    return 0;
}

struct world *world_create(const Mprun__PmiWorld *m, struct error *err)
{
    if (check_message(m, err) < 0)
        return NULL;
    struct world *w = calloc(1, sizeof(*w));
    if (!w) {
        error_errno(err, ENOMEM, "take world %u", m->world);
        return NULL;
    }
    w->number = m->world;
    w->nranks = m->nranks;
    w->nhosts = (uint32_t)m->n_hosts;
    w->own_host = m->host_index;
    snprintf(w->nspace, sizeof(w->nspace), "%s", m->nspace);
    w->directory = bytes_text(m->directory);
    if (!w->directory)
        error_errno(err, ENOMEM, "take world %u", m->world);
    if (!w->directory || take_placements(w, m, err) < 0 || take_apps(w, m, err) < 0 ||
        take_bindings(w, m, err) < 0) {
        world_destroy(w);
        return NULL;
    }
    if (w->here >= 0)
        w->own_host = w->nodes[w->here].host;
    return w;
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

uint32_t world_local_count(const struct world *w)
{
    return w->here < 0 ? 0 : w->nodes[w->here].nranks;
}

const struct world_block *world_block_of(const struct world *w, uint32_t rank)
{
    size_t low = 0, high = w->nblocks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct world_block *b = &w->blocks[middle];
        if (rank < b->first)
            high = middle;
        else if (rank - b->first >= b->count)
            low = middle + 1;
        else
            return b;
    }
    return NULL;
}

int world_is_local(const struct world *w, uint32_t rank)
{
    const struct world_block *b = world_block_of(w, rank);
    return b && w->here >= 0 && b->node == (uint32_t)w->here;
}

const char *world_bound(const struct world *w, uint32_t local_rank)
{
    return local_rank < w->nbound ? w->bound[local_rank] : "";
}

const struct world_app *world_app_of(const struct world *w, uint32_t rank)
{
    for (size_t i = 0; i < w->napps; i++)
        if (rank >= w->apps[i].first && rank - w->apps[i].first < w->apps[i].count)
            return &w->apps[i];
    return NULL;
}

int world_add_host(const struct world *w, uint32_t rank, struct idset *hosts)
{
    const struct world_block *b = world_block_of(w, rank);
    return b ? idset_add(hosts, w->nodes[b->node].host) : -1;
}

int world_add_all_hosts(const struct world *w, struct idset *hosts)
{
    for (size_t i = 0; i < w->nnodes; i++)
        if (idset_add(hosts, w->nodes[i].host) < 0)
            return -1;
    return 0;
}

static void print_node_ranks(FILE *f, const struct world *w, uint32_t node)
{
    const char *separator = "";
    uint32_t left = w->nodes[node].nblocks;
    for (size_t i = w->nodes[node].first_block; left > 0; i++) {
        const struct world_block *b = &w->blocks[i];
        if (b->node != node)
            continue;
        left--;
        for (uint32_t k = 0; k < b->count; k++) {
            fprintf(f, "%s%u", separator, b->first + k);
            separator = ",";
        }
    }
}

/* One line of text from a function that prints it. */
static char *printed(void (*print)(FILE *f, const struct world *w, uint32_t node),
                     const struct world *w, uint32_t node)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    print(f, w, node);
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
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

/* A run: blocks of equal size on nodes that follow each other. */
static size_t run_length(const struct world *w, size_t at)
{
    size_t n = 1;
    while (at + n < w->nblocks && w->blocks[at + n].count == w->blocks[at].count &&
           w->blocks[at + n].node == w->blocks[at].node + n)
        n++;
    return n;
}

static void print_mapping(FILE *f, const struct world *w, uint32_t unused)
{
    fputs("(vector", f);
    for (size_t i = 0, n; i < w->nblocks; i += n) {
        n = run_length(w, i);
        fprintf(f, ",(%u,%zu,%u)", w->blocks[i].node, n, w->blocks[i].count);
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
