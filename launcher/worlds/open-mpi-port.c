/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/worlds/open-mpi-port.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "launcher/worlds/worlds.h"

#define JOB_BITS (~UINT32_C(0x8000))

/* Takes digits and the letter behind them off *at. */
static bool take_number(const char **at, char behind, uint64_t *ret)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    *ret = strtoull(*at, &end, 10);
    *at = end + 1;
    return *end == behind;
}

/* As Open MPI computes it (Jenkins' one-at-a-time), for a namespace that its own launcher has not
 * made. Some versions clear bit 15: it counts nowhere. */
static uint32_t job_of(const char *nspace)
{
    uint32_t hash = 0;
    for (; *nspace; nspace++) {
        hash += (unsigned char)*nspace;
        hash += hash << 10;
        hash ^= hash >> 6;
    }
    hash += hash << 3;
    hash ^= hash >> 11;
    hash += hash << 15;
    return hash & JOB_BITS;
}

enum port_owner open_mpi_port_owner(const struct worlds *w, const char *name)
{
    uint64_t job, rank, number;
    if (!w || !take_number(&name, '.', &job) || !take_number(&name, ':', &rank) ||
        !take_number(&name, ':', &number) || job > UINT32_MAX || !islower((unsigned char)*name))
        return PORT_NONE;
    for (const struct world *world = w->first; world; world = world->next)
        if (world->ended < world->nranks && job_of(world->nspace) == (job & JOB_BITS))
            return PORT_OWN;
    return PORT_ELSEWHERE;
}
