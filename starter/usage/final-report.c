/* SPDX-License-Identifier: BSD-3-Clause */
/* final-report.c - see final-report.h */
#include "starter/usage/final-report.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/proc.h"
#include "containment/step/tree.h"
#include "starter/binding/rank-binding.h"
#include "starter/containment/step-containment.h"
#include "starter/links/uplink.h"
#include "starter/pmi/pmi-server.h"
#include "starter/ranks/ranks.h"
#include "starter/usage/rusage.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"

struct line { /* of one rank, with what its message points to */
    Mprun__Report__Rank message;
    Mprun__RankName name;
    struct packed_usage usage;
    struct packed_limits limits;
};

static void fill_line(struct line *l, const struct final_report *f, uint32_t local)
{
    struct rank_account a = ranks_account(f->ranks, local);
    mprun__report__rank__init(&l->message);
    rank_name_pack(a.name, &l->name);
    usage_pack(a.usage, &l->usage);
    l->message.name = &l->name;
    l->message.usage = &l->usage.message;
    if (a.bound_threads && rank_binding_is_bound(f->binding)) {
        l->message.bound_threads = (char *)(uintptr_t)a.bound_threads;
        l->message.cores = cpus_count_cores(rank_binding_threads(f->binding, local));
    }
    if (a.limits && limits_is_any_set(a.limits)) {
        limits_pack(a.limits, &l->limits);
        l->message.limits = &l->limits.message;
    }
}

/* The worker itself, the PMI server, the keeper. */
static void add_starter(const struct final_report *f, struct usage *u)
{
    struct rusage self;
    struct proc_stat keeper;
    getrusage(RUSAGE_SELF, &self);
    usage_add_rusage(u, &self);
    if (f->pmi)
        usage_add_rusage(u, &f->pmi->usage);
    if (proc_stat_read(f->keeper, &keeper) == 0) {
        uint64_t tick = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
        u->value[USAGE_CPU_USER] += keeper.utime * tick;
        u->value[USAGE_CPU_SYSTEM] += keeper.stime * tick;
    }
}

/* A rank's leaf has counted them already where there is one. */
static void add_others(const struct final_report *f, struct usage *u)
{
    if (f->others->n == 0 || f->containment->level == TRACK_RANK)
        return;
    usage_add_rusage(u, &f->others->sum);
    usage_set(u, USAGE_PROCESSES, f->others->n);
}

void final_report_send(struct uplink *up, const struct final_report *f)
{
    Mprun__Report m = MPRUN__REPORT__INIT;
    uint32_t n = ranks_count(f->ranks);
    AUTO_FREE struct line *lines = calloc(n + 1, sizeof(*lines));
    AUTO_FREE Mprun__Report__Rank **list = calloc(n + 1, sizeof(*list));
    struct packed_usage starter, others, step;
    struct usage u = {0}, o = {0}, s = {0};
    if (!up->link || !lines || !list)
        return;
    for (uint32_t i = 0; i < n; i++) {
        fill_line(&lines[i], f, i);
        list[i] = &lines[i].message;
    }
    m.n_ranks = n;
    m.ranks = list;
    add_starter(f, &u);
    usage_pack(&u, &starter);
    m.starter = &starter.message;
    add_others(f, &o);
    usage_pack(&o, &others);
    m.others = &others.message;
    if (f->containment->tree)
        cgroup_tree_usage(f->containment->tree, &s);
    usage_pack(&s, &step);
    m.step = &step.message;
    uplink_send(up, FRAME_REPORT, &m.base);
}
