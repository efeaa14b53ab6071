/* SPDX-License-Identifier: BSD-3-Clause */
/* process-tree.c - see process-tree.h */
#include "starter/process-tree.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/proc.h"

enum { TREE_MAX = 1 << 16 }; /* processes of one tree that are looked at */

/* Append pid's children to the list. */
static int add_children(pid_t **list, size_t *n, pid_t pid)
{
    pid_t *children = NULL;
    int found = proc_children(pid, &children);
    if (found <= 0) {
        if (found == 0)
            free(children);
        return 0; /* it ended meanwhile */
    }
    pid_t *grown = reallocarray(*list, *n + (size_t)found, sizeof(**list));
    if (grown) {
        memcpy(grown + *n, children, (size_t)found * sizeof(*children));
        *list = grown;
        *n += (size_t)found;
    }
    free(children);
    return grown ? 0 : -1;
}

int process_tree_pids(pid_t root, pid_t **ret)
{
    size_t n = 1;
    pid_t *list = malloc(sizeof(*list));
    if (!list)
        return -1;
    list[0] = root;
    for (size_t i = 0; i < n && n < TREE_MAX; i++) {
        if (add_children(&list, &n, list[i]) < 0) {
            free(list);
            return -1;
        }
    }
    *ret = list;
    return (int)n;
}

void process_tree_signal(pid_t root, int signo)
{
    pid_t *children = NULL;
    if (root <= 1)
        return;
    int n = proc_children(root, &children);
    kill(root, signo);
    for (int i = 0; i < n; i++)
        process_tree_signal(children[i], signo);
    free(children);
}
