/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/number.h"
#include "common/proc.h"
#include "common/spawn.h"
#include "starter/pmi-link.h"
#include "starter/sampler.h"
#include "starter/worker.h"

enum { STARTS_PER_TURN = 8 };

static const struct app *app_of(const struct step *s, uint32_t rank)
{
    for (size_t i = 0; i < s->napps; i++)
        if (rank - s->apps[i].first_rank < s->apps[i].count)
            return &s->apps[i];
    return NULL;
}

/* ---- what the sampler looks at --------------------------------------------------------------- */

static size_t sampled_count(void *arg)
{
    return ((struct worker *)arg)->ranks.n;
}

static int sampled_pids(void *arg, size_t rank, pid_t **ret)
{
    const struct rank *r = &((struct worker *)arg)->ranks.all[rank];
    if (r->state != RANK_RUNNING || r->pid <= 0)
        return 0;
    return r->leaf ? cgroup_leaf_pids(r->leaf, ret) : sampler_tree_pids(r->pid, ret);
}

static struct usage *sampled_usage(void *arg, size_t rank)
{
    return &((struct worker *)arg)->ranks.all[rank].usage;
}

static int begin_samples(struct worker *w, struct error *err)
{
    static const struct sampler_source source = {sampled_count, sampled_pids, sampled_usage};
    double period = w->launch.step.sample_period;
    if (period <= 0)
        return 0;
    w->sampler = sampler_create(w->loop, period, &source, w, err);
    return w->sampler ? 0 : -1;
}

/* ---- all ranks ------------------------------------------------------------------------------- */

int ranks_create(struct worker *w, struct error *err)
{
    const struct launch *l = &w->launch;
    const struct placement *here = &l->hosts[l->host_index];
    w->ranks.all = calloc(here->count ? here->count : 1, sizeof(*w->ranks.all));
    if (!w->ranks.all)
        return error_errno(err, ENOMEM, "prepare %u rank%s", here->count, plural(here->count));
    w->ranks.n = here->count;
    for (uint32_t i = 0; i < here->count; i++)
        w->ranks.all[i] = (struct rank){
            .worker = w,
            .name = {.world = l->world, .rank = here->first_rank + i},
            .local = i,
            .app = app_of(&l->step, here->first_rank + i),
            .io_fd = -1,
        };
    return begin_samples(w, err);
}

void ranks_destroy(struct worker *w)
{
    sampler_destroy(w->sampler);
    w->sampler = NULL;
    rank_exec_free(w);
    for (uint32_t i = 0; i < w->ranks.n; i++) {
        if (w->ranks.all[i].io_fd >= 0)
            close(w->ranks.all[i].io_fd);
        free(w->ranks.all[i].bound_threads);
    }
    free(w->ranks.all);
    memset(&w->ranks, 0, sizeof(w->ranks));
}

struct rank *ranks_find(struct worker *w, struct rank_name name)
{
    if (w->ranks.n == 0 || name.world != w->launch.world ||
        name.rank - w->ranks.all[0].name.rank >= w->ranks.n)
        return NULL;
    struct rank *r = &w->ranks.all[name.rank - w->ranks.all[0].name.rank];
    return rank_name_equal(r->name, name) ? r : NULL;
}

/* ---- the end of a rank ----------------------------------------------------------------------- */

static uint64_t tv_us(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_usec;
}

static void usage_from_rusage(struct usage *u, const struct rusage *r)
{
    usage_set(u, USAGE_CPU_USER, tv_us(r->ru_utime));
    usage_set(u, USAGE_CPU_SYSTEM, tv_us(r->ru_stime));
    usage_set(u, USAGE_RSS_PEAK, (uint64_t)r->ru_maxrss * 1024);
    usage_set(u, USAGE_FAULTS_MINOR, (uint64_t)r->ru_minflt);
    usage_set(u, USAGE_FAULTS_MAJOR, (uint64_t)r->ru_majflt);
    usage_set(u, USAGE_SWITCHES_VOLUNTARY, (uint64_t)r->ru_nvcsw);
    usage_set(u, USAGE_SWITCHES_INVOLUNTARY, (uint64_t)r->ru_nivcsw);
}

