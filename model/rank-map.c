/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/rank-map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX

int rank_map_create(struct rank_map *m, uint32_t world, uint32_t nranks, struct error *err)
{
    *m = (struct rank_map){world, nranks, malloc((nranks + (size_t)1) * sizeof(*m->host))};
    if (!m->host)
        return error_errno(err, ENOMEM, "map %u ranks to hosts", nranks);
    memset(m->host, 0xff, nranks * sizeof(*m->host)); /* NOWHERE */
    return 0;
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
