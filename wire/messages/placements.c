/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/messages/placements.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text/host-name-list.h"
#include "common/text/idset.h"
#include "common/must.h"
#include "wire/messages/values.h"

enum {
    NAME_MAX_LENGTH = 300, /* of a host whose name is made; others may be longer */
    NUMBERS = 3,           /* of a cycle: first, stride, count */
};

/* ---- out ------------------------------------------------------------------------------------- */

void packed_placements_free(struct packed_placements *p)
{
    for (size_t i = 0; i < p->n; i++) {
        if (!p->list[i]->granted_all)
            free(p->list[i]->granted_threads);
        free(p->list[i]->ranks);
        free(p->list[i]);
    }
    free(p->list);
    *p = (struct packed_placements){0};
}

static void placement_pack(const struct placement *p, Mprun__Placement *ret)
{
    const struct rank_set *s = &p->ranks;
    mprun__placement__init(ret);
    ret->host = bytes_of(p->host);
    ret->granted_all = !p->granted;
    ret->share = p->share;
    if (p->granted)
        ret->granted_threads = idset_format(p->granted);
    if (p->granted_cores)
        ret->granted_cores = (char *)(uintptr_t)p->granted_cores;
    if (p->slots)
        ret->slots = (char *)(uintptr_t)p->slots;
    ret->ranks = must(malloc(s->ncycles * NUMBERS * sizeof(*ret->ranks) + 1));
    for (size_t i = 0; i < s->ncycles; i++) {
        ret->ranks[ret->n_ranks++] = s->cycles[i].first;
        ret->ranks[ret->n_ranks++] = s->cycles[i].stride;
        ret->ranks[ret->n_ranks++] = s->cycles[i].count;
    }
}

/* Returns whether q, k places after p, continues p's run. Compares grants as text. */
static bool follows(const struct placement *p, const char *granted, const struct placement *q,
                    uint32_t k)
{
    char name[NAME_MAX_LENGTH];
    const char *cores = p->granted_cores ? p->granted_cores : "";
    if (strcmp(q->slots ? q->slots : "", p->slots ? p->slots : "") != 0 || q->share != p->share ||
        !q->granted != !granted || strcmp(q->granted_cores ? q->granted_cores : "", cores) != 0 ||
        name_run_at(p->host, strlen(p->host), k, name, sizeof(name)) < 0 ||
        strcmp(name, q->host) != 0)
        return false;
    AUTO_FREE char *own = granted ? idset_format(q->granted) : NULL;
    return !granted || strcmp(own, granted) == 0;
}

/* Puts those of the n hosts after `first` that continue its message into it. Returns how many. */
static size_t run_pack(const struct placement *first, size_t n, Mprun__Placement *m)
{
    const char *granted = m->granted_all ? NULL : m->granted_threads;
    int64_t shift = n > 1 ? rank_set_distance(&first[0].ranks, &first[1].ranks) : -1;
    uint32_t k = 1;
    while (k < n && shift >= 0 &&
           rank_set_distance(&first->ranks, &first[k].ranks) == shift * (int64_t)k &&
           follows(first, granted, &first[k], k))
        k++;
    m->following = k - 1;
    m->shift = k > 1 ? (uint32_t)shift : 0;
    return k;
}

void placements_pack(const struct placement *hosts, size_t n, struct packed_placements *ret)
{
    *ret = (struct packed_placements){.list = must(calloc(n + 1, sizeof(Mprun__Placement *)))};
    for (size_t i = 0; i < n;) {
        Mprun__Placement *m = ret->list[ret->n++] = must(malloc(sizeof(*m)));
        placement_pack(&hosts[i], m);
        i += run_pack(&hosts[i], n - i, m);
    }
}

/* ---- in -------------------------------------------------------------------------------------- */

void placements_free(struct placement *hosts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(hosts[i].host);
        rank_set_free(&hosts[i].ranks);
    }
    free(hosts);
}

static char *name_in_run(const Mprun__Placement *m, uint32_t k)
{
    char name[NAME_MAX_LENGTH];
    if (k == 0)
        return bytes_dup(&m->host);
    if (!m->host.len || memchr(m->host.data, 0, m->host.len) ||
        name_run_at((const char *)m->host.data, m->host.len, k, name, sizeof(name)) < 0)
        return NULL;
    return strdup(name);
}

static int ranks_unpack(const Mprun__Placement *m, uint32_t k, uint32_t world, struct rank_set *ret)
{
    for (size_t i = 0; i < m->n_ranks; i += NUMBERS) {
        uint64_t first = m->ranks[i] + (uint64_t)k * m->shift;
        struct rank_cycle c = {.world = world, .first = (uint32_t)first};
        if (first > UINT32_MAX || m->n_ranks - i < NUMBERS)
            return -1;
        c.stride = m->ranks[i + 1];
        c.count = m->ranks[i + 2];
        if (rank_set_add_cycle(ret, c) < 0)
            return -1;
    }
    return 0;
}

/* Unpacks one host, or several whose names count up, at *n. */
static int placement_unpack(const Mprun__Placement *m, struct rank_map *map,
                            struct placement *hosts, size_t *n, struct error *err)
{
    for (uint32_t k = 0; k <= m->following; k++) {
        struct placement *p = &hosts[(*n)++];
        p->host = name_in_run(m, k);
        p->share = m->share;
        if (!p->host)
            return error_set(err, EPROTO, "hosts whose names cannot be");
        if (ranks_unpack(m, k, map->world, &p->ranks) < 0)
            return error_set(err, EPROTO, "a host whose ranks do not ascend");
        if (rank_map_put(map, &p->ranks, (uint32_t)(*n - 1), err) < 0)
            return -1;
    }
    return 0;
}

int placements_unpack(Mprun__Placement *const *list, size_t n, struct rank_map *map,
                      struct placement **ret, size_t *ret_n, struct error *err)
{
    uint64_t nhosts = n;
    size_t done = 0;
    for (size_t i = 0; i < n; i++)
        nhosts += list[i]->following;
    if (nhosts > IDSET_MAX)
        return error_set(err, EPROTO, "more than %d hosts", IDSET_MAX);
    struct placement *hosts = must(calloc(nhosts + 1, sizeof(*hosts)));
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = placement_unpack(list[i], map, hosts, &done, err);
    if (rc == 0)
        rc = rank_map_check(map, err);
    if (rc < 0) {
        placements_free(hosts, done);
        return -1;
    }
    *ret = hosts;
    *ret_n = done;
    return 0;
}
