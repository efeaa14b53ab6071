/* SPDX-License-Identifier: BSD-3-Clause */
/* The kill ladder and what follows it: TERM, grace, KILL, until nothing of the ranks is left, then
 * the removal of cgroups and directories, with retries and a bound. With a cgroup the kernel kills;
 * without one everything below this process is killed level by level, because as a child subreaper
 * it inherits whatever loses its parent. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/log.h"
#include "common/path.h"
#include "common/proc.h"
#include "starter/keeper.h"
#include "starter/pmi-link.h"
#include "starter/worker.h"

#define LEFTOVER_SECONDS 5.0
#define CLEAN_SECONDS    3.0
#define SERVER_SECONDS   2.0 /* for the PMI server to answer once the ranks were killed */
enum { STUCK_MAX = 16 };

struct ending {
    struct worker *w;
    int begun, killing; /* TERM was sent; KILL was sent */
    struct loop_timer *grace;
    double kill_at;
    int leftovers;    /* being killed */
    int cgroup_empty; /* told by the kernel */
    struct loop_timer *leftover_timer;
    double leftover_end;
    int gave_up;
    struct loop_timer *stuck_timer; /* for ranks that do not go although they were killed */
    int told_kill;                  /* why the cgroup could not be killed was said */
    struct loop_timer *server_timer;
    struct loop_timer *clean_timer;
    double clean_end, clean_wait;
    int cleaned;
    char *stuck[STUCK_MAX];
    size_t nstuck;
};

static void grace_over(void *arg);
static void ranks_stuck(void *arg);
static void server_silent(void *arg);
static void leftovers_again(void *arg);
static void clean_again(void *arg);

struct ending *ending_create(struct worker *w)
{
    struct ending *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->w = w;
    e->grace = loop_timer_create(w->loop, grace_over, e);
    e->leftover_timer = loop_timer_create(w->loop, leftovers_again, e);
    e->clean_timer = loop_timer_create(w->loop, clean_again, e);
    e->server_timer = loop_timer_create(w->loop, server_silent, e);
    e->stuck_timer = loop_timer_create(w->loop, ranks_stuck, e);
    if (!e->grace || !e->leftover_timer || !e->server_timer || !e->clean_timer || !e->stuck_timer) {
        ending_destroy(e);
        return NULL;
    }
    return e;
}

void ending_destroy(struct ending *e)
{
    if (!e)
        return;
    loop_timer_destroy(e->grace);
    loop_timer_destroy(e->leftover_timer);
    loop_timer_destroy(e->server_timer);
    loop_timer_destroy(e->stuck_timer);
    loop_timer_destroy(e->clean_timer);
    for (size_t i = 0; i < e->nstuck; i++)
        free(e->stuck[i]);
    free(e);
}

static void add_stuck(struct ending *e, const char *text)
{
    if (e->nstuck < STUCK_MAX && (e->stuck[e->nstuck] = strdup(text)))
        e->nstuck++;
}

/* ---- signals to ranks ------------------------------------------------------------------------ */

/* A process and everything below it, parents first. */
static void signal_tree(pid_t pid, int signo)
{
    pid_t *children = NULL;
    if (pid <= 1)
        return;
    int n = proc_children(pid, &children);
    kill(pid, signo);
    for (int i = 0; i < n; i++)
        signal_tree(children[i], signo);
    free(children);
}

static void signal_rank(const struct rank *r, int signo)
{
    pid_t *pids = NULL;
    int n =
        r->leaf && r->worker->contain.level == TRACK_RANK ? cgroup_leaf_pids(r->leaf, &pids) : -1;
    if (n < 0) {
        signal_tree(r->pid, signo);
        return;
    }
    for (int i = 0; i < n; i++)
        if (pids[i] > 1)
            kill(pids[i], signo);
    free(pids);
}

void ending_signal(struct worker *w, int signo)
{
    for (uint32_t i = 0; i < w->ranks.n; i++)
        if (w->ranks.all[i].state == RANK_RUNNING)
            signal_rank(&w->ranks.all[i], signo);
}

/* ---- the ladder ------------------------------------------------------------------------------ */

/* Everything below this process but the PMI server. 1 when there was anything. */
static int kill_children(const struct worker *w)
{
    pid_t *children = NULL, server = w->pmi ? pmi_link_pid(w->pmi) : 0;
    int n = proc_children(getpid(), &children), any = 0;
    for (int i = 0; i < n; i++) {
        if (children[i] == server)
            continue;
        any = 1;
        signal_tree(children[i], SIGKILL);
    }
    free(children);
    return any;
}

/* By cgroup, and by descent: a rank may have moved itself out of its cgroup. */
static void kill_all(struct worker *w)
{
    struct error e;
    if (w->contain.tree && cgroup_tree_ops(w->contain.tree)->kill(w->contain.tree, &e) < 0 &&
        !w->ending->told_kill) {
        w->ending->told_kill = 1;
        log_warn("on %s: %s", w->host_name, e.text);
    }
    kill_children(w);
}

