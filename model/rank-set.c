/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-set.c - all arithmetic on ranks, and the words for them */
#include "model/rank-set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "common/text/text.h"

void rank_set_free(struct rank_set *s)
{
    free(s->cycles);
    *s = (struct rank_set){0};
}

/* ---- making one ------------------------------------------------------------------------------ */

static uint32_t last_of(const struct rank_cycle *c)
{
    return c->first + c->stride * (c->count - 1);
}

/* The last cycle; NULL: the set is empty. */
static struct rank_cycle *end_of(const struct rank_set *s)
{
    return s->ncycles ? &s->cycles[s->ncycles - 1] : NULL;
}

static bool is_behind(const struct rank_set *s, uint32_t world, uint32_t rank)
{
    const struct rank_cycle *end = end_of(s);
    return !end || world > end->world || (world == end->world && rank > last_of(end));
}

int rank_set_add_cycle(struct rank_set *s, struct rank_cycle c)
{
    uint64_t last = c.first + (uint64_t)c.stride * (c.count - 1);
    uint64_t total = (uint64_t)rank_set_count(s) + c.count;
    if (c.count == 0 || c.stride == 0 || last > UINT32_MAX || total > UINT32_MAX ||
        !is_behind(s, c.world, c.first))
        return error_number(EINVAL);
    if ((s->ncycles & (s->ncycles - 1)) == 0) { /* room for as many is used up */
        size_t room = s->ncycles ? 2 * s->ncycles : 1;
        s->cycles = must(reallocarray(s->cycles, room, sizeof(*s->cycles)));
    }
    c.before = rank_set_count(s);
    s->cycles[s->ncycles++] = c;
    return 0;
}

int rank_set_add_block(struct rank_set *s, uint32_t world, uint32_t first, uint32_t count)
{
    return rank_set_add_cycle(s, (struct rank_cycle){world, first, 1, count, 0});
}

int rank_set_add(struct rank_set *s, struct rank_name r)
{
    struct rank_cycle *end = end_of(s);
    if (!end || end->world != r.world || !is_behind(s, r.world, r.rank) ||
        (end->count > 1 && r.rank - last_of(end) != end->stride))
        return rank_set_add_block(s, r.world, r.rank, 1);
    end->stride = r.rank - last_of(end);
    end->count++;
    return 0;
}

int rank_set_add_all(struct rank_set *s, const struct rank_set *from)
{
    for (size_t i = 0; i < from->ncycles; i++)
        if (rank_set_add_cycle(s, from->cycles[i]) < 0)
            return -1;
    return 0;
}

/* ---- asking it ------------------------------------------------------------------------------- */

uint32_t rank_set_count(const struct rank_set *s)
{
    const struct rank_cycle *end = end_of(s);
    return end ? end->before + end->count : 0;
}

struct rank_name rank_set_at(const struct rank_set *s, uint32_t index)
{
    size_t low = 0, high = s->ncycles;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->cycles[middle].before <= index)
            low = middle;
        else
            high = middle;
    }
    const struct rank_cycle *c = &s->cycles[low];
    return (struct rank_name){.world = c->world,
                              .rank = c->first + c->stride * (index - c->before)};
}

int64_t rank_set_index(const struct rank_set *s, struct rank_name r)
{
    size_t low = 0, high = s->ncycles;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rank_cycle *c = &s->cycles[middle];
        if (r.world < c->world || (r.world == c->world && r.rank < c->first))
            high = middle;
        else if (r.world > c->world || r.rank > last_of(c))
            low = middle + 1;
        else if ((r.rank - c->first) % c->stride)
            return -1;
        else
            return c->before + (r.rank - c->first) / c->stride;
    }
    return -1;
}

bool rank_set_has(const struct rank_set *s, struct rank_name r)
{
    return rank_set_index(s, r) >= 0;
}

bool rank_set_meets(const struct rank_set *a, const struct rank_set *b)
{
    for (uint32_t i = 0; i < rank_set_count(a); i++)
        if (rank_set_has(b, rank_set_at(a, i)))
            return true;
    return false;
}

