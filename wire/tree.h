/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.h - who passes on to whom: arithmetic only
 *
 * Hosts are numbered from 0. The launcher is above all; it talks to the first `fanout` of them, and
 * each host to the next `fanout` that nobody talks to yet: with a fan-out of 2, hosts 2 and 3 are
 * below 0, 4 and 5 below 1, 6 and 7 below 2. A fan-out of 0 is a star: all below the launcher. */
#ifndef WIRE_TREE_H
#define WIRE_TREE_H

#include <stdint.h>

#define TREE_LAUNCHER 0xffffffffu

enum { TREE_FANOUT = 32 };

/* The host above this one, or TREE_LAUNCHER. */
uint32_t tree_parent(uint32_t host, uint32_t fanout);
/* The first host below this one (its others follow), at most nhosts. */
uint32_t tree_first_child(uint32_t host, uint32_t fanout, uint32_t nhosts);
/* How many hosts are right below. */
uint32_t tree_children(uint32_t host, uint32_t fanout, uint32_t nhosts);
/* The host right below `from` through which `to` is reached; TREE_LAUNCHER: it is not below. */
uint32_t tree_way(uint32_t from, uint32_t to, uint32_t fanout);
/* How many levels of hosts there are. */
unsigned tree_depth(uint32_t fanout, uint32_t nhosts);

#endif
