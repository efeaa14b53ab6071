/* SPDX-License-Identifier: BSD-3-Clause */
/* process-tree.h - a process and all its descendants, for ranks that no cgroup knows */
#pragma once

#include <sys/types.h>

/* The processes of a tree, its root first: their number and *ret, which the caller frees; -1: no
 * memory. */
int process_tree_pids(pid_t root, pid_t **ret);
/* Signal a process and its descendants, parents first. No rank has the pids 0 and 1: ignored. */
void process_tree_signal(pid_t root, int signo);