static void usage_from_io(struct rank *r)
{
    struct proc_io io;
    if (r->io_fd < 0)
        return;
    if (proc_io_read(r->io_fd, &io) == 0) {
        usage_set(&r->usage, USAGE_READ_BYTES, io.read_chars);
        usage_set(&r->usage, USAGE_WRITTEN_BYTES, io.written_chars);
        usage_set(&r->usage, USAGE_STORAGE_READ, io.read_storage);
        usage_set(&r->usage, USAGE_STORAGE_WRITTEN, io.written_storage);
    }
    close(r->io_fd);
    r->io_fd = -1;
}

void rank_final_usage(struct rank *r)
{
    if (r->leaf && r->worker->contain.level == TRACK_RANK)
        cgroup_leaf_usage(r->leaf, &r->usage);
}

/* What the kernel did to it for a limit, in words; 0 when it did nothing. */
static int oom_text(struct rank *r, char *text, size_t n)
{
    char name[RANK_NAME_TEXT], limit[16], peak[16];
    const struct limits *l = r->leaf ? cgroup_leaf_limits(r->leaf) : NULL;
    int own = usage_has(&r->usage, USAGE_OOM_KILLS) && r->usage.value[USAGE_OOM_KILLS] > 0;
    if (!own && !r->oom_kills)
        return 0;
    rank_name_format(r->name, name);
    size_format(usage_has(&r->usage, USAGE_MEMORY_PEAK) ? r->usage.value[USAGE_MEMORY_PEAK]
                                                        : r->usage.value[USAGE_RSS_PEAK],
                peak, sizeof(peak));
    if (l && l->memory.set && l->memory.held_by == HELD_BY_CGROUP && own)
        snprintf(text, n, "rank %s on %s exceeded its memory limit %s (peak %s)", name,
                 r->worker->host_name, size_format(l->memory.value, limit, sizeof(limit)), peak);
    else if (r->worker->contain.host_limits.memory.set)
        snprintf(text, n,
                 "rank %s on %s was killed: the ranks of this host exceeded --mem %s (peak of this "
                 "rank %s)",
                 name, r->worker->host_name,
                 size_format(r->worker->contain.host_limits.memory.value, limit, sizeof(limit)),
                 peak);
    else
        snprintf(text, n, "rank %s on %s was killed: out of memory (its peak %s)", name,
                 r->worker->host_name, peak);
    return 1;
}

static enum end_cause cause_of(struct rank *r, int *ret_code, char *text, size_t n)
{
    int status = r->status;
    *ret_code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && oom_text(r, text, n))
        return END_LIMIT;
    if (r->killed)
        return END_KILLED;
    if (WIFSIGNALED(status))
        return END_SIGNAL;
    if (*ret_code != 0)
        return END_CODE;
    if (r->pmi_connected && !r->pmi_finalized)
        return END_NO_FINALIZE;
    return END_OK;
}

static void send_exited(struct rank *r, enum end_cause cause, int code, const char *text)
{
    Mprun__Exited m = MPRUN__EXITED__INIT;
    Mprun__RankName name;
    struct packed_usage usage;
    rank_name_pack(r->name, &name);
    usage_pack(&r->usage, &usage);
    m.name = &name;
    m.cause = cause;
    m.code = code;
    m.time_ns = r->end_ns;
    m.killed_by_us = r->killed;
    m.joined = r->pmi_connected;
    m.text = (char *)(uintptr_t)text;
    m.usage = &usage.message;
    if (r->worker->up)
        link_send(r->worker->up, FRAME_EXITED, &m.base);
}

static void rank_ended(struct rank *r)
{
    char text[512] = "";
    int code = 0;
    if (r->state == RANK_ENDED)
        return;
    rank_final_usage(r);
    enum end_cause cause = cause_of(r, &code, text, sizeof(text));
    r->state = RANK_ENDED;
    r->worker->ranks.ended++;
    send_exited(r, cause, code, text);
    worker_fault_point(r->worker, "ending");
    loop_defer_schedule(r->worker->step);
}

/* The kernel's answer to "how did it end" and the PMI server's to "had it finalized" come by
 * different ways; the server is asked, and answers after everything it knew of the rank. */
