/* SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/processes/fault.h"
#include "common/must.h"
#include "common/processes/proc.h"
#include "common/processes/reaper.h"
#include "containment/job-cgroup/parents.h"
#include "model/rank-end.h"
#include "starter/containment/step-containment.h"
#include "starter/ending/removal.h"
#include "starter/io/rank-io.h"
#include "starter/tunables.h"
#include "starter/process-tree.h"
#include "starter/ranks/ranks-private.h"
#include "starter/ending/step-end.h"
#include "wire/messages/launch.h"

static const struct rank_set *here(const struct ranks *s)
{
    return &launch_here(s->with->launch)->ranks;
}

/* ---- samples of memory ----------------------------------------------------------------------- */

static void sample(void *arg)
{
    struct ranks *s = arg;
    for (uint32_t i = 0; i < s->n; i++) {
        pid_t *pids;
        int n = s->ranks[i].state == RANK_RUNNING ? ranks_pids(s, i, &pids) : 0;
        if (n <= 0)
            continue;
        usage_sample(&s->ranks[i].usage, pids, (size_t)n);
        free(pids);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static void look_again(void *arg)
{
    const struct ranks *s = arg;
    loop_defer_schedule(s->with->turn);
}

void ranks_init(struct ranks *s, const struct starter_services *with)
{
    const struct step *step = &with->launch->step;
    s->with = with;
    uint32_t n = rank_set_count(here(s));
    s->ranks = must(calloc(n ? n : 1, sizeof(*s->ranks)));
    s->n = n;
    for (uint32_t i = 0; i < n; i++) {
        struct rank_name name = rank_set_at(here(s), i);
        s->ranks[i] = (struct rank){
            .all = s, .name = name, .local = i, .app = step_app_of(step, name), .io_fd = -1};
    }
    loop_timer_init(&s->samples, with->loop, sample, s);
    loop_timer_init(&s->again, with->loop, look_again, s);
    if (with->launch->world == 0)
        rank_sessions_init(&s->sessions, with->loop);
    if (step->sample_period > 0)
        loop_timer_start(&s->samples, step->sample_period * FIRST_SAMPLE_PART, step->sample_period);
}

void ranks_free(struct ranks *s)
{
    loop_timer_stop(&s->samples);
    loop_timer_stop(&s->freeze);
    cgroup_daemon_forget(s->lending);
    loop_timer_stop(&s->again);
    rank_sessions_stop(&s->sessions);
    rank_programs_free(s);
    for (uint32_t i = 0; i < s->n; i++)
        rank_free(&s->ranks[i]);
    free(s->ranks);
    free(s->look.now);
    free(s->look.before);
}

struct rank *ranks_find(const struct ranks *s, struct rank_name name)
{
    while (s && (!s->n || s->with->launch->world != name.world))
        s = s->next;
    int64_t local = s ? rank_set_index(here(s), name) : -1;
    return local < 0 ? NULL : &s->ranks[local];
}

bool ranks_have_pid(const struct ranks *all, pid_t pid)
{
    for (const struct ranks *s = all; s; s = s->next)
        for (uint32_t i = 0; i < s->n; i++)
            if (s->ranks[i].pid == pid)
                return true;
    return false;
}

/* ---- starting -------------------------------------------------------------------------------- */

static void cancel_waiting(struct ranks *s)
{
    s->begun = s->n;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->ranks[i].state == RANK_WAITING)
            rank_end_killed(&s->ranks[i]);
}

bool ranks_start_some(struct ranks *s)
{
    for (int i = 0; i < RANK_STARTS_PER_TURN && s->begun < s->n; i++) {
        if (s->with->end->has_begun)
            break;
        if (s->begun == s->n / 2)
            fault_point("launching");
        rank_start(&s->ranks[s->begun++]);
    }
    if (s->with->end->has_begun)
        cancel_waiting(s);
    return s->begun < s->n;
}

void ranks_refuse(struct ranks *s, const struct error *why)
{
    s->begun = s->n;
    for (uint32_t i = 0; i < s->n; i++)
        rank_not_started(&s->ranks[i], EXIT_CODE_MPRUN, why);
}

void ranks_cancel_waiting(struct ranks *all)
{
    for (struct ranks *s = all; s; s = s->next)
        /* a world may wait for the PMI server; before LAUNCH there is none */
        if (s->programs || (s->n && s->with->launch->world))
            cancel_waiting(s);
}

/* ---- signals --------------------------------------------------------------------------------- */

/* Lists a rank's processes by its cgroup, or without one by its process tree. */
static int processes_of(const struct rank *r, pid_t **ret)
{
    int n = r->leaf && r->all->with->containment->level == TRACK_RANK
                ? cgroup_leaf_pids(r->leaf, ret)
                : -1;
    if (n >= 0)
        return n;
    return r->pid > 1 ? process_tree_pids(r->pid, ret) : 0;
}

int ranks_processes(const struct ranks *s, uint32_t local, pid_t **ret)
{
    *ret = NULL;
    return s->ranks[local].state == RANK_RUNNING ? processes_of(&s->ranks[local], ret) : 0;
}

static void signal_rank(const struct rank *r, int signo)
{
    AUTO_FREE pid_t *pids = NULL;
    int n = processes_of(r, &pids);
    for (int i = 0; i < n; i++)
        if (pids[i] > 1)
            kill(pids[i], signo);
}

static void signal_world(const struct ranks *s, int signo)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->ranks[i].state == RANK_RUNNING)
            signal_rank(&s->ranks[i], signo);
}

