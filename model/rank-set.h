/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-set.h - which ranks of which worlds a host, or a program, has
 *
 * A set is kept as cycles: the ranks first, first + stride, ... of one world. A block has stride 1,
 * a list is as many cycles as it needs. Ranks are ascending by world and rank, and a rank's index
 * in its host's set is its local rank. The incarnation of a name does not matter here.
 *
 * All arithmetic on ranks is in rank-set.c. A rank map, made of the rank sets of all hosts, answers
 * which host has a rank of a world. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "model/rank-name.h"

struct rank_cycle {
    uint32_t world, first, stride, count; /* count is never 0 */
    uint32_t before;                      /* ranks of the set in front of it; rank-set.c sets it */
};

/* Empty when zeroed. The cycles are for wire/messages/placements.c; others ask functions. */
struct rank_set {
    struct rank_cycle *cycles;
    size_t ncycles;
};

void rank_set_free(struct rank_set *s);

/* Add at the end. -1: not all are behind the last rank of the set, or their numbers do not fit.
 * Nothing is changed then. */
int rank_set_add(struct rank_set *s, struct rank_name r); /* makes cycles of what is regular */
int rank_set_add_block(struct rank_set *s, uint32_t world, uint32_t first, uint32_t count);
int rank_set_add_cycle(struct rank_set *s, struct rank_cycle c);
int rank_set_add_all(struct rank_set *s, const struct rank_set *from);

uint32_t rank_set_count(const struct rank_set *s);
/* The rank with this index, which is below the count. */
struct rank_name rank_set_at(const struct rank_set *s, uint32_t index);
/* The index of a rank; -1: it is not in the set. */
int64_t rank_set_index(const struct rank_set *s, struct rank_name r);
bool rank_set_has(const struct rank_set *s, struct rank_name r);
bool rank_set_meets(const struct rank_set *a, const struct rank_set *b); /* a rank is in both */
/* The distance by which all ranks of b are above those of a; -1: the sets differ otherwise. */
int64_t rank_set_distance(const struct rank_set *a, const struct rank_set *b);

/* "rank 7", "ranks 0 to 3", "ranks 1, 4 to 10 in steps of 2, 12", "no ranks". The caller frees it.
 */
char *rank_set_format(const struct rank_set *s);

struct rank_map {
    uint32_t world, nranks;
    uint32_t *host; /* by rank */
};

/* No rank has a host yet. */
void rank_map_create(struct rank_map *m, uint32_t world, uint32_t nranks);
void rank_map_free(struct rank_map *m);
/* These ranks are on that host. -1: one is no rank of the world, or has another host already. */
int rank_map_put(struct rank_map *m, const struct rank_set *s, uint32_t host, struct error *err);
/* -1: some rank has no host. */
int rank_map_check(const struct rank_map *m, struct error *err);
/* The host; -1: there is no such rank. */
int64_t rank_map_host(const struct rank_map *m, struct rank_name r);
