/* SPDX-License-Identifier: BSD-3-Clause */
/* allocation.c - the hosts that were granted */
#include "model/allocation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"

void allocation_free(struct allocation *a)
{
    for (size_t i = 0; i < a->nhosts; i++) {
        free(a->hosts[i].name);
        free(a->hosts[i].core_list);
        idset_free(&a->hosts[i].cores);
    }
    free(a->hosts);
    *a = (struct allocation){0};
}

struct alloc_host *allocation_add_host(struct allocation *a, const char *name)
{
    /* the array doubles: it is full when the number of hosts is 0 or a power of two */
    if ((a->nhosts & (a->nhosts - 1)) == 0) {
        size_t cap = a->nhosts ? 2 * a->nhosts : 1;
        a->hosts = must(reallocarray(a->hosts, cap, sizeof(*a->hosts)));
    }
    struct alloc_host *h = &a->hosts[a->nhosts++];
    *h = (struct alloc_host){.name = must(strdup(name))};
    return h;
}

int allocation_add_cores(struct alloc_host *h, const char *cores, size_t n)
{
    size_t have = h->core_list ? strlen(h->core_list) + 1 : 0;
    if (have + n > ALLOCATION_CORES_MAX)
        return error_number(E2BIG);
    h->core_list = must(realloc(h->core_list, have + n + 1));
    if (have)
        h->core_list[have - 1] = ':';
    memcpy(h->core_list + have, cores, n);
    h->core_list[have + n] = 0;
    return 0;
}

uint32_t allocation_slots(const struct allocation *a)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < a->nhosts; i++)
        sum += a->hosts[i].slots.value;
    return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}
