/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/usage/usage-reports.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/machine/cpus.h"
#include "common/must.h"
#include "common/processes/proc.h"
#include "containment/step/tree.h"
#include "starter/binding/rank-binding.h"
#include "starter/containment/step-containment.h"
#include "starter/links/uplink.h"
#include "starter/pmi/pmi-server.h"
#include "starter/process-tree.h"
#include "starter/ranks/ranks.h"
#include "starter/services.h"
#include "starter/usage/process-usage.h"
#include "wire/messages/launch.h"
#include "wire/messages/values.h"

/* ---- REPORT ---------------------------------------------------------------------------------- */

struct line { /* of one rank, with everything that its message points to */
    Mprun__Report__Rank message;
    Mprun__RankName name;
    struct packed_usage usage;
    struct packed_limits limits;
};

static void fill_line(struct line *l, struct ranks *ranks, uint32_t local)
{
    const struct idset *threads = rank_binding_threads(ranks->with->binding, local);
    struct rank_account a = ranks_account(ranks, local);
    mprun__report__rank__init(&l->message);
    rank_name_pack(a.name, &l->name);
    usage_pack(a.usage, &l->usage);
    l->message.name = &l->name;
    l->message.usage = &l->usage.message;
    if (a.bound_threads && threads) {
        l->message.bound_threads = (char *)(uintptr_t)a.bound_threads;
        l->message.cores = cpus_count_cores(threads);
    }
    if (limits_is_any_set(a.limits)) {
        limits_pack(a.limits, &l->limits);
        l->message.limits = &l->limits.message;
    }
}

/* Adds the usage of the worker itself, mppmi and the step's own keeper. */
static void add_starter(const struct starter_services *s, struct usage *u)
{
    struct rusage self;
    struct proc_stat keeper;
    getrusage(RUSAGE_SELF, &self);
    usage_add_rusage(u, &self);
    if (s->pmi)
        usage_add_rusage(u, &s->pmi->usage);
    if (!s->keeper_is_agent && proc_stat_read(s->keeper, &keeper) == 0) {
        uint64_t tick = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
        u->value[USAGE_CPU_USER] += keeper.utime * tick;
        u->value[USAGE_CPU_SYSTEM] += keeper.stime * tick;
    }
}

/* Adds processes that belong to no known rank, unless the ranks' leaves have counted them. */
static void add_others(const struct starter_services *s, struct usage *u)
{
    if (s->others->n == 0 || s->containment->level == TRACK_RANK)
        return;
    usage_add_rusage(u, &s->others->sum);
    usage_set(u, USAGE_PROCESSES, s->others->n);
}

struct lines {
    struct line *lines;
    Mprun__Report__Rank **list;
    size_t n;
};

static void lines_free(struct lines *l)
{
    free(l->lines);
    free(l->list);
}

/* Fills in a line for each rank from world `first` up to `end` in the list of worlds. */
static void fill_lines(struct lines *l, struct ranks *first, const struct ranks *end)
{
    size_t n = 0;
    for (struct ranks *r = first; r != end; r = r->next)
        n += r->n;
    *l = (struct lines){.lines = must(calloc(n + 1, sizeof(*l->lines))),
                        .list = must(calloc(n + 1, sizeof(*l->list)))};
    for (struct ranks *r = first; r != end; r = r->next)
        for (uint32_t i = 0; i < r->n; i++) {
            fill_line(&l->lines[l->n], r, i);
            l->list[l->n] = &l->lines[l->n].message;
            l->n++;
        }
}

void usage_rank_report_send(struct ranks *ranks, uint32_t local)
{
    Mprun__Report m = MPRUN__REPORT__INIT;
    struct line line;
    Mprun__Report__Rank *list[1] = {&line.message};
    if (!ranks->with->up->link)
        return;
    fill_line(&line, ranks, local);
    m.n_ranks = 1;
    m.ranks = list;
    uplink_send(ranks->with->up, FRAME_WORLD_REPORT, &m.base);
}

void usage_world_report_send(const struct starter_services *world)
{
    Mprun__Report m = MPRUN__REPORT__INIT;
    AUTO(lines_free) struct lines lines = {0};
    if (!world->up->link)
        return;
    fill_lines(&lines, world->ranks, world->ranks->next);
    m.n_ranks = lines.n;
    m.ranks = lines.list;
    uplink_send(world->up, FRAME_WORLD_REPORT, &m.base);
}

void usage_report_send(const struct starter_services *s)
{
    Mprun__Report m = MPRUN__REPORT__INIT;
    AUTO(lines_free) struct lines lines = {0};
    struct packed_usage starter, others, step;
    struct usage of_starter = {0}, of_others = {0}, of_step = {0};
    if (!s->up->link)
        return;
    fill_lines(&lines, s->ranks, NULL);
    m.n_ranks = lines.n;
    m.ranks = lines.list;
    add_starter(s, &of_starter);
    usage_pack(&of_starter, &starter);
    m.starter = &starter.message;
    add_others(s, &of_others);
    usage_pack(&of_others, &others);
    m.others = &others.message;
    if (s->containment->tree)
        cgroup_tree_usage(s->containment->tree, &of_step);
    usage_pack(&of_step, &step);
    m.step = &step.message;
    uplink_send(s->up, FRAME_REPORT, &m.base);
}

