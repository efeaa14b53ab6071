/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-devices.c - keeps a rank, and what it starts, from devices that are not its own
 *
 * v2: a kernel program on the rank's leaf; v1: the files of the devices controller there. Both take
 * root. */
#include "containment/step/tree-private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool has_v2(const struct cgroup_tree *t)
{
    return t->h[0].driver->version == 2;
}

int cgroup_tree_hold_devices(struct cgroup_tree *t, struct error *err)
{
    struct hierarchy *h;
    if (t->level != TRACK_RANK)
        return error_set(err, ENOTSUP, "ranks share one cgroup");
    if (has_v2(t)) /* the program of a rank goes before this one, which denies nothing */
        return at_hold_devices(hierarchy_ranks(&t->h[0]), 2, NULL, 0) == 0
                   ? 0
                   : error_errno(err, errno, "give a device program to cgroup '%s'", t->h[0].ranks);
    if (!(h = tree_make_v1(t, CGROUP_DEVICES, err)))
        return -1;
    h->every_rank = true;
    return 0;
}

int cgroup_leaf_hold_devices(const struct cgroup_leaf *leaf, const struct cgroup_device *device,
                             size_t n, struct error *err)
{
    struct cgroup_tree *t = leaf->tree;
    const struct hierarchy *h = has_v2(t) ? &t->h[0] : tree_v1_hierarchy(t, CGROUP_DEVICES);
    struct cgroup_at d = leaf_at(leaf, (size_t)(h - t->h));
    return at_hold_devices(d, h->driver->version, device, n) == 0
               ? 0
               : error_errno(err, errno, "hold cgroup '%s/%s' to its devices", h->ranks, d.name);
}

bool cgroup_tree_below(const struct cgroup_tree *t, const char *top, char *buf, size_t n)
{
    const char *ranks = t->h[0].ranks;
    size_t len = strlen(top);
    return len && has_v2(t) && !strncmp(ranks, top, len) && ranks[len] == '/' &&
           snprintf(buf, n, "%s", ranks + len + 1) < (int)n;
}

bool cgroup_leaf_below(const struct cgroup_leaf *leaf, const char *top, char *buf, size_t n)
{
    if (leaf->in[0] != LEAF_OWN || !cgroup_tree_below(leaf->tree, top, buf, n))
        return false;
    size_t len = strlen(buf);
    return snprintf(buf + len, n - len, "/%s", leaf->name) < (int)(n - len);
}
