/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-amounts.c - what the ranks use now of everything that samples can limit
 *
 * The processes are added up. Of shared memory each has its part, so that a segment counts once
 * however many ranks map it; pages of files do not count, as the kernel can take them back.
 *
 * One look serves all readers: it has every kind that any of them has asked for, and a reader that
 * comes a moment later gets the amounts of that look. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/proc.h"
#include "model/sample-pace.h"
#include "starter/containment/step-containment.h"
#include "starter/pmi/pmi-server.h"
#include "starter/process-tree.h"
#include "starter/ranks/ranks-private.h"
#include "starter/tunables.h"
#include "wire/messages/launch.h"

static uint64_t memory_of(pid_t pid, uint64_t *ret_swap)
{
    struct proc_memory m;
    if (proc_memory_read(pid, &m) < 0)
        return 0;
    if (m.shared > 0)
        proc_shared_part_read(pid, &m.shared); /* where that cannot be read, the whole counts */
    *ret_swap += m.swap;
    return m.anonymous + m.shared;
}

#define MEMORY_KINDS ((1u << LIMIT_MEMORY) | (1u << LIMIT_MEMORY_SWAP))
#define STAT_KINDS   ((1u << LIMIT_CPU_TIME) | (1u << LIMIT_ADDRESS_SPACE))

/* Each file costs about 10 us. */
static void add_process(pid_t pid, unsigned kinds, uint64_t amounts[LIMIT_KIND_COUNT])
{
    struct proc_stat p;
    uint64_t swap = 0;
    amounts[LIMIT_PIDS]++;
    if ((kinds & STAT_KINDS) && proc_stat_read(pid, &p) == 0) {
        uint64_t tick = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
        amounts[LIMIT_CPU_TIME] += (p.utime + p.stime + p.cutime + p.cstime) * tick;
        amounts[LIMIT_ADDRESS_SPACE] += p.address_space;
    }
    if (!(kinds & MEMORY_KINDS))
        return;
    uint64_t memory = memory_of(pid, &swap);
    amounts[LIMIT_MEMORY] += memory;
    amounts[LIMIT_MEMORY_SWAP] += memory + swap;
}

/* pids is freed. */
static void add_processes(pid_t *pids, int n, unsigned kinds, uint64_t amounts[LIMIT_KIND_COUNT])
{
    for (int i = 0; i < n; i++)
        add_process(pids[i], kinds, amounts);
    if (n > 0)
        free(pids);
}

/* Without what it was suspended. */
static uint64_t wall_time(const struct rank *r)
{
    double suspended = r->all->with->launch->world == 0 ? r->all->suspended : 0;
    double now = suspended > 0 ? suspended : loop_now();
    return (uint64_t)((now - r->start_time - r->paused) * 1e6);
}

static void look_at(struct rank *r, unsigned kinds)
{
    uint64_t *amounts = r->looked;
    pid_t *pids = NULL;
    memset(r->looked, 0, sizeof(r->looked));
    if (r->state == RANK_RUNNING) {
        int n = kinds & ~(1u << LIMIT_WALL_TIME) ? ranks_pids(r->all, r->local, &pids) : 0;
        add_processes(pids, n, kinds, amounts);
        amounts[LIMIT_WALL_TIME] = wall_time(r);
    }
    if (r->pid == 0)
        amounts[LIMIT_CPU_TIME] +=
            r->usage.value[USAGE_CPU_USER] + r->usage.value[USAGE_CPU_SYSTEM];
}

static bool is_rank(const struct ranks *all, pid_t pid)
{
    for (const struct ranks *s = all; s; s = s->next)
        for (uint32_t i = 0; i < s->n; i++)
            if (s->ranks[i].pid == pid)
                return true;
    return false;
}

/* Processes of no known rank: those that have lost their parent are this process's children. */
static void add_orphans(const struct ranks *s, unsigned kinds, uint64_t amounts[LIMIT_KIND_COUNT])
{
    pid_t *children = NULL, server = s->with->pmi ? s->with->pmi->pid : 0;
    int n = proc_children(getpid(), &children);
    for (int i = 0; i < n; i++) {
        pid_t *pids = NULL;
        if (children[i] != server && !is_rank(s, children[i]))
            add_processes(pids, process_tree_pids(children[i], &pids), kinds, amounts);
    }
    free(children);
    amounts[LIMIT_CPU_TIME] += rusage_cpu(&s->with->others->sum);
}

/* Look at all ranks, unless that has just been done. */
static void look(struct ranks *all, unsigned kinds)
{
    struct amounts_look *l = &all->look;
    if ((kinds & ~l->kinds) == 0 && loop_now() - l->time < LOOK_SHARED_SECONDS)
        return;
    l->kinds |= kinds;
    l->time = loop_now();
    memset(l->others, 0, sizeof(l->others));
    for (struct ranks *s = all; s; s = s->next)
        for (uint32_t i = 0; i < s->n; i++)
            look_at(&s->ranks[i], l->kinds);
    if (all->with->containment->level != TRACK_RANK) /* in leaves they were counted */
        add_orphans(all, l->kinds, l->others);
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