/* ---- PRESENT --------------------------------------------------------------------------------- */

/* Frees more. Leaves out processes for which there is no memory. */
static void add_processes(struct pid_list *to, pid_t *more, int n)
{
    for (int i = 0; i < n; i++)
        pid_list_add(to, more[i]);
    free(more);
}

static void find_in_leaves(const struct ranks *ranks, struct pid_list *ret)
{
    for (; ranks; ranks = ranks->next)
        for (uint32_t i = 0; i < ranks->n; i++) {
            pid_t *pids = NULL;
            int n = ranks_pids(ranks, i, &pids);
            add_processes(ret, pids, n);
        }
}

/* Lists everything below this process except mppmi: this process inherits the ranks' orphans. */
static void find_below(pid_t server, struct pid_list *ret)
{
    AUTO_FREE pid_t *children = NULL;
    int n = proc_children(getpid(), &children);
    for (int i = 0; i < n; i++) {
        pid_t *pids = NULL;
        int found = children[i] == server ? 0 : process_tree_pids(children[i], &pids);
        add_processes(ret, pids, found);
    }
}

/* Adds microseconds, including those of children that the processes have waited for. */
static uint64_t add_cpu(const struct starter_services *s, const struct pid_list *list)
{
    uint64_t sum = ranks_ended_cpu(s->ranks), tick = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    struct proc_stat p;
    if (s->containment->level != TRACK_RANK) /* in a leaf they are counted already */
        sum += rusage_cpu(&s->others->sum);
    for (size_t i = 0; i < list->n; i++)
        if (proc_stat_read(list->pids[i], &p) == 0)
            sum += (p.utime + p.stime + p.cutime + p.cstime) * tick;
    return sum;
}

static uint64_t add_memory(const struct pid_list *list)
{
    struct usage u = {0};
    if (usage_sample(&u, list->pids, list->n) < 0)
        return 0;
    return u.value[USAGE_ANON] + u.value[USAGE_FILE] + u.value[USAGE_SHARED];
}

/* Lists the processes of one rank, or with RANK_ALL of those of its world. */
static void find_of(const struct ranks *ranks, struct rank_name of, struct pid_list *ret)
{
    for (; ranks; ranks = ranks->next)
        for (uint32_t i = 0; ranks->with->launch->world == of.world && i < ranks->n; i++) {
            pid_t *pids = NULL;
            bool is_meant =
                of.rank == RANK_ALL ||
                of.rank == rank_set_at(&launch_here(ranks->with->launch)->ranks, i).rank;
            int n = is_meant ? ranks_processes(ranks, i, &pids) : 0;
            add_processes(ret, pids, n);
        }
}

void usage_amounts_send(const struct starter_services *s, uint32_t turn, uint32_t kinds)
{
    Mprun__Present m = MPRUN__PRESENT__INIT;
    Mprun__Present__Amount each[LIMIT_KIND_COUNT], *list[LIMIT_KIND_COUNT];
    Mprun__RankName names[LIMIT_KIND_COUNT];
    struct rank_amount amounts[LIMIT_KIND_COUNT];
    ranks_amounts(s->ranks, AMOUNTS_FOR_STEP, kinds, amounts);
    for (int k = 0; k < LIMIT_KIND_COUNT; k++) {
        if (!(kinds >> k & 1))
            continue;
        mprun__present__amount__init(list[m.n_amounts++] = &each[k]);
        each[k].kind = (uint32_t)k;
        each[k].value = amounts[k].value;
        each[k].growth = amounts[k].growth;
        rank_name_pack(amounts[k].grew, &names[k]);
        each[k].grew = &names[k];
    }
    m.turn = turn;
    m.amounts = list;
    uplink_send(s->up, FRAME_PRESENT, &m.base);
}

void usage_present_send(const struct starter_services *s, const Mprun__PresentAsk *question)
{
    Mprun__Present m = MPRUN__PRESENT__INIT;
    struct pid_list list = {0};
    struct usage counted = {0};
    const struct cgroup_tree *t = question->of ? NULL : s->containment->tree;
    if (question->of)
        find_of(s->ranks, rank_name_unpack(question->of), &list);
    else if (t && s->containment->level == TRACK_RANK)
        find_in_leaves(s->ranks, &list);
    else
        find_below(s->pmi ? s->pmi->pid : 0, &list);
    if (t)
        cgroup_tree_usage(t, &counted);
    m.turn = question->turn;
    m.processes = (uint32_t)list.n;
    if (usage_cpu_seconds(&counted) >= 0)
        m.cpu = counted.value[USAGE_CPU_USER] + counted.value[USAGE_CPU_SYSTEM];
    else if (!question->of)
        m.cpu = add_cpu(s, &list);
    if (!t || cgroup_tree_memory(t, &m.memory) < 0) {
        m.memory = add_memory(&list);
        m.memory_added = 1;
    }
    free(list.pids);
    uplink_send(s->up, FRAME_PRESENT, &m.base);
}
