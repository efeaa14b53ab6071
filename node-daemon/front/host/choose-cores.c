/* SPDX-License-Identifier: BSD-3-Clause */
/* choose-cores.c - best fit, room by room
 *
 * Of 10,000 jobs of mixed sizes that one of four nodes could hold 86 % are in one at three quarters
 * of the load (97 % at half), where first fit has 51 (60): tests/unit/test-choose-cores.c. Filling
 * the emptiest node first, or the smallest holes with what has to be split, is worse. */
#include "node-daemon/front/host/host-cores.h"

#include <string.h>

struct choice {
    const struct host_cores *h;
    const unsigned char *free;
    unsigned char *taken;
};

static int is_left(const struct choice *c, size_t i)
{
    return c->free[i] && !c->taken[i];
}

struct room {
    unsigned group;
    size_t left;   /* cores in it */
    size_t around; /* cores in the package that it is in */
};

/* The room that is left of a group in `outer`, of the kind `of`; 0: it is elsewhere, or full. */
static struct room look(const struct choice *c, enum nearness kind, unsigned group,
                        enum nearness of, unsigned outer)
{
    struct room r = {.group = group};
    unsigned package = 0;
    for (size_t i = 0; i < c->h->n; i++)
        if (is_left(c, i) && c->h->core[i].group[kind] == group &&
            c->h->core[i].group[of] == outer) {
            package = c->h->core[i].group[NEAR_PACKAGE];
            r.left++;
        }
    for (size_t i = 0; r.left && i < c->h->n; i++)
        r.around += is_left(c, i) && c->h->core[i].group[NEAR_PACKAGE] == package;
    return r;
}

/* The group of this kind, within `outer` of the kind `of`, that has n cores left and the fewest
 * besides; of equal ones that in the fuller package, and the first. 0: there is none. */
static int best_fit(const struct choice *c, enum nearness kind, enum nearness of, unsigned outer,
                    size_t n, struct room *ret)
{
    int found = 0;
    for (unsigned g = 0; g < c->h->groups[kind]; g++) {
        struct room r = look(c, kind, g, of, outer);
        if (r.left < n ||
            (found && (r.left > ret->left || (r.left == ret->left && r.around >= ret->around))))
            continue;
        *ret = r;
        found = 1;
    }
    return found;
}

/* The group of this kind within `outer` that has most cores left: there is one. */
static struct room largest(const struct choice *c, enum nearness kind, enum nearness of,
                           unsigned outer)
{
    struct room best = {0};
    for (unsigned g = 0; g < c->h->groups[kind]; g++) {
        struct room r = look(c, kind, g, of, outer);
        if (r.left > best.left)
            best = r;
    }
    return best;
}

static void take_first(struct choice *c, unsigned cache, size_t n)
{
    for (size_t i = 0; i < c->h->n && n > 0; i++)
        if (is_left(c, i) && c->h->core[i].group[NEAR_CACHE] == cache) {
            c->taken[i] = 1;
            n--;
        }
}

/* Take n cores of a group that has as many left. Whether one NUMA node is enough comes before
 * everything else; where no part is, the largest is taken whole, and the rest in the same way. */
static void take(struct choice *c, enum nearness of, unsigned group, size_t n)
{
    struct room r;
    while (n > 0) {
        if (of == NEAR_CACHE) {
            take_first(c, group, n);
            return;
        }
        for (enum nearness kind = of > NEAR_NODE ? NEAR_NODE : NEAR_CACHE; kind < of; kind++)
            if (best_fit(c, kind, of, group, n, &r)) {
                take(c, kind, r.group, n);
                return;
            }
        r = largest(c, of - 1, of, group);
        take(c, of - 1, r.group, r.left);
        n -= r.left;
    }
}

int choose_cores(const struct host_cores *h, const unsigned char *free, size_t n,
                 unsigned char *ret)
{
    struct choice c = {.h = h, .free = free, .taken = ret};
    memset(ret, 0, h->n);
    if (host_cores_count(h, free) < n)
        return -1;
    take(&c, NEAR_HOST, 0, n);
    return 0;
}
