/* SPDX-License-Identifier: BSD-3-Clause */
/* usage.c - what a rank's processes, or all ranks', used as the kernel counted it */
#include "containment/cgroup-private.h"

void cgroup_leaf_usage(const struct cgroup_leaf *leaf, struct usage *u)
{
    const struct cgroup_tree *t = leaf->tree;
    for (size_t i = 0; i < t->nh; i++)
        if (leaf->in[i] == LEAF_OWN)
            t->h[i].driver->usage(leaf_at(leaf, i), t->h[i].for_ranks, u);
}

/* v1 counts hits and kills where they happen and nowhere above. */
static void add_events(const struct cgroup_tree *t, size_t i, struct usage *u)
{
    uint64_t hits = t->gone_hits, kills = t->gone_kills;
    for (const struct cgroup_leaf *leaf = t->leaves; leaf; leaf = leaf->next) {
        struct oom_count c;
        if (leaf->in[i] != LEAF_OWN || leaf->counted ||
            t->h[i].driver->oom_count(leaf_at(leaf, i), &c) < 0)
            continue;
        hits += c.hits;
        kills += c.kills;
    }
    usage_set(u, USAGE_LIMIT_EVENTS, u->value[USAGE_LIMIT_EVENTS] + hits);
    usage_set(u, USAGE_OOM_KILLS, u->value[USAGE_OOM_KILLS] + kills);
}

void cgroup_tree_usage(const struct cgroup_tree *t, struct usage *u)
{
    for (size_t i = 0; i < t->nh; i++) {
        const struct hierarchy *h = &t->h[i];
        /* a hierarchy that not every rank was in from its birth knows only a part */
        if (!hierarchy_made(h) || (h->missed && h->driver->version == 1))
            continue;
        h->driver->usage(hierarchy_ranks(h), h->controllers, u);
        if (h->driver->version == 1 && usage_has(u, USAGE_OOM_KILLS) &&
            (h->controllers & CGROUP_BIT(CGROUP_MEMORY)))
            add_events(t, i, u);
    }
}
