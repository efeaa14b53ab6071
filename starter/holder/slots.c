/* SPDX-License-Identifier: BSD-3-Clause */
/* slots.c - --wait-cores: which step has its turn */
#include "starter/holder/holder-private.h"

/* Returns a host that has too few free slots now; NULL: all have enough. A host whose slots nobody
 * has is enough, because a step may have more ranks than slots. */
static const struct need *lacks(const struct holder *h, const struct asker *a, uint32_t *ret_free)
{
    for (size_t i = 0; i < a->nneeds; i++) {
        uint64_t used = 0;
        for (const struct asker *b = h->askers; b; b = b->next)
            for (size_t k = 0; b->has_slots && k < b->nneeds; k++)
                used += b->needs[k].host == a->needs[i].host ? b->needs[k].n : 0;
        *ret_free = used < a->needs[i].of ? (uint32_t)(a->needs[i].of - used) : 0;
        if (used > 0 && a->needs[i].n > *ret_free)
            return &a->needs[i];
    }
    return NULL;
}

static struct asker *next_turn(const struct holder *h)
{
    struct asker *first = NULL;
    for (struct asker *a = h->askers; a; a = a->next)
        if (a->turn && !a->has_slots && (!first || a->turn < first->turn))
            first = a;
    return first;
}

void slots_give(struct holder *h)
{
    const struct need *lacking = NULL;
    uint32_t left;
    for (struct asker *a; (a = next_turn(h)) && !(lacking = lacks(h, a, &left));) {
        a->has_slots = true;
        asker_tell(a, HOLDER_HAS, 0, 0, NULL, 0);
    }
    for (struct asker *a = lacking ? h->askers : NULL; a; a = a->next) {
        if (!a->turn || a->has_slots || a->is_told)
            continue;
        const struct need *own = lacks(h, a, &left);
        a->is_told = true;
        asker_tell(a, HOLDER_WAIT, own ? own->number : UINT32_MAX, own ? (int)left : 0, NULL, 0);
    }
}