void ranks_kill_for_limit(struct ranks *all, struct rank_name name, const char *text)
{
    struct rank *r = ranks_find(all, name);
    if (!r || r->limit_text)
        return;
    if (r->state == RANK_RUNNING)
        r->limit_text = must(strdup(text));
    signal_rank(r, SIGKILL); /* or what it has left behind */
}

void ranks_signal(const struct ranks *all, int signo)
{
    for (const struct ranks *s = all; s; s = s->next)
        signal_world(s, signo);
}

void ranks_signal_some(struct ranks *all, struct rank_name name, int signo, bool ends)
{
    for (struct ranks *s = all; s; s = s->next)
        for (uint32_t i = 0; i < s->n; i++) {
            struct rank *r = &s->ranks[i];
            if (r->state != RANK_RUNNING || r->name.world != name.world ||
                (name.rank != RANK_ALL && name.rank != r->name.rank))
                continue;
            r->may_end |= ends;
            signal_rank(r, signo);
        }
}

void ranks_kill_all(struct ranks *s)
{
    s->is_killed = true;
    cancel_waiting(s);
    signal_world(s, SIGKILL);
}

bool ranks_kill_leftovers(const struct ranks *s)
{
    bool are_gone = true;
    for (uint32_t i = 0; i < s->n; i++)
        are_gone &= rank_kill_leftovers(&s->ranks[i]);
    return are_gone;
}

bool ranks_remove_leaves(struct ranks *s)
{
    bool are_gone = true;
    for (uint32_t i = 0; i < s->n; i++)
        are_gone &= rank_remove_leaf(&s->ranks[i]);
    return are_gone;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void give_up(struct rank *r)
{
    struct ranks *s = r->all;
    reaper_remove(s->with->reaper, r->pid);
    r->pid = 0;
    s->running--;
    rank_io_rank_ended(s->with->io, r->name);
    rank_end_killed(r);
}

static void give_up_world(struct ranks *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        struct rank *r = &s->ranks[i];
        struct proc_stat st = {.state = '?'};
        char text[256], where[64] = "", name[RANK_NAME_TEXT];
        if (r->state != RANK_RUNNING)
            continue;
        proc_stat_read(r->pid, &st);
        proc_wchan(r->pid, where, sizeof(where));
        snprintf(text, sizeof(text), "rank %s (pid %d) was killed and does not end: state %c%s%s",
                 rank_name_format(r->name, name), (int)r->pid, st.state, *where ? " in " : "",
                 where);
        removal_add_stuck(s->with->removal, text);
        give_up(r);
    }
}

void ranks_give_up_killed(struct ranks *all)
{
    for (struct ranks *s = all; s; s = s->next)
        give_up_world(s);
}

void ranks_pmi_client(struct ranks *all, struct rank_name name, bool has_connected)
{
    struct rank *r = ranks_find(all, name);
    if (!r)
        return;
    if (has_connected && !r->pmi_connected && r->pid > 1 &&
        r->all->with->launch->step.stop_point == STOP_IN_INIT)
        kill(r->pid, SIGSTOP);
    if (has_connected)
        r->pmi_connected = true;
    else
        r->pmi_finalized = true;
}

void ranks_pmi_gone(struct ranks *all, struct rank_name name)
{
    struct rank *r = ranks_find(all, name);
    if (r && r->state == RANK_EXITED)
        rank_end(r);
}

void ranks_pmi_ended(struct ranks *all)
{
    for (struct ranks *s = all; s; s = s->next)
        for (uint32_t i = 0; i < s->n; i++)
            if (s->ranks[i].state == RANK_EXITED)
                rank_end(&s->ranks[i]);
}

/* ---- queries --------------------------------------------------------------------------------- */

bool ranks_have_ended(const struct ranks *all)
{
    const struct ranks *s = all;
    while (s && s->ended == s->n)
        s = s->next;
    return !s;
}

bool ranks_of_world_have_ended(const struct ranks *s)
{
    return s->ended == s->n;
}

bool ranks_are_running(const struct ranks *all)
{
    const struct ranks *s = all;
    while (s && !s->running)
        s = s->next;
    return s;
}

bool ranks_of_world_have_ended_well(const struct ranks *s)
{
    uint32_t i = 0;
    while (i < s->n && s->ranks[i].state == RANK_ENDED && s->ranks[i].status == 0)
        i++;
    return i == s->n;
}

int ranks_pids(const struct ranks *s, uint32_t local, pid_t **ret)
{
    return processes_of(&s->ranks[local], ret);
}

uint64_t ranks_ended_cpu(const struct ranks *all)
{
    uint64_t sum = 0;
    for (const struct ranks *s = all; s; s = s->next) {
        sum += s->freed_cpu;
        for (uint32_t i = 0; i < s->n; i++) {
            const struct rank *r = &s->ranks[i];
            if (r->pid == 0)
                sum += r->usage.value[USAGE_CPU_USER] + r->usage.value[USAGE_CPU_SYSTEM];
        }
    }
    return sum;
}

struct rank_account ranks_account(struct ranks *s, uint32_t local)
{
    struct rank *r = &s->ranks[local];
    rank_read_cgroup_usage(r);
    return (struct rank_account){.name = r->name,
                                 .usage = &r->usage,
                                 .bound_threads = r->bound_threads,
                                 .limits = &r->limits};
}
