/* SPDX-License-Identifier: BSD-3-Clause */
/* offer.h - hosts with the slots that they have left, for ranks that are placed after others */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"
#include "rm-adapters/hosts/hostlist.h"

struct offer { /* an allocation of its own */
    struct allocation alloc;
    uint32_t *index; /* of each host: its number among all */
};

/* Room for so many hosts. */
void offer_create(struct offer *ret, size_t nhosts);
void offer_free(struct offer *o);
/* Add host number `index`, of whose slots so many are taken. Of one that is in `named` (NULL: all
 * are) no more slots than are stated there. What it has is borrowed. */
void offer_add(struct offer *o, const struct alloc_host *h, uint32_t index, uint64_t taken,
               const struct hostlist *named);
/* Place ranks on them, the first of which has number `first` in its world: they are added to
 * hosts[], of all hosts. -1 with err. */
int offer_place(const struct offer *o, const struct plan_options *options, uint32_t first,
                struct rank_set *hosts, struct error *err);