static void rank_reaped(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct rank *r = arg;
    struct worker *w = r->worker;
    r->end_ns = loop_wallclock_ns();
    r->status = status;
    r->killed = ending_begun(w);
    usage_from_io(r);
    usage_from_rusage(&r->usage, usage);
    usage_set(&r->usage, USAGE_WALL, (uint64_t)((loop_now() - r->start_time) * 1e6));
    if (r->local == 0)
        fault_register("rank", 0);
    r->pid = 0;
    r->state = RANK_EXITED;
    w->ranks.running--;
    rank_io_rank_ended(w->io, r->name);
    if (w->pmi && !pmi_link_ended(w->pmi))
        pmi_link_rank_gone(w->pmi, r->name);
    else
        rank_ended(r);
}

void ranks_pmi_client(struct worker *w, struct rank_name name, int connected)
{
    struct rank *r = ranks_find(w, name);
    if (!r)
        return;
    if (connected)
        r->pmi_connected = 1;
    else
        r->pmi_finalized = 1;
}

void ranks_pmi_gone(struct worker *w, struct rank_name name)
{
    struct rank *r = ranks_find(w, name);
    if (r && r->state == RANK_EXITED)
        rank_ended(r);
}

/* ---- the start of a rank --------------------------------------------------------------------- */

static void not_started(struct rank *r, int exit_code, const struct error *why)
{
    char text[1200], name[RANK_NAME_TEXT];
    struct worker *w = r->worker;
    snprintf(text, sizeof(text), "start rank %s on %s: %s", rank_name_format(r->name, name),
             w->host_name, why->text);
    r->end_ns = loop_wallclock_ns();
    r->killed = ending_begun(w);
    r->state = RANK_ENDED;
    w->ranks.ended++;
    w->ranks.failed_starts++;
    rank_io_rank_ended(w->io, r->name);
    send_exited(r, r->killed ? END_KILLED : END_NOT_STARTED, exit_code, text);
    loop_defer_schedule(w->step);
}

/* By our ladder, without an exit status. */
static void ends_killed(struct rank *r)
{
    r->state = RANK_ENDED;
    r->killed = 1;
    r->end_ns = loop_wallclock_ns();
    r->worker->ranks.ended++;
    send_exited(r, END_KILLED, 0, "");
}

static int start_exit_code(const struct spawn_failure *f)
{
    if (f->step != SPAWN_EXEC)
        return EXIT_CODE_MPRUN;
    return f->code == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_CANNOT_EXEC;
}

/* What the kernel says of the running process, not what was asked for. */
static void read_back_binding(struct rank *r)
{
    enum { MOST = 8192 };
    cpu_set_t *set = CPU_ALLOC(MOST);
    size_t size = CPU_ALLOC_SIZE(MOST);
    struct idset threads = {0};
    if (set && sched_getaffinity(r->pid, size, set) == 0) {
        for (int i = 0; i < MOST; i++)
            if (CPU_ISSET_S((size_t)i, size, set))
                idset_add(&threads, (unsigned)i);
        r->bound_threads = idset_format(&threads);
    }
    idset_free(&threads);
    if (set)
        CPU_FREE(set);
}

static void open_io(struct rank *r)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/%d/io", (int)r->pid);
    r->io_fd = open(path, O_RDONLY | O_CLOEXEC);
}

static void send_started(struct rank *r)
{
    Mprun__Started m = MPRUN__STARTED__INIT;
    Mprun__Started__Rank one = MPRUN__STARTED__RANK__INIT, *list[1] = {&one};
    Mprun__RankName name;
    struct worker *w = r->worker;
    struct idset threads = {0};
    AUTO_FREE char *words = NULL;
    rank_name_pack(r->name, &name);
    one.name = &name;
    one.pid = (uint64_t)r->pid;
    one.time_ns = r->start_ns;
    if (r->bound_threads)
        one.bound_threads = r->bound_threads;
    if (w->launch.report_bindings && w->topology && r->bound_threads &&
        idset_parse(r->bound_threads, &threads, NULL) == 0)
        words = topology_describe(w->topology, &threads);
    if (words)
        one.bound_text = words;
    idset_free(&threads);
    m.n_ranks = 1;
    m.ranks = list;
    if (w->up)
        link_send(w->up, FRAME_STARTED, &m.base);
}

static int wants_stdin(const struct rank *r)
{
    const struct step *s = &r->worker->launch.step;
    return s->stdin_target == STDIN_ALL ||
           (s->stdin_target == STDIN_RANK && s->stdin_rank == r->name.rank && r->name.world == 0);
}

