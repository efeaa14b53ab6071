/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.h - the tree of hosts: which host passes messages on to which; arithmetic only
 *
 * Hosts are numbered from 0. mprun is the root; the first `fanout` hosts are right below it. The
 * next `fanout` hosts without a place are right below host 0, then host 1, and so on: with a
 * fan-out of 2, hosts 2 and 3 are below 0, 4 and 5 below 1, 6 and 7 below 2. A fan-out of 0 is a
 * star: all hosts are right below mprun. */
#pragma once

#include <stdint.h>

#define TREE_LAUNCHER 0xffffffffu

/* Returns the host right above this one, or TREE_LAUNCHER. */
uint32_t tree_parent(uint32_t host, uint32_t fanout);
/* Returns the first host right below this one; the others follow it. nhosts: there is none. */
uint32_t tree_first_child(uint32_t host, uint32_t fanout, uint32_t nhosts);
/* Returns how many hosts are right below. */
uint32_t tree_children(uint32_t host, uint32_t fanout, uint32_t nhosts);
/* Returns the host right below `from` on the way to `to`; TREE_LAUNCHER: it is not below. */
uint32_t tree_way(uint32_t from, uint32_t to, uint32_t fanout);
/* Returns how many levels of hosts there are. */
unsigned tree_depth(uint32_t fanout, uint32_t nhosts);
