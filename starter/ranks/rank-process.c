/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-process.c - one rank: its cgroup, its streams, its process, and how it ended
 *
 * STARTED and EXITED tell mprun. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/machine/cpus.h"
#include "common/processes/fault.h"
#include "common/log.h"
#include "common/processes/proc.h"
#include "common/processes/reaper.h"
#include "model/rank-end.h"
#include "plan/topology.h"
#include "starter/binding/rank-binding.h"
#include "starter/containment/rank-devices.h"
#include "starter/containment/step-containment.h"
#include "starter/io/rank-io.h"
#include "starter/links/uplink.h"
#include "starter/pmi/pmi-server.h"
#include "starter/ranks/ranks-private.h"
#include "starter/ending/step-end.h"
#include "wire/messages/launch.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"

/* ---- the end --------------------------------------------------------------------------------- */

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
    cleanup_close(&r->io_fd);
}

void rank_read_cgroup_usage(struct rank *r)
{
    if (r->leaf && r->all->with->containment->level == TRACK_RANK)
        cgroup_leaf_usage(r->leaf, &r->usage);
}

static enum end_cause cause_of(struct rank *r, int *ret_code, char *text, size_t n)
{
    int status = r->status;
    *ret_code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    if (*ret_code == (WIFSIGNALED(status) ? SIGKILL : EXIT_CODE_SIGNAL + SIGKILL) &&
        rank_oom_text(r, text, n)) {
        *ret_code = SIGKILL; /* also if the exit code is that of a shell whose child was killed */
        return END_LIMIT;
    }
    if (r->was_killed)
        return END_KILLED;
    if (WIFSIGNALED(status) && rank_limit_signal_text(r, *ret_code, text, n))
        return END_LIMIT;
    if (r->limits_met)
        snprintf(text, n, "%s", r->limits_met);
    if (WIFSIGNALED(status))
        return END_SIGNAL;
    if (*ret_code != 0)
        return END_CODE;
    if (r->pmi_connected && !r->pmi_finalized)
        return END_NO_FINALIZE;
    return END_OK;
}

/* Tells mprun of the rank's end, by EXITED. */
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
    m.killed_by_us = r->was_killed;
    m.joined = r->pmi_connected;
    m.text = (char *)(uintptr_t)text;
    m.usage = &usage.message;
    uplink_send(r->all->with->up, FRAME_EXITED, &m.base);
    r->state = RANK_ENDED;
    r->all->ended++;
    loop_defer_schedule(r->all->with->turn);
}

void rank_end(struct rank *r)
{
    char text[512] = "";
    int code = 0;
    if (r->state == RANK_ENDED)
        return;
    rank_read_cgroup_usage(r);
    enum end_cause cause = cause_of(r, &code, text, sizeof(text));
    send_exited(r, cause, code, text);
    uplink_fault_point(r->all->with->up, "ending");
}

/* A callback of the reaper.
 *
 * The kernel tells how the rank ended, and mppmi whether the rank had finalized before. So this
 * asks mppmi, which answers when it has sent everything that it knows of the rank. */
static void reaped(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct rank *r = arg;
    struct ranks *s = r->all;
    r->end_ns = loop_wallclock_ns();
    r->status = status;
    r->was_killed = s->with->end->has_begun || s->is_killed || r->may_end;
    usage_from_io(r);
    usage_from_rusage(&r->usage, usage);
    if (status && !r->was_killed)
        r->limits_met = rank_limits_text(r, pid);
    if (status && !r->was_killed && !r->limits_met)
        r->limits_met = rank_hints_text(r);
    usage_set(&r->usage, USAGE_WALL, (uint64_t)((loop_now() - r->start_time) * 1e6));
    if (r->local == 0)
        fault_register("rank", 0);
    r->pid = 0;
    r->state = RANK_EXITED;
    s->running--;
    rank_io_rank_ended(s->with->io, r->name);
    if (!s->with->pmi || !pmi_server_rank_gone(s->with->pmi, r->name))
        rank_end(r);
}

bool rank_kill_leftovers(const struct rank *r)
{
    AUTO_FREE pid_t *pids = NULL;
    int n = r->leaf ? cgroup_leaf_pids(r->leaf, &pids) : 0;
    for (int i = 0; i < n; i++)
        kill(pids[i], SIGKILL);
    return n <= 0;
}

bool rank_remove_leaf(struct rank *r)
{
    if (r->leaf && cgroup_leaf_remove(r->leaf, NULL) < 0)
        return false;
    r->leaf = NULL;
    return true;
}

void rank_free(struct rank *r)
{
    cleanup_close(&r->io_fd);
    free(r->bound_threads);
    free(r->limit_text);
    free(r->limits_met);
}

