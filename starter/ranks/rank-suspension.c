/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-suspension.c - ranks that are stopped and frozen, and go on
 *
 * If mprund lends what suspended steps have, it hears when the ranks are frozen and when they go
 * on; what to lend is mprund's decision. Meanwhile the ranks' cpuset has few cores, and kernels
 * before 6.2 then forget what ranks were bound to: so ranks are bound again later. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/machine/cpus.h"
#include "common/log.h"
#include "common/processes/proc.h"
#include "containment/job-cgroup/parents.h"
#include "starter/binding/gpu-shares.h"
#include "starter/binding/rank-binding.h"
#include "starter/containment/step-containment.h"
#include "starter/pmi/pmi-server.h"
#include "starter/process-tree.h"
#include "starter/ranks/ranks-private.h"
#include "starter/tunables.h"
#include "wire/messages/launch.h"

/* ---- what others may have meanwhile ---------------------------------------------------------- */

/* GPUs that are not dealt to ranks are for all steps of the job. This step lends them only while it
 * is the job's only step here. */
static bool is_alone_in_job(const char *place)
{
    AUTO_DIR DIR *d = opendir(place);
    struct dirent *e;
    unsigned n = 0;
    while (d && (e = readdir(d)))
        n += !strncmp(e->d_name, "mprun.", strlen("mprun."));
    return n == 1;
}

static void find_gpus(const struct ranks *all, char ret[GPU_LIST_MAX])
{
    const struct grant_answer *a = &all->with->containment->answer;
    ret[0] = 0;
    if (all->with->gpus->is_asked)
        gpu_shares_of_all(all->with->gpus, ret);
    else if (is_alone_in_job(a->v2))
        snprintf(ret, GPU_LIST_MAX, "%s", a->gpus);
}

static bool lends(const struct ranks *all)
{
    const struct grant_answer *a = &all->with->containment->answer;
    return a->lends && a->v2[0];
}

static void tell_mprund(struct ranks *all, cgroup_daemon_fn answered)
{
    const struct step_containment *c = all->with->containment;
    struct error e = {.text = ""};
    AUTO(idset_free) struct idset threads = {0};
    char below[GRANT_CGROUP_MAX], gpus[GPU_LIST_MAX];
    cgroup_daemon_forget(take_ptr(all->lending));
    if (!lends(all) || !c->tree || !cgroup_tree_below(c->tree, c->answer.v2, below, sizeof(below)))
        return;
    find_gpus(all, gpus);
    rank_binding_all_threads(all->with->binding, &threads);
    all->lending =
        cgroup_daemon_suspended(all->with->loop, below, &threads, gpus, answered, all, &e);
    if (!all->lending)
        log_debug("tell mprund of the suspension: %s", e.text);
}

static void lent(void *arg, const struct grant_answer *answer, const struct error *why)
{
    struct ranks *all = arg;
    all->lending = NULL;
    if (!answer)
        log_debug("%s", why->text);
}

/* ---- and when it goes on --------------------------------------------------------------------- */

/* Leaves a thread alone that has chosen fewer cores itself. */
static void bind_thread(pid_t thread, const struct idset *wanted)
{
    AUTO(idset_free) struct idset others = {0};
    bool is_known = cpus_of(thread, &others) == 0;
    idset_subtract(&others, wanted);
    if (!is_known || idset_count(&others) > 0)
        (void)cpus_bind(thread, wanted);
}

static void bind_process(pid_t pid, const struct idset *wanted)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    AUTO_DIR DIR *d = opendir(path);
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.')
            bind_thread((pid_t)strtol(e->d_name, NULL, 10), wanted);
}

static void bind_rank(const struct ranks *s, uint32_t local)
{
    AUTO_FREE pid_t *pids = NULL;
    const struct idset *wanted = rank_affinity(&s->ranks[local]);
    int n = wanted ? ranks_processes(s, local, &pids) : 0;
    for (int i = 0; i < n; i++)
        bind_process(pids[i], wanted);
}

static void tell_of_others(const struct ranks *all, const struct grant_answer *a, bool has_own)
{
    const char *host = launch_here(all->with->launch)->host;
    if (!has_own)
        log_warn("on %s: cores of this step went to other jobs while it was suspended: its ranks "
                 "go on unbound on hardware threads %s%s",
                 host, a->cpus,
                 a->cores_how == GRANT_CORES_SHARED ? ", which other jobs use, too" : "");
    if (a->text[0])
        log_warn("on %s: GPUs %s of this step went to another job while it was suspended: both use "
                 "them now",
                 host, a->text);
}

