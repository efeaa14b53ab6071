/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-amounts.c - what the ranks use now of everything that samples can limit
 *
 * It adds up the processes. A rank gets its part of shared memory, so that a segment counts once
 * however many ranks map it; pages of files do not count, because the kernel can take them back.
 *
 * One look serves all readers: it has every kind that any of them has asked for. A reader that
 * comes a moment later gets the amounts of that look. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/must.h"
#include "common/processes/proc.h"
#include "common/cleanup.h"
#include "model/sample-pace.h"
#include "starter/containment/step-containment.h"
#include "starter/pmi/pmi-server.h"
#include "starter/process-tree.h"
#include "starter/ranks/ranks-private.h"
#include "starter/tunables.h"

#define CPU_KIND     (1u << LIMIT_CPU_TIME)
#define MEMORY_KINDS ((1u << LIMIT_MEMORY) | (1u << LIMIT_MEMORY_SWAP))
#define SIZE_KINDS   (MEMORY_KINDS | (1u << LIMIT_ADDRESS_SPACE))

static void add_memory(uint64_t amounts[LIMIT_KIND_COUNT], uint64_t more)
{
    amounts[LIMIT_MEMORY] += more;
    amounts[LIMIT_MEMORY_SWAP] += more;
}

/* ---- shared memory --------------------------------------------------------------------------- */

/* Reading a process's part costs as much as everything else together, and more with more memory. So
 * parts are read only when some process has mapped other pages than at the last look. */

static struct mapped *next_mapped(struct amounts_look *l)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->now = must(realloc(l->now, l->cap * sizeof(*l->now)));
        l->before = must(realloc(l->before, l->cap * sizeof(*l->before)));
    }
    return &l->now[l->n++];
}

static bool is_as_before(const struct amounts_look *l)
{
    if (l->n != l->n_before)
        return false;
    for (size_t i = 0; i < l->n; i++)
        if (l->now[i].pid != l->before[i].pid || l->now[i].bytes != l->before[i].bytes)
            return false;
    return true;
}

static uint64_t shared_part(pid_t pid)
{
    struct proc_memory m;
    if (proc_memory_read(pid, &m) < 0 || m.shared == 0)
        return 0;
    (void)proc_shared_part_read(pid, &m.shared); /* if that fails, the whole counts */
    return m.shared;
}