void rank_not_started(struct rank *r, int exit_code, const struct error *why)
{
    char text[1200], name[RANK_NAME_TEXT];
    struct ranks *s = r->all;
    snprintf(text, sizeof(text), "start rank %s on %s: %s", rank_name_format(r->name, name),
             launch_here(r->all->with->launch)->host, why->text);
    r->end_ns = loop_wallclock_ns();
    r->was_killed = s->with->end->has_begun || s->is_killed;
    rank_io_rank_ended(s->with->io, r->name);
    send_exited(r, r->was_killed ? END_KILLED : END_NOT_STARTED, exit_code, text);
}

void rank_end_killed(struct rank *r)
{
    r->was_killed = true;
    r->end_ns = loop_wallclock_ns();
    send_exited(r, END_KILLED, 0, "");
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Asks the kernel what the running process is bound to, whatever was asked for. */
static void read_back_binding(struct rank *r)
{
    AUTO(idset_free) struct idset threads = {0};
    if (cpus_of(r->pid, &threads) == 0)
        r->bound_threads = idset_format(&threads);
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
    struct ranks *s = r->all;
    struct topology *topology = s->with->binding->topology;
    AUTO(idset_free) struct idset threads = {0};
    AUTO_FREE char *words = NULL;
    rank_name_pack(r->name, &name);
    one.name = &name;
    one.pid = (uint64_t)r->pid;
    one.time_ns = r->start_ns;
    if (r->bound_threads)
        one.bound_threads = r->bound_threads;
    if (s->with->launch->report_bindings && topology && r->bound_threads &&
        idset_parse(r->bound_threads, &threads, NULL) == 0)
        words = topology_describe(topology, &threads);
    if (words)
        one.bound_text = words;
    m.n_ranks = 1;
    m.ranks = list;
    uplink_send(s->with->up, FRAME_STARTED, &m.base);
}

static void start_process(struct rank *r)
{
    struct ranks *s = r->all;
    struct error e;
    int fds[3], code;
    struct rank_io_wish wish = {
        .has_input = rank_wants_stdin(r),
        .is_slow = s->with->launch->step.stdin_slow,
        .terminal = rank_has_terminal(r) ? &s->with->launch->step.terminal_size : NULL,
    };
    if (rank_io_open(s->with->io, r->name, &wish, fds, &e) < 0) {
        rank_not_started(r, EXIT_CODE_MPRUN, &e);
        return;
    }
    r->start_ns = loop_wallclock_ns();
    r->start_time = loop_now();
    pid_t pid = -1;
    if (rank_open_input(r, &fds[0], &e) < 0)
        code = EXIT_CODE_MPRUN;
    else
        pid = rank_exec(r, fds, &code, &e);
    rank_io_close_child_ends(fds);
    if (pid < 0 && s->with->pmi && s->with->pmi->refuses) {
        rank_io_rank_ended(s->with->io, r->name);
        rank_end_killed(r);
        return;
    }
    if (pid < 0) {
        rank_not_started(r, code, &e);
        return;
    }
    r->pid = pid;
    r->state = RANK_RUNNING;
    s->running++;
    open_io(r);
    reaper_add(s->with->reaper, pid, reaped, r);
    if (s->with->binding->plan.bound || s->with->launch->report_bindings)
        read_back_binding(r);
    if (r->local == 0)
        fault_register("rank", pid);
    if (rank_has_terminal(r))
        rank_sessions_add(&s->sessions, pid);
    send_started(r);
}

/* -1 with err: it must not start. */
static int hold_devices(const struct rank *r, struct error *err)
{
    const struct starter_services *with = r->all->with;
    struct error e;
    if (rank_devices_hold(with->containment, with->gpus, r->local, r->leaf, &e) == 0)
        return 0;
    if (!with->launch->step.containment.devices) {
        log_warn("rank %u can open GPUs of others: %s", r->name.rank, e.text);
        return 0;
    }
    *err = e;
    return error_context(err, "--containment=...,devices");
}

void rank_start(struct rank *r)
{
    struct cgroup_tree *tree = r->all->with->containment->tree;
    struct error e;
    r->limits = *step_rank_limits(&r->all->with->launch->step, r->app);
    limits_forget_holders(&r->limits);
    if (tree && !(r->leaf = cgroup_leaf_create(tree, r->name, &r->limits, &e))) {
        rank_not_started(r, EXIT_CODE_MPRUN, &e);
        return;
    }
    if (r->leaf)
        r->limits = *cgroup_leaf_limits(r->leaf);
    if (hold_devices(r, &e) < 0) {
        rank_not_started(r, EXIT_CODE_MPRUN, &e);
        return;
    }
    limits_hold_without_cgroup(&r->limits, LIMIT_OF_RANK);
    start_process(r);
}
