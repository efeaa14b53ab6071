/* SPDX-License-Identifier: BSD-3-Clause */
/* pid-list.c - a list of processes that grows */
#include <stdlib.h>

#include "common/proc.h"

int pid_list_add(struct pid_list *p, pid_t pid)
{
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 16;
        pid_t *grown = realloc(p->pids, cap * sizeof(*grown));
        if (!grown)
            return -1;
        p->pids = grown;
        p->cap = cap;
    }
    p->pids[p->n++] = pid;
    return 0;
}

bool pids_have(const pid_t *pids, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (pids[i] == pid)
            return true;
    return false;
}
