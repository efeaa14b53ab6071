/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/process-tree.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/processes/proc.h"

enum { TREE_MAX = 1 << 16 }; /* processes of one tree that are looked at */

int process_tree_pids(pid_t root, pid_t **ret)
{
    struct pid_list list = {0};
    bool fits = pid_list_add(&list, root) == 0;
    for (size_t i = 0; fits && i < list.n && list.n < TREE_MAX; i++) {
        AUTO_FREE pid_t *children = NULL;
        int n = proc_children(list.pids[i], &children); /* -1: it ended meanwhile */
        for (int c = 0; fits && c < n; c++)
            fits = pid_list_add(&list, children[c]) == 0;
    }
    if (!fits) {
        free(list.pids);
        return -1;
    }
    *ret = list.pids;
    return (int)list.n;
}

void process_tree_signal(pid_t root, int signo)
{
    AUTO_FREE pid_t *children = NULL;
    if (root <= 1)
        return;
    int n = proc_children(root, &children);
    kill(root, signo);
    for (int i = 0; i < n; i++)
        process_tree_signal(children[i], signo);
}
