/* SPDX-License-Identifier: BSD-3-Clause */
/* process-tree.h - a process and all its descendants, for ranks without a cgroup of their own */
#pragma once

#include <sys/types.h>

/* Lists the processes of a tree, its root first. Returns their number with *ret, which the caller
 * frees; -1: no memory. */
int process_tree_pids(pid_t root, pid_t **ret);
/* Signals a process and its descendants, parents first. Ignores pids 0 and 1. */
void process_tree_signal(pid_t root, int signo);