static void given_back(void *arg, const struct grant_answer *answer, const struct error *why)
{
    struct ranks *all = arg;
    AUTO(idset_free) struct idset threads = {0}, has = {0};
    all->lending = NULL;
    if (!answer) {
        log_warn("on %s: what mprund lent of this step is perhaps not back: %s",
                 launch_here(all->with->launch)->host, why->text);
        return;
    }
    bool has_own = true;
    rank_binding_all_threads(all->with->binding, &threads);
    if (answer->cores_how != GRANT_CORES_ALL && idset_parse(answer->cpus, &has, NULL) == 0) {
        idset_subtract(&threads, &has);
        has_own = idset_count(&threads) == 0 && answer->cores_how != GRANT_CORES_SHARED;
    }
    for (struct ranks *s = all; has_own && s; s = s->next)
        for (uint32_t i = 0; i < s->n; i++)
            bind_rank(s, i);
    tell_of_others(all, answer, has_own);
}

/* ---- stopped and frozen ---------------------------------------------------------------------- */

static bool is_stopped(const struct ranks *s, uint32_t local)
{
    AUTO_FREE pid_t *pids = NULL;
    int n = ranks_processes(s, local, &pids);
    bool is = true;
    for (int i = 0; is && i < n; i++) {
        struct proc_stat st;
        is = proc_stat_read(pids[i], &st) < 0 || strchr("TtZX", st.state);
    }
    return is;
}

static bool are_stopped(const struct ranks *all)
{
    for (const struct ranks *s = all; s; s = s->next)
        for (uint32_t i = 0; i < s->n; i++)
            if (!is_stopped(s, i))
                return false;
    return true;
}

/* Parents, managers and ps see the STOP, and without a cgroup there is nothing else. A frozen
 * process takes its STOP only when it is thawed, so STOP comes first. Freezing then also holds
 * processes that have not taken it, or were forked meanwhile. */
static void freeze_stopped(void *arg)
{
    struct ranks *all = arg;
    struct cgroup_tree *tree = all->with->containment->tree;
    bool is_late = loop_now() - all->suspended >= STOP_SECONDS;
    if (!are_stopped(all) && !is_late) {
        loop_timer_start(&all->freeze, STOP_LOOK_SECONDS, 0);
        return;
    }
    int done = tree ? cgroup_tree_freeze(tree, true) : -1;
    if (done > 0)
        tell_mprund(all, lent);
    else if (done == 0 && !is_late && lends(all))
        loop_timer_start(&all->freeze, STOP_LOOK_SECONDS, 0);
}

/* Of processes that have lost their parent nothing but a rank's own cgroup knows whose they are:
 * they are this process's children. */
static void signal_orphans(const struct ranks *all, int signo)
{
    pid_t server = all->with->pmi ? all->with->pmi->pid : 0;
    AUTO_FREE pid_t *children = NULL;
    if (all->with->containment->level == TRACK_RANK)
        return;
    int n = proc_children(getpid(), &children);
    for (int i = 0; i < n; i++)
        if (children[i] != server && !ranks_have_pid(all, children[i]))
            process_tree_signal(children[i], signo);
}

void ranks_suspend(struct ranks *all)
{
    if (!all->with) /* before LAUNCH */
        return;
    all->suspended = all->suspended ? all->suspended : loop_now();
    ranks_signal(all, SIGSTOP);
    signal_orphans(all, SIGSTOP);
    loop_timer_stop(&all->freeze);
    loop_timer_init(&all->freeze, all->with->loop, freeze_stopped, all);
    loop_timer_start(&all->freeze, STOP_LOOK_SECONDS, 0);
}

void ranks_resume(struct ranks *all)
{
    if (!all->with)
        return;
    struct cgroup_tree *tree = all->with->containment->tree;
    double pause = all->suspended ? loop_now() - all->suspended : 0;
    for (struct ranks *s = all; s; s = s->next)
        for (uint32_t i = 0; i < s->n; i++)
            if (s->ranks[i].state == RANK_RUNNING)
                s->ranks[i].paused += pause;
    all->suspended = 0;
    loop_timer_stop(&all->freeze);
    if (tree)
        (void)cgroup_tree_freeze(tree, false);
    ranks_signal(all, SIGCONT);
    signal_orphans(all, SIGCONT);
    if (pause > 0)
        tell_mprund(all, given_back);
}
