/* SPDX-License-Identifier: BSD-3-Clause */
/* slots.c - --wait-cores: which step has its turn, and what others have taken */
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "starter/holder/holder-private.h"

static struct asker *next_turn(const struct holder *h)
{
    struct asker *first = NULL;
    for (struct asker *a = h->askers; a; a = a->next)
        if (a->turn && !a->has_slots && !a->is_gone && (!first || a->turn < first->turn))
            first = a;
    return first;
}

static size_t count_taken(const struct holder *h)
{
    size_t n = 0;
    for (const struct asker *a = h->askers; a; a = a->next)
        n += a->has_slots ? a->nneeds : 0;
    return n;
}

/* Adds to the n hosts so far. Returns how many there are. */
static size_t add_taken(struct holder_taken *all, size_t n, const struct holder_taken *one)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].host == one->host) {
            all[i].slots += one->slots;
            return n;
        }
    all[n] = *one;
    return n + 1;
}

static void tell_taken(const struct holder *h, struct asker *to)
{
    size_t left = 0;
    AUTO_FREE struct holder_taken *all = must(calloc(count_taken(h) + 1, sizeof(*all)));
    for (const struct asker *a = h->askers; a; a = a->next)
        for (size_t i = 0; a->has_slots && i < a->nneeds; i++)
            left = add_taken(all, left, &a->needs[i]);
    const struct holder_taken *from = all;
    do {
        size_t n = left < HOLDER_TAKEN_MAX ? left : HOLDER_TAKEN_MAX;
        left -= n;
        asker_tell(to, HOLDER_TAKEN, 0, (int)left, from, n * sizeof(*from));
        from += n;
    } while (left > 0);
}

void slots_offer(struct holder *h)
{
    struct asker *head = next_turn(h);
    if (head && head->seen != h->nfreed) {
        head->seen = h->nfreed;
        tell_taken(h, head);
    }
    for (struct asker *a = head && head->waits ? h->askers : NULL; a; a = a->next)
        if (a != head && a->turn && !a->has_slots && !a->is_told) {
            a->is_told = true;
            asker_tell(a, HOLDER_WAIT, 0, 0, NULL, 0);
        }
}
