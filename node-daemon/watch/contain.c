/* SPDX-License-Identifier: BSD-3-Clause */
/* contain.c - where a process is, and putting it into its job's cgroup */
#include "node-daemon/watch/quarantine-private.h"

#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/processes/proc.h"
#include "node-daemon/lib/mover-link.h"
#include "node-daemon/lib/proc-threads.h"

enum { BELOW_MAX = 1024 };

/* ---- where it is ----------------------------------------------------------------------------- */

/* Directly below the ground only root makes one. */
static bool is_step(const char *dir)
{
    return !strncmp(dir, "mprun.", strlen("mprun."));
}

int contain_where(const struct containment *c, const struct process *p, char dir[CGROUP_NAME_MAX])
{
    char below[CGROUP_PATH_MAX]; /* a user makes them as deep as the kernel lets it */
    dir[0] = 0;
    if (ground_below(&c->ground, p->dir, below, sizeof(below)) < 0)
        return proc_is_alive(p->dir) ? 0 : -1;
    below[strcspn(below, "/")] = 0;
    if (ground_is_job(below))
        memcpy(dir, below, strlen(below) + 1);
    return is_step(below) ? -1 : 0;
}

/* ---- moving ---------------------------------------------------------------------------------- */

int contain_enter(const struct containment *c, const char *dir, const struct process *p,
                  struct error *err)
{
    static struct mover_request q; /* they are large */
    static struct mover_answer a;
    memset(&q, 0, sizeof(q));
    snprintf(q.dir, sizeof(q.dir), "%s", dir);
    q.part = PART_TASK;
    return mover_ask(c->start, &q, MOVER_ENTER, p->dir, &a, err);
}

static bool is_in(const struct containment *c, pid_t pid, const char *dir)
{
    char in[CGROUP_NAME_MAX];
    AUTO(process_close) struct process p = {.dir = -1};
    return process_open(pid, &p) == 0 && contain_where(c, &p, in) == 0 && !strcmp(in, dir);
}

/* A child of one that is in the job, and is itself in none, nor in a step. */
static bool move_child(const struct containment *c, const char *dir, pid_t pid, pid_t parent)
{
    char in[CGROUP_NAME_MAX];
    AUTO(process_close) struct process p = {.dir = -1};
    return process_open(pid, &p) == 0 && p.parent == parent && contain_where(c, &p, in) == 0 &&
           !in[0] && is_in(c, parent, dir) && contain_enter(c, dir, &p, NULL) == 0;
}

size_t contain_below(const struct containment *c, const char *dir, pid_t top)
{
    pid_t todo[BELOW_MAX] = {top};
    size_t n = 1;
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE pid_t *child = NULL;
        int children = proc_children(todo[i], &child);
        for (int k = 0; k < children && n < BELOW_MAX; k++)
            if (move_child(c, dir, child[k], todo[i]))
                todo[n++] = child[k];
    }
    return n - 1;
}
