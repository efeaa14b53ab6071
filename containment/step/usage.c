/* SPDX-License-Identifier: BSD-3-Clause */
/* usage.c - what a rank's processes, or all ranks', used as the kernel counted it */
#include "common/text/number.h"
#include "containment/step/tree-private.h"

void cgroup_leaf_usage(const struct cgroup_leaf *leaf, struct usage *u)
{
    const struct cgroup_tree *t = leaf->tree;
    for (size_t i = 0; i < t->nh; i++)
        if (leaf->in[i] == LEAF_OWN)
            t->h[i].driver->usage(leaf_at(leaf, i), t->h[i].for_ranks, u);
}

/* v1 counts hits and kills only in the cgroup where they happen. */
static void add_events(const struct cgroup_tree *t, size_t i, struct usage *u)
{
    uint64_t hits = t->gone.hits, kills = t->gone.kills;
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

static int memory_index(const struct cgroup_tree *t)
{
    for (size_t i = 0; i < t->nh; i++)
        if (hierarchy_made(&t->h[i]) && (t->h[i].controllers & CGROUP_BIT(CGROUP_MEMORY)))
            return (int)i;
    return -1;
}

static int count_of_leaf(const struct cgroup_leaf *leaf, struct oom_count *ret)
{
    int h = memory_index(leaf->tree);
    if (h < 0 || leaf->in[h] != LEAF_OWN)
        return -1;
    return leaf->tree->h[h].driver->oom_count(leaf_at(leaf, (size_t)h), ret);
}

void usage_leaf_gone(struct cgroup_leaf *leaf)
{
    struct oom_count c;
    if (count_of_leaf(leaf, &c) < 0)
        return;
    leaf->tree->gone.kills += c.kills;
    leaf->tree->gone.hits += c.hits;
}

static bool is_held(const struct limits *l)
{
    return l->memory.held_by == HELD_BY_CGROUP || l->memory_swap.held_by == HELD_BY_CGROUP;
}

bool cgroup_leaf_reached_limit(const struct cgroup_leaf *leaf)
{
    struct oom_count c;
    return is_held(&leaf->limits) && count_of_leaf(leaf, &c) == 0 && c.hits > 0;
}

bool cgroup_leaf_refused_process(const struct cgroup_leaf *leaf)
{
    char text[200];
    uint64_t refused = 0;
    const struct cgroup_tree *t = leaf->tree;
    for (size_t i = 0; leaf->limits.pids.held_by == HELD_BY_CGROUP && i < t->nh; i++)
        if (leaf->in[i] == LEAF_OWN && (t->h[i].controllers & CGROUP_BIT(CGROUP_PIDS)) &&
            at_read(leaf_at(leaf, i), "pids.events", text, sizeof(text)) > 0)
            (void)flat_key_u64(text, "max", &refused);
    return refused > 0;
}

bool cgroup_tree_reached_limit(const struct cgroup_tree *t)
{
    struct oom_count c;
    int h = memory_index(t);
    return h >= 0 && is_held(&t->limits) &&
           t->h[h].driver->oom_count(hierarchy_top(&t->h[h]), &c) == 0 && c.hits > 0;
}

void cgroup_tree_limit_usage(const struct cgroup_tree *t, struct usage *u)
{
    int h = memory_index(t);
    if (h >= 0)
        t->h[h].driver->usage(hierarchy_top(&t->h[h]), CGROUP_BIT(CGROUP_MEMORY), u);
}

/* A hierarchy in which some rank was not from its birth knows only a part. */
static int knows_all(const struct hierarchy *h)
{
    return hierarchy_made(h) && !(h->missed && h->driver->version == 1);
}

void cgroup_tree_usage(const struct cgroup_tree *t, struct usage *u)
{
    for (size_t i = 0; i < t->nh; i++) {
        const struct hierarchy *h = &t->h[i];
        if (!knows_all(h))
            continue;
        h->driver->usage(hierarchy_ranks(h), h->controllers, u);
        if (h->driver->version == 1 && usage_has(u, USAGE_OOM_KILLS) &&
            (h->controllers & CGROUP_BIT(CGROUP_MEMORY)))
            add_events(t, i, u);
    }
}

int cgroup_tree_memory(const struct cgroup_tree *t, uint64_t *ret)
{
    for (size_t i = 0; i < t->nh; i++) {
        const struct hierarchy *h = &t->h[i];
        if (knows_all(h) && (h->controllers & CGROUP_BIT(CGROUP_MEMORY)) &&
            at_read_u64(hierarchy_ranks(h), h->driver->memory, ret) == 0)
            return 0;
    }
    return -1;
}
