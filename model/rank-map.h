/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-map.h - which host has a rank of a world: made of the rank sets of all hosts */
#pragma once

#include "common/error.h"
#include "model/rank-set.h"

struct rank_map {
    uint32_t world, nranks;
    uint32_t *host; /* by rank */
};

/* No rank has a host yet. -1: no memory. */
int rank_map_create(struct rank_map *m, uint32_t world, uint32_t nranks, struct error *err);
void rank_map_free(struct rank_map *m);
/* These ranks are on that host. -1: one is no rank of the world, or has another host already. */
int rank_map_put(struct rank_map *m, const struct rank_set *s, uint32_t host, struct error *err);
/* -1: some rank has no host. */
int rank_map_check(const struct rank_map *m, struct error *err);
/* The host; -1: there is no such rank. */
int64_t rank_map_host(const struct rank_map *m, struct rank_name r);
