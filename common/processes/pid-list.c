/* SPDX-License-Identifier: BSD-3-Clause */
/* pid-list.c - a list of processes that grows */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files/fdio.h"
#include "common/processes/proc.h"

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

pid_t pid_of_thread(pid_t thread)
{
    char text[512], path[32]; /* it stands near the top */
    int pid;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)thread);
    const char *line =
        file_read_at(AT_FDCWD, path, text, sizeof(text)) < 0 ? NULL : strstr(text, "\nTgid:");
    return line && sscanf(line, "\nTgid: %d", &pid) == 1 ? pid : 0;
}
