/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/tree/gather.h"

#include <stdbool.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "wire/little-endian.h"
#include "wire/tunables.h"

/* Keeps the first message as it came, and moves the parts of the others into it. */
struct pending {
    struct pending *next;
    Mprun__Collect *m;
    size_t awaited, room; /* parts; how many its list can take */
    uint8_t marks[];      /* a bit a host: its part is there */
};

struct gather {
    const struct gather_rules *rules;
    void *arg;
    struct pending *first;
    size_t n;
    size_t awaited_of_all; /* of a collective of all hosts; 0: not counted yet */
};

struct gather *gather_create(const struct gather_rules *rules, void *arg)
{
    struct gather *g = must(calloc(1, sizeof(*g)));
    *g = (struct gather){.rules = rules, .arg = arg};
    return g;
}

static void drop(struct gather *g, struct pending **at)
{
    struct pending *p = *at;
    *at = p->next;
    g->n--;
    mprun__collect__free_unpacked(p->m, NULL);
    free(p);
}

void gather_destroy(struct gather *g)
{
    while (g && g->first)
        drop(g, &g->first);
    free(g);
}

/* ---- which hosts ----------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool takes_part(const struct gather *g, const Mprun__Collect *m, uint32_t host)
{
    if (m->n_hosts == 0)
        return host < g->rules->nhosts;
    return bsearch(&host, m->hosts, m->n_hosts, sizeof(*m->hosts), by_number) != NULL;
}

static size_t count_awaited(struct gather *g, const Mprun__Collect *m)
{
    const struct gather_rules *r = g->rules;
    size_t n = 0;
    if (m->n_hosts) {
        for (size_t i = 0; i < m->n_hosts; i++)
            n += r->awaited(g->arg, m->hosts[i]) != 0;
        return n;
    }
    for (uint32_t h = 0; g->awaited_of_all == 0 && h < r->nhosts; h++)
        n += r->awaited(g->arg, h) != 0;
    if (n)
        g->awaited_of_all = n;
    return g->awaited_of_all;
}

static int check(const struct gather *g, const Mprun__Collect *m, struct error *err)
{
    if (m->n_hosts > g->rules->nhosts || m->n_parts == 0 || m->n_parts > g->rules->nhosts)
        return error_set(err, EPROTO, "a collective of an impossible number of hosts");
    for (size_t i = 0; i < m->n_hosts; i++)
        if (m->hosts[i] >= g->rules->nhosts || (i && m->hosts[i] <= m->hosts[i - 1]))
            return error_set(err, EPROTO, "a collective whose hosts are not in order");
    for (size_t i = 0; i < m->n_parts; i++) {
        uint32_t host = m->parts[i]->host;
        if (!takes_part(g, m, host) || !g->rules->awaited(g->arg, host) ||
            (i && host <= m->parts[i - 1]->host))
            return error_set(err, EPROTO, "a part of a collective from a host that has none");
    }
    return 0;
}

/* ---- putting together ------------------------------------------------------------------------ */

static int same(const Mprun__Collect *a, const Mprun__Collect *b)
{
    return a->turn == b->turn && a->signature.len == b->signature.len && a->n_hosts == b->n_hosts &&
           (a->signature.len == 0 ||
            memcmp(a->signature.data, b->signature.data, a->signature.len) == 0) &&
           (a->n_hosts == 0 || memcmp(a->hosts, b->hosts, a->n_hosts * sizeof(*a->hosts)) == 0);
}

static bool is_marked(const struct pending *p, uint32_t host)
{
    return p->marks[host / 8] >> (host % 8) & 1;
}

static void mark(struct pending *p, const Mprun__Collect *m)
{
    for (size_t i = 0; i < m->n_parts; i++)
        p->marks[m->parts[i]->host / 8] |= (uint8_t)(1 << m->parts[i]->host % 8);
}

static int by_host(const void *a, const void *b)
{
    Mprun__Collect__Part *const *x = a, *const *y = b;
    return by_number(&(*x)->host, &(*y)->host);
}

/* No host may be in both. Sorts parts only when all are there: sorting with every message would
 * cost more with more hosts. */
static int merge(struct pending *p, Mprun__Collect *from, struct error *err)
{
    Mprun__Collect *to = p->m;
    size_t n = to->n_parts + from->n_parts;
    for (size_t i = 0; i < from->n_parts; i++)
        if (is_marked(p, from->parts[i]->host))
            return error_set(err, EPROTO, "two parts of a host for one collective");
    if (n > p->room) {
        p->room = n > 2 * p->room ? n : 2 * p->room;
        to->parts = must(reallocarray(to->parts, p->room, sizeof(*to->parts)));
    }
    memcpy(to->parts + to->n_parts, from->parts, from->n_parts * sizeof(*to->parts));
    mark(p, from);
    to->n_parts = n;
    from->n_parts = 0; /* they have moved */
    return 0;
}

static int add_new(struct gather *g, struct pending **at, Mprun__Collect *m, struct error *err)
{
    if (g->n >= GATHER_MAX)
        return error_set(err, EPROTO, "more than %d collectives at a time", GATHER_MAX);
    struct pending *p = must(calloc(1, sizeof(*p) + g->rules->nhosts / 8 + 1));
    p->m = m;
    p->room = m->n_parts;
    mark(p, m);
    p->awaited = count_awaited(g, m);
    *at = p;
    g->n++;
    return 0;
}

static int add(struct gather *g, Mprun__Collect *m, struct error *err)
{
    struct pending **at = &g->first;
    while (*at && !same((*at)->m, m))
        at = &(*at)->next;
    if (!*at) {
        if (add_new(g, at, m, err) < 0)
            return -1;
    } else {
        if (merge(*at, m, err) < 0)
            return -1;
        mprun__collect__free_unpacked(m, NULL);
    }
    if ((*at)->m->n_parts >= (*at)->awaited) {
        qsort((*at)->m->parts, (*at)->m->n_parts, sizeof(*m->parts), by_host);
        g->rules->complete(g->arg, (*at)->m);
        drop(g, at);
    }
    return 0;
}

int gather_add(struct gather *g, const uint8_t *p, size_t n, struct error *err)
{
    Mprun__Collect *m = mprun__collect__unpack(NULL, n, p);
    if (!m)
        return error_set(err, EPROTO, "a collective that cannot be read");
    if (check(g, m, err) < 0 || add(g, m, err) < 0) {
        mprun__collect__free_unpacked(m, NULL);
        return -1;
    }
    return 0;
}

/* A signature is a byte, and then eight for each participant, of which the first four are its world
 * (pmix-server/pmix/requests.h). */
static bool has_world(const Mprun__Collect *m, uint32_t world)
{
    for (size_t at = 1; at + 8 <= m->signature.len; at += 8)
        if (get32(m->signature.data + at) == world)
            return true;
    return false;
}

void gather_forget(struct gather *g, uint32_t world)
{
    for (struct pending **at = &g->first; *at;)
        if (has_world((*at)->m, world))
            drop(g, at);
        else
            at = &(*at)->next;
}