int rank_has_terminal(const struct rank *r)
{
    return r->worker->launch.step.terminal && wants_stdin(r);
}

static void rank_start(struct rank *r)
{
    struct worker *w = r->worker;
    struct spawn_failure f = {0};
    struct error e;
    int fds[3];
    struct rank_io_wish wish = {
        .input = wants_stdin(r),
        .slow = w->launch.step.stdin_slow,
        .terminal = rank_has_terminal(r) ? &w->launch.step.terminal_size : NULL,
    };
    if (rank_io_open(w->io, r->name, &wish, fds, &e) < 0) {
        not_started(r, EXIT_CODE_MPRUN, &e);
        return;
    }
    r->start_ns = loop_wallclock_ns();
    r->start_time = loop_now();
    pid_t pid = rank_exec(r, fds, &f, &e);
    rank_io_close_child_ends(fds);
    if (pid < 0 && w->pmi && pmi_link_refuses(w->pmi)) {
        rank_io_rank_ended(w->io, r->name);
        ends_killed(r);
        return;
    }
    if (pid < 0) {
        not_started(r, start_exit_code(&f), &e);
        return;
    }
    r->pid = pid;
    r->state = RANK_RUNNING;
    w->ranks.running++;
    open_io(r);
    if (reaper_add(w->reaper, pid, rank_reaped, r) < 0)
        log_error("rank %u: out of memory", r->name.rank);
    if (w->binding.bound || w->launch.report_bindings)
        read_back_binding(r);
    if (r->local == 0)
        fault_register("rank", pid);
    send_started(r);
}

static void leaf_made(void *arg, const struct error *err)
{
    struct rank *r = arg;
    if (r->state != RANK_PLACING)
        return;
    if (err)
        not_started(r, EXIT_CODE_MPRUN, err);
    else
        rank_start(r);
    loop_defer_schedule(r->worker->step);
}

static void rank_place(struct rank *r)
{
    struct worker *w = r->worker;
    struct error e;
    r->state = RANK_PLACING;
    if (!w->contain.tree) {
        rank_start(r);
        return;
    }
    const struct cgroup_ops *ops = cgroup_tree_ops(w->contain.tree);
    if (ops->leaf_create(w->contain.tree, r->name, &w->launch.step.rank_limits, &r->leaf, leaf_made,
                         r, &e) < 0)
        not_started(r, EXIT_CODE_MPRUN, &e);
}

static void out_of_memory(void *arg, struct cgroup_leaf *leaf, uint64_t n)
{
    struct worker *w = arg;
    if (!leaf)
        return;
    struct rank *r = ranks_find(w, cgroup_leaf_rank(leaf));
    if (r)
        r->oom_kills += n;
}

int ranks_start_some(struct worker *w)
{
    struct error e;
    if (w->contain.tree && !w->ranks.watching_oom) {
        w->ranks.watching_oom = 1;
        if (cgroup_tree_watch_oom(w->contain.tree, out_of_memory, w, &e) < 0)
            log_debug("%s", e.text);
    }
    for (int i = 0; i < STARTS_PER_TURN && w->ranks.next < w->ranks.n; i++) {
        if (ending_begun(w))
            break;
        if (w->ranks.next == w->ranks.n / 2)
            fault_point("launching");
        rank_place(&w->ranks.all[w->ranks.next++]);
    }
    if (ending_begun(w))
        ranks_cancel_waiting(w);
    return w->ranks.next < w->ranks.n;
}

void ranks_cancel_waiting(struct worker *w)
{
    w->ranks.next = w->ranks.n;
    for (uint32_t i = 0; i < w->ranks.n; i++)
        if (w->ranks.all[i].state == RANK_WAITING || w->ranks.all[i].state == RANK_PLACING)
            ends_killed(&w->ranks.all[i]);
    loop_defer_schedule(w->step);
}

void rank_give_up(struct rank *r)
{
    struct worker *w = r->worker;
    reaper_remove(w->reaper, r->pid);
    r->pid = 0;
    w->ranks.running--;
    rank_io_rank_ended(w->io, r->name);
    ends_killed(r);
    loop_defer_schedule(w->step);
}