int64_t rank_set_distance(const struct rank_set *a, const struct rank_set *b)
{
    int64_t distance = 0;
    if (a->ncycles != b->ncycles)
        return -1;
    for (size_t i = 0; i < a->ncycles; i++) {
        const struct rank_cycle *x = &a->cycles[i], *y = &b->cycles[i];
        int64_t here = (int64_t)y->first - x->first;
        if (x->world != y->world || x->count != y->count || x->stride != y->stride || here < 0 ||
            (i > 0 && here != distance))
            return -1;
        distance = here;
    }
    return distance;
}

/* ---- in words -------------------------------------------------------------------------------- */

const char *rank_name_format(struct rank_name r, char *buf)
{
    if (r.incarnation)
        snprintf(buf, RANK_NAME_TEXT, "%" PRIu32 ".%" PRIu32 ".%" PRIu32, r.world, r.rank,
                 r.incarnation);
    else if (r.world)
        snprintf(buf, RANK_NAME_TEXT, "%" PRIu32 ".%" PRIu32, r.world, r.rank);
    else
        snprintf(buf, RANK_NAME_TEXT, "%" PRIu32, r.rank);
    return buf;
}

char *rank_name_fill_in(const char *word, struct rank_name r, const char *host)
{
    char name[RANK_NAME_TEXT];
    struct text_writer text;
    FILE *f = text_begin(&text);
    for (; *word; word++) {
        bool is_rank = word[0] == '%' && word[1] == 'r', is_host = word[0] == '%' && word[1] == 'h';
        if (is_rank)
            fputs(rank_name_format(r, name), f);
        else if (is_host)
            fputs(host, f);
        else
            fputc(*word, f);
        word += is_rank || is_host;
    }
    return text_end(&text);
}

static void print_cycle(FILE *f, const struct rank_cycle *c)
{
    char first[RANK_NAME_TEXT], last[RANK_NAME_TEXT];
    rank_name_format((struct rank_name){c->world, c->first, 0}, first);
    rank_name_format((struct rank_name){c->world, last_of(c), 0}, last);
    if (c->count == 1)
        fprintf(f, "%s", first);
    else if (c->stride == 1)
        fprintf(f, "%s to %s", first, last);
    else if (c->count == 2)
        fprintf(f, "%s, %s", first, last);
    else
        fprintf(f, "%s to %s in steps of %u", first, last, c->stride);
}

char *rank_set_format(const struct rank_set *s)
{
    struct text_writer text;
    FILE *f = text_begin(&text);
    fputs(s->ncycles == 0 ? "no ranks" : rank_set_count(s) == 1 ? "rank " : "ranks ", f);
    for (size_t i = 0; i < s->ncycles; i++) {
        fputs(i ? ", " : "", f);
        print_cycle(f, &s->cycles[i]);
    }
    return text_end(&text);
}

/* ---- the hosts of ranks ---------------------------------------------------------------------- */

#define NOWHERE UINT32_MAX

void rank_map_create(struct rank_map *m, uint32_t world, uint32_t nranks)
{
    *m = (struct rank_map){world, nranks, must(malloc((nranks + (size_t)1) * sizeof(*m->host)))};
    memset(m->host, 0xff, nranks * sizeof(*m->host)); /* NOWHERE */
}

void rank_map_free(struct rank_map *m)
{
    free(m->host);
    *m = (struct rank_map){0};
}

int rank_map_put(struct rank_map *m, const struct rank_set *s, uint32_t host, struct error *err)
{
    for (uint32_t i = 0; i < rank_set_count(s); i++) {
        struct rank_name r = rank_set_at(s, i);
        if (r.world != m->world || r.rank >= m->nranks)
            return error_set(err, EINVAL, "rank %u of a world of %u ranks", r.rank, m->nranks);
        if (m->host[r.rank] != NOWHERE)
            return error_set(err, EINVAL, "rank %u has more than one host", r.rank);
        m->host[r.rank] = host;
    }
    return 0;
}

int rank_map_check(const struct rank_map *m, struct error *err)
{
    for (uint32_t rank = 0; rank < m->nranks; rank++)
        if (m->host[rank] == NOWHERE)
            return error_set(err, EINVAL, "rank %u has no host", rank);
    return 0;
}

int64_t rank_map_host(const struct rank_map *m, struct rank_name r)
{
    if (r.world != m->world || r.rank >= m->nranks || m->host[r.rank] == NOWHERE)
        return -1;
    return m->host[r.rank];
}
