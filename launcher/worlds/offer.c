/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/worlds/offer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/must.h"

void offer_create(struct offer *ret, size_t nhosts)
{
    *ret = (struct offer){.alloc.hosts = must(calloc(nhosts + 1, sizeof(*ret->alloc.hosts))),
                          .index = must(calloc(nhosts + 1, sizeof(*ret->index)))};
}

void offer_free(struct offer *o)
{
    free(o->alloc.hosts);
    free(o->index);
}

void offer_add(struct offer *o, const struct alloc_host *h, uint32_t index, uint64_t taken,
               const struct hostlist *named)
{
    struct alloc_host *to = &o->alloc.hosts[o->alloc.nhosts];
    const struct alloc_host *there = named ? hostlist_find(named, h->name) : NULL;
    uint32_t slots = taken < h->slots.value ? h->slots.value - (uint32_t)taken : 0;
    if (named && !there)
        return;
    *to = *h;
    if (there && named->stated && there->slots.value < slots)
        slots = there->slots.value;
    to->slots.value = slots;
    to->max_slots = 0;
    if (taken)
        snprintf(to->slots.source, sizeof(to->slots.source), "free of %u", h->slots.value);
    o->index[o->alloc.nhosts++] = index;
}

int offer_place(const struct offer *o, const struct plan_options *options, uint32_t first,
                struct rank_set *hosts, struct error *err)
{
    AUTO(plan_free) struct plan p = {.nhosts = 0};
    if (plan(&o->alloc, options, &p, err) < 0)
        return -1;
    for (size_t i = 0; i < p.nhosts; i++)
        for (uint32_t k = 0; k < rank_set_count(&p.hosts[i]); k++) {
            struct rank_name name = rank_set_at(&p.hosts[i], k);
            name.rank += first;
            if (rank_set_add(&hosts[o->index[i]], name) < 0)
                return error_errno(err, errno, "place rank %u", name.rank);
        }
    return 0;
}