static void ranks_stuck(void *arg)
{
    struct ending *e = arg;
    struct worker *w = e->w;
    for (uint32_t i = 0; i < w->ranks.n; i++) {
        struct rank *r = &w->ranks.all[i];
        struct proc_stat st = {.state = '?'};
        char text[256], where[64] = "", name[RANK_NAME_TEXT];
        if (r->state != RANK_RUNNING)
            continue;
        proc_stat_read(r->pid, &st);
        proc_wchan(r->pid, where, sizeof(where));
        snprintf(text, sizeof(text), "rank %s (pid %d) was killed and does not end: state %c%s%s",
                 rank_name_format(r->name, name), (int)r->pid, st.state, *where ? " in " : "",
                 where);
        add_stuck(e, text);
        rank_give_up(r);
    }
}

static void server_silent(void *arg)
{
    struct ending *e = arg;
    if (e->w->pmi && !pmi_link_ended(e->w->pmi))
        pmi_link_kill(e->w->pmi);
}

static void kill_now(struct ending *e)
{
    e->killing = 1;
    loop_timer_stop(e->grace);
    loop_timer_start(e->server_timer, SERVER_SECONDS, 0);
    loop_timer_start(e->stuck_timer, LEFTOVER_SECONDS, 0);
    kill_all(e->w);
    loop_defer_schedule(e->w->step);
}

static void grace_over(void *arg)
{
    kill_now(arg);
}

void ending_kill(struct worker *w, double grace, const char *why)
{
    struct ending *e = w->ending;
    double at = loop_now() + grace;
    if (e->killing)
        return;
    if (!e->begun) {
        e->begun = 1;
        log_debug("ending ranks on %s: %s", w->hostname, why);
        ending_signal(w, SIGTERM);
        ending_signal(w, SIGCONT); /* a stopped process takes its TERM only then */
    } else if (at >= e->kill_at) {
        return;
    }
    e->kill_at = at;
    if (w->ranks.next < w->ranks.n && w->state >= HOST_LAUNCHING)
        ranks_cancel_waiting(w);
    if (grace <= 0)
        kill_now(e);
    else
        loop_timer_start(e->grace, grace, 0);
    loop_defer_schedule(w->step);
}

int ending_begun(const struct worker *w)
{
    return w->ending->begun;
}

/* ---- what ranks left behind ------------------------------------------------------------------ */

static void cgroup_is_empty(void *arg)
{
    struct ending *e = arg;
    e->cgroup_empty = 1;
    loop_defer_schedule(e->w->step);
}

static void leftovers_again(void *arg)
{
    struct ending *e = arg;
    if (loop_now() > e->leftover_end && !e->gave_up) {
        e->gave_up = 1;
        add_stuck(e, "processes of the ranks could not be killed");
    }
    kill_all(e->w);
    loop_defer_schedule(e->w->step);
}

void ending_leftovers(struct worker *w)
{
    struct ending *e = w->ending;
    struct error err;
    if (e->leftovers)
        return;
    e->leftovers = 1;
    e->leftover_end = loop_now() + LEFTOVER_SECONDS;
    kill_all(w);
    if (w->contain.tree && cgroup_tree_wait_empty(w->contain.tree, cgroup_is_empty, e, &err) < 0) {
        log_warn("on %s: %s", w->host_name, err.text);
        e->cgroup_empty = 1;
    }
    loop_timer_start(e->leftover_timer, 0.2, 0.2);
}

int ending_nothing_left(const struct worker *w)
{
    struct ending *e = w->ending;
    int children = kill_children(w);
    if ((children || (w->contain.tree && !e->cgroup_empty)) && !e->gave_up)
        return 0;
    loop_timer_stop(e->leftover_timer);
    return 1;
}

/* ---- cleaning -------------------------------------------------------------------------------- */

static int remove_cgroups(struct worker *w, struct error *err)
{
    if (!w->contain.tree)
        return 0;
    if (cgroup_tree_remove(w->contain.tree, err) < 0)
        return -1;
    for (uint32_t i = 0; i < w->ranks.n; i++)
        w->ranks.all[i].leaf = NULL;
    cgroup_tree_destroy(w->contain.tree);
    w->contain.tree = NULL;
    return 0;
}

/* Everything is tried, whatever could not go. What stays is put on the list when it is the last
 * time. */
static int clean_once(struct ending *e, int last)
{
    struct worker *w = e->w;
    const char *const directories[] = {w->shm_directory, w->directory};
    struct error err;
    int rc = remove_cgroups(w, &err);
    if (rc < 0 && last)
        add_stuck(e, err.text);
    for (size_t i = 0; i < 2; i++) {
        if (!directories[i][0] || path_remove_tree(directories[i], &err) == 0)
            continue;
        rc = -1;
        if (last)
            add_stuck(e, err.text);
    }
    return rc;
}

