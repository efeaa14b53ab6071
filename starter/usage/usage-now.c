/* SPDX-License-Identifier: BSD-3-Clause */
/* usage-now.c - see its header
 *
 * Where the step's cgroup counts CPU time or memory, its numbers are the answer. What it does not
 * count is added up from the processes that are there, and from what the kernel has told of those
 * that were waited for. */
#include "starter/usage/usage-now.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/proc.h"
#include "containment/step/tree.h"
#include "starter/containment/step-containment.h"
#include "starter/links/uplink.h"
#include "starter/process-tree.h"
#include "starter/ranks/ranks.h"
#include "starter/usage/memory-sampler.h"
#include "starter/usage/rusage.h"
#include "wire/mprun.pb-c.h"

struct processes {
    pid_t *pids;
    size_t n;
};

/* more is freed. What there is no memory for is left out. */
static void add_processes(struct processes *to, pid_t *more, int n)
{
    pid_t *grown = n > 0 ? reallocarray(to->pids, to->n + (size_t)n, sizeof(*grown)) : NULL;
    if (grown) {
        memcpy(grown + to->n, more, (size_t)n * sizeof(*more));
        to->pids = grown;
        to->n += (size_t)n;
    }
    free(more);
}

static void find_in_leaves(const struct ranks *ranks, struct processes *ret)
{
    for (uint32_t i = 0; i < ranks_count(ranks); i++) {
        pid_t *pids = NULL;
        int n = ranks_pids(ranks, i, &pids);
        add_processes(ret, pids, n);
    }
}

/* Everything below this process but the PMI server: a process that loses its parent comes here. */
static void find_below(pid_t server, struct processes *ret)
{
    pid_t *children = NULL;
    int n = proc_children(getpid(), &children);
    for (int i = 0; i < n; i++) {
        pid_t *pids = NULL;
        int found = children[i] == server ? 0 : process_tree_pids(children[i], &pids);
        add_processes(ret, pids, found);
    }
    free(children);
}

static uint64_t cpu_of(const struct usage *u)
{
    return u->value[USAGE_CPU_USER] + u->value[USAGE_CPU_SYSTEM];
}

/* Microseconds, with those of children that the processes have waited for. */
static uint64_t add_cpu(const struct current_usage *c, const struct processes *list)
{
    uint64_t sum = ranks_ended_cpu(c->ranks), tick = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    struct proc_stat s;
    if (c->containment->level != TRACK_RANK) /* in a leaf they are counted already */
        sum += rusage_cpu(&c->others->sum);
    for (size_t i = 0; i < list->n; i++)
        if (proc_stat_read(list->pids[i], &s) == 0)
            sum += (s.utime + s.stime + s.cutime + s.cstime) * tick;
    return sum;
}

static uint64_t add_memory(const struct processes *list)
{
    struct usage u = {0};
    if (sampler_read(list->pids, list->n, &u) < 0)
        return 0;
    return u.value[USAGE_ANON] + u.value[USAGE_FILE] + u.value[USAGE_SHARED];
}

static void answer(struct uplink *up, const struct current_usage *c, uint32_t turn)
{
    Mprun__Present m = MPRUN__PRESENT__INIT;
    struct processes list = {0};
    struct usage counted = {0};
    const struct cgroup_tree *t = c->containment->tree;
    if (t && c->containment->level == TRACK_RANK)
        find_in_leaves(c->ranks, &list);
    else
        find_below(c->pmi_server, &list);
    if (t)
        cgroup_tree_usage(t, &counted);
    m.turn = turn;
    m.processes = (uint32_t)list.n;
    m.cpu = usage_cpu_seconds(&counted) >= 0 ? cpu_of(&counted) : add_cpu(c, &list);
    if (!t || cgroup_tree_memory(t, &m.memory) < 0) {
        m.memory = add_memory(&list);
        m.memory_added = 1;
    }
    free(list.pids);
    uplink_send(up, FRAME_PRESENT, &m.base);
}

int current_usage_answer(struct uplink *up, const struct current_usage *c, const uint8_t *p,
                         size_t n)
{
    Mprun__PresentAsk *m = mprun__present_ask__unpack(NULL, n, p);
    if (!m)
        return -1;
    answer(up, c, m->turn);
    mprun__present_ask__free_unpacked(m, NULL);
    return 0;
}