static void add_shared_parts(struct amounts_look *l)
{
    bool is_known = is_as_before(l);
    for (size_t i = 0; i < l->n; i++) {
        l->now[i].part = is_known ? l->before[i].part : shared_part(l->now[i].pid);
        add_memory(l->now[i].amounts, l->now[i].part);
    }
    struct mapped *was = l->before;
    l->before = l->now;
    l->n_before = l->n;
    l->now = was;
    l->n = 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Reading one file takes 5 to 12 us. */
static void add_process(struct amounts_look *l, pid_t pid, uint64_t amounts[LIMIT_KIND_COUNT])
{
    struct proc_stat p;
    struct proc_sizes s;
    struct proc_memory m;
    amounts[LIMIT_PIDS]++;
    if ((l->kinds & CPU_KIND) && proc_stat_read(pid, &p) == 0) {
        uint64_t tick = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
        amounts[LIMIT_CPU_TIME] += (p.utime + p.stime + p.cutime + p.cstime) * tick;
    }
    if ((l->kinds & SIZE_KINDS) && proc_sizes_read(pid, &s) == 0) {
        amounts[LIMIT_ADDRESS_SPACE] += s.address_space;
        add_memory(amounts, s.anonymous);
        if (l->kinds & MEMORY_KINDS)
            *next_mapped(l) = (struct mapped){pid, s.mapped, 0, amounts};
    }
    if ((l->kinds & 1u << LIMIT_MEMORY_SWAP) && proc_memory_read(pid, &m) == 0)
        amounts[LIMIT_MEMORY_SWAP] += m.swap;
}

/* Frees pids. */
static void add_processes(struct amounts_look *l, pid_t *pids, int n,
                          uint64_t amounts[LIMIT_KIND_COUNT])
{
    for (int i = 0; i < n; i++)
        add_process(l, pids[i], amounts);
    if (n > 0)
        free(pids);
}

/* Returns microseconds, without the time in which the rank was suspended. */
static uint64_t wall_time(const struct ranks *all, const struct rank *r)
{
    double now = all->suspended > 0 ? all->suspended : loop_now();
    return (uint64_t)((now - r->start_time - r->paused) * 1e6);
}

/* Clears the amounts, except the last CPU time if this look does not read it. */
static void forget(const struct amounts_look *l, uint64_t amounts[LIMIT_KIND_COUNT])
{
    uint64_t cpu = l->kinds & CPU_KIND ? 0 : amounts[LIMIT_CPU_TIME];
    memset(amounts, 0, LIMIT_KIND_COUNT * sizeof(*amounts));
    amounts[LIMIT_CPU_TIME] = cpu;
}

/* Its cgroup has also counted processes that have ended without a parent that waited for them. */
static void count_cpu(struct rank *r)
{
    struct usage counted = {0};
    if (r->leaf && r->all->with->containment->level == TRACK_RANK)
        cgroup_leaf_usage(r->leaf, &counted);
    if (usage_cpu_seconds(&counted) >= 0)
        r->looked[LIMIT_CPU_TIME] = counted.value[USAGE_CPU_USER] + counted.value[USAGE_CPU_SYSTEM];
    else if (r->pid == 0)
        r->looked[LIMIT_CPU_TIME] +=
            r->usage.value[USAGE_CPU_USER] + r->usage.value[USAGE_CPU_SYSTEM];
}

static void look_at(const struct ranks *all, struct amounts_look *l, struct rank *r)
{
    pid_t *pids = NULL;
    forget(l, r->looked);
    int n = l->kinds & ~(1u << LIMIT_WALL_TIME) ? ranks_pids(r->all, r->local, &pids) : 0;
    add_processes(l, pids, n, r->looked);
    if (r->state == RANK_RUNNING)
        r->looked[LIMIT_WALL_TIME] = wall_time(all, r);
    if (l->kinds & CPU_KIND)
        count_cpu(r);
}

/* Adds processes that belong to no known rank: orphans, which are this process's children. */
static void add_orphans(const struct ranks *s, struct amounts_look *l)
{
    pid_t server = s->with->pmi ? s->with->pmi->pid : 0;
    AUTO_FREE pid_t *children = NULL;
    int n = proc_children(getpid(), &children);
    for (int i = 0; i < n; i++) {
        pid_t *pids = NULL;
        bool is_orphan = children[i] != server && !ranks_have_pid(s, children[i]);
        int found = is_orphan ? process_tree_pids(children[i], &pids) : 0;
        add_processes(l, pids, found, l->others);
    }
    if (l->kinds & CPU_KIND)
        l->others[LIMIT_CPU_TIME] += rusage_cpu(&s->with->others->sum);
}

/* Looks at all ranks, unless a look is fresh. Reads CPU time only if this reader asks for it, other
 * kinds if any reader ever did. */
static void look(struct ranks *all, unsigned kinds)
{
    struct amounts_look *l = &all->look;
    if ((kinds & ~l->kinds) == 0 && loop_now() - l->time < LOOK_SHARED_SECONDS)
        return;
    l->kinds = (l->kinds & ~CPU_KIND) | kinds;
    l->time = loop_now();
    forget(l, l->others);
    for (struct ranks *s = all; s; s = s->next)
        for (uint32_t i = 0; i < s->n; i++)
            look_at(all, l, &s->ranks[i]);
    if (all->with->containment->level != TRACK_RANK) /* in leaves they were counted */
        add_orphans(all, l);
    add_shared_parts(l);
}

static void add_rank(struct rank *r, enum amounts_reader reader,
                     struct rank_amount ret[LIMIT_KIND_COUNT])
{
    uint64_t *now = r->looked, *before = r->amounts[reader];
    for (int k = 0; k < LIMIT_KIND_COUNT; k++) {
        uint64_t growth = now[k] > before[k] ? now[k] - before[k] : 0;
        before[k] = now[k];
        if (limit_words((enum limit_kind)k)->is_longest) {
            ret[k].value = now[k] > ret[k].value ? now[k] : ret[k].value;
            continue;
        }
        ret[k].value += now[k];
        if (growth > ret[k].growth) {
            ret[k].growth = growth;
            ret[k].grew = r->name;
        }
    }
}

void ranks_amounts(struct ranks *all, enum amounts_reader reader, unsigned kinds,
                   struct rank_amount ret[LIMIT_KIND_COUNT])
{
    look(all, kinds);
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        ret[k] = (struct rank_amount){.value = all->look.others[k]};
    for (struct ranks *s = all; s; s = s->next) {
        ret[LIMIT_CPU_TIME].value += s->freed_cpu;
        for (uint32_t i = 0; i < s->n; i++)
            add_rank(&s->ranks[i], reader, ret);
    }
}
