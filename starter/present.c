/* SPDX-License-Identifier: BSD-3-Clause */
/* present.c - what the ranks of this host use now, from the sources of the final report
 *
 * Where the step's cgroup counts CPU time or memory, its numbers are the answer. What it does not
 * count is added up from the processes that are there; of those that have ended the kernel has told
 * when they were waited for. */
#include "starter/present.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/proc.h"
#include "starter/pmi-link.h"
#include "starter/sampler.h"
#include "starter/worker.h"

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

static void find_in_leaves(const struct worker *w, struct processes *ret)
{
    for (uint32_t i = 0; i < w->ranks.n; i++) {
        const struct rank *r = &w->ranks.all[i];
        pid_t *pids = NULL;
        int n = r->leaf ? cgroup_leaf_pids(r->leaf, &pids) : 0;
        add_processes(ret, pids, n);
    }
}

/* Everything below this process but the PMI server: what loses its parent comes to it. */
static void find_below(const struct worker *w, struct processes *ret)
{
    pid_t *children = NULL, server = w->pmi ? pmi_link_pid(w->pmi) : 0;
    int n = proc_children(w->pid, &children);
    for (int i = 0; i < n; i++) {
        pid_t *pids = NULL;
        int found = children[i] == server ? 0 : sampler_tree_pids(children[i], &pids);
        add_processes(ret, pids, found);
    }
    free(children);
}

static uint64_t cpu_of(const struct usage *u)
{
    return u->value[USAGE_CPU_USER] + u->value[USAGE_CPU_SYSTEM];
}

static uint64_t cpu_of_orphans(const struct rusage *r)
{
    return (uint64_t)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) * 1000000u +
           (uint64_t)(r->ru_utime.tv_usec + r->ru_stime.tv_usec);
}

/* Microseconds, with those of children that the processes have waited for. */
static uint64_t add_cpu(const struct worker *w, const struct processes *list)
{
    uint64_t sum = 0, tick = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    struct proc_stat s;
    for (uint32_t i = 0; i < w->ranks.n; i++)
        if (w->ranks.all[i].pid == 0)
            sum += cpu_of(&w->ranks.all[i].usage);
    if (w->contain.level != TRACK_RANK) /* in a leaf they are counted already */
        sum += cpu_of_orphans(&w->orphans);
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

static void answer(struct worker *w, uint32_t turn)
{
    Mprun__Present m = MPRUN__PRESENT__INIT;
    struct processes list = {0};
    struct usage counted = {0};
    const struct cgroup_tree *t = w->contain.tree;
    if (t && w->contain.level == TRACK_RANK)
        find_in_leaves(w, &list);
    else
        find_below(w, &list);
    if (t)
        cgroup_tree_usage(t, &counted);
    m.turn = turn;
    m.processes = (uint32_t)list.n;
    m.cpu = usage_cpu_seconds(&counted) >= 0 ? cpu_of(&counted) : add_cpu(w, &list);
    if (!t || cgroup_tree_memory(t, &m.memory) < 0) {
        m.memory = add_memory(&list);
        m.memory_added = 1;
    }
    free(list.pids);
    if (w->up)
        link_send(w->up, FRAME_PRESENT, &m.base);
}

int present_asked(struct worker *w, const uint8_t *p, size_t n)
{
    Mprun__PresentAsk *m = mprun__present_ask__unpack(NULL, n, p);
    if (!m)
        return -1;
    answer(w, m->turn);
    mprun__present_ask__free_unpacked(m, NULL);
    return 0;
}
