/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/tree/tree.h"

uint32_t tree_parent(uint32_t host, uint32_t fanout)
{
    return fanout == 0 || host < fanout ? TREE_LAUNCHER : host / fanout - 1;
}

uint32_t tree_first_child(uint32_t host, uint32_t fanout, uint32_t nhosts)
{
    uint64_t first = ((uint64_t)host + 1) * fanout;
    return fanout && first < nhosts ? (uint32_t)first : nhosts;
}

uint32_t tree_children(uint32_t host, uint32_t fanout, uint32_t nhosts)
{
    uint32_t left = nhosts - tree_first_child(host, fanout, nhosts);
    return left < fanout ? left : fanout;
}

uint32_t tree_way(uint32_t from, uint32_t to, uint32_t fanout)
{
    while (to != TREE_LAUNCHER) {
        uint32_t above = tree_parent(to, fanout);
        if (above == from)
            return to;
        to = above;
    }
    return TREE_LAUNCHER;
}

unsigned tree_depth(uint32_t fanout, uint32_t nhosts)
{
    unsigned depth = 0;
    for (uint32_t host = nhosts - 1; nhosts > 0 && host != TREE_LAUNCHER; depth++)
        host = tree_parent(host, fanout);
    return depth;
}
