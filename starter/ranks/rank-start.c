/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-start.c - the start of a rank: its cgroup, its streams, its process; and STARTED, which
 * tells mprun */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/fault.h"
#include "common/idset.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/reaper.h"
#include "model/rank-end.h"
#include "plan/topology.h"
#include "starter/binding/rank-binding.h"
#include "starter/containment/step-containment.h"
#include "starter/io/rank-io.h"
#include "starter/links/uplink.h"
#include "starter/pmi/pmi-server.h"
#include "starter/ranks/ranks-private.h"
#include "wire/messages/launch.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"

static int start_exit_code(const struct spawn_failure *f)
{
    if (f->step != SPAWN_EXEC)
        return EXIT_CODE_MPRUN;
    return f->code == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_CANNOT_EXEC;
}

/* Ask the kernel what the running process is bound to, whatever was asked for. */
static void read_back_binding(struct rank *r)
{
    enum { MOST = 8192 }; /* hardware threads of a machine */
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
    struct ranks *s = r->all;
    struct topology *topology = s->with->binding->topology;
    struct idset threads = {0};
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
    idset_free(&threads);
    m.n_ranks = 1;
    m.ranks = list;
    uplink_send(s->with->up, FRAME_STARTED, &m.base);
}

static void start_process(struct rank *r)
{
    struct ranks *s = r->all;
    struct spawn_failure f = {0};
    struct error e;
    int fds[3];
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
    pid_t pid = rank_exec(r, fds, &f, &e);
    rank_io_close_child_ends(fds);
    if (pid < 0 && s->with->pmi && s->with->pmi->refuses) {
        rank_io_rank_ended(s->with->io, r->name);
        rank_end_killed(r);
        return;
    }
    if (pid < 0) {
        rank_not_started(r, start_exit_code(&f), &e);
        return;
    }
    r->pid = pid;
    r->state = RANK_RUNNING;
    s->running++;
    open_io(r);
    if (reaper_add(s->with->reaper, pid, rank_reaped, r) < 0)
        log_error("rank %u: out of memory", r->name.rank);
    if (s->with->binding->plan.bound || s->with->launch->report_bindings)
        read_back_binding(r);
    if (r->local == 0)
        fault_register("rank", pid);
    send_started(r);
}

void rank_start(struct rank *r)
{
    struct cgroup_tree *tree = r->all->with->containment->tree;
    struct error e;
    if (tree &&
        !(r->leaf = cgroup_leaf_create(tree, r->name, &r->all->with->launch->step.rank_limits, &e)))
        rank_not_started(r, EXIT_CODE_MPRUN, &e);
    else
        start_process(r);
}