static void clean_again(void *arg)
{
    struct ending *e = arg;
    int last = loop_now() >= e->clean_end;
    if (clean_once(e, last) < 0 && !last) {
        e->clean_wait *= 2;
        loop_timer_start(e->clean_timer, e->clean_wait, 0);
        return;
    }
    e->cleaned = 1;
    loop_defer_schedule(e->w->step);
}

void ending_clean(struct worker *w)
{
    w->ending->clean_end = loop_now() + CLEAN_SECONDS;
    w->ending->clean_wait = 0.002;
    clean_again(w->ending);
}

int ending_cleaned(const struct worker *w)
{
    return w->ending->cleaned;
}

void ending_send_cleaned(struct worker *w)
{
    struct ending *e = w->ending;
    Mprun__Cleaned m = MPRUN__CLEANED__INIT;
    m.n_stuck = e->nstuck;
    m.stuck = e->stuck;
    keeper_tell(w->keeper_fd, e->nstuck ? KEEPER_STUCK : KEEPER_CLEANED, "");
    if (w->up)
        link_send(w->up, FRAME_CLEANED, &m.base);
    for (size_t i = 0; !w->up && i < e->nstuck; i++)
        log_error("on %s: %s", w->hostname, e->stuck[i]);
}

/* ---- the report ------------------------------------------------------------------------------ */

static void add_rusage(struct usage *u, const struct rusage *r)
{
    struct usage one = {0};
    usage_set(&one, USAGE_CPU_USER,
              (uint64_t)r->ru_utime.tv_sec * 1000000u + (uint64_t)r->ru_utime.tv_usec);
    usage_set(&one, USAGE_CPU_SYSTEM,
              (uint64_t)r->ru_stime.tv_sec * 1000000u + (uint64_t)r->ru_stime.tv_usec);
    usage_set(&one, USAGE_RSS_PEAK, (uint64_t)r->ru_maxrss * 1024);
    usage_add(u, &one);
}

static void starter_usage(struct worker *w, struct usage *u)
{
    struct rusage self;
    struct proc_stat keeper;
    getrusage(RUSAGE_SELF, &self);
    add_rusage(u, &self);
    if (w->pmi)
        add_rusage(u, pmi_link_usage(w->pmi));
    if (proc_stat_read(w->keeper, &keeper) == 0) {
        uint64_t tick = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
        u->value[USAGE_CPU_USER] += keeper.utime * tick;
        u->value[USAGE_CPU_SYSTEM] += keeper.stime * tick;
    }
}

void ending_send_report(struct worker *w)
{
    Mprun__Report m = MPRUN__REPORT__INIT;
    uint32_t n = w->ranks.n;
    AUTO_FREE Mprun__Report__Rank *ranks = calloc(n + 1, sizeof(*ranks));
    AUTO_FREE Mprun__Report__Rank **list = calloc(n + 1, sizeof(*list));
    AUTO_FREE Mprun__RankName *names = calloc(n + 1, sizeof(*names));
    AUTO_FREE struct packed_usage *usages = calloc(n + 1, sizeof(*usages));
    struct packed_usage starter, others, step;
    struct usage u = {0}, o = {0}, s = {0};
    if (!w->up || !ranks || !list || !names || !usages)
        return;
    for (uint32_t i = 0; i < n; i++) {
        struct rank *r = &w->ranks.all[i];
        rank_final_usage(r);
        mprun__report__rank__init(&ranks[i]);
        rank_name_pack(r->name, &names[i]);
        usage_pack(&r->usage, &usages[i]);
        ranks[i].name = &names[i];
        ranks[i].usage = &usages[i].message;
        if (r->bound_threads && w->binding.bound) {
            ranks[i].bound_threads = r->bound_threads;
            ranks[i].cores = cpus_count_cores(&w->binding.ranks[i]);
        }
        if (r->leaf && cgroup_leaf_limits(r->leaf)->memory.set)
            ranks[i].memory_limit = cgroup_leaf_limits(r->leaf)->memory.value;
        list[i] = &ranks[i];
    }
    m.n_ranks = n;
    m.ranks = list;
    starter_usage(w, &u);
    usage_pack(&u, &starter);
    m.starter = &starter.message;
    if (w->norphans && w->contain.level != TRACK_RANK) { /* in a leaf they are counted already */
        add_rusage(&o, &w->orphans);
        usage_set(&o, USAGE_PROCESSES, w->norphans);
    }
    usage_pack(&o, &others);
    m.others = &others.message;
    if (w->contain.tree)
        cgroup_tree_usage(w->contain.tree, &s);
    usage_pack(&s, &step);
    m.step = &step.message;
    link_send(w->up, FRAME_REPORT, &m.base);
}
