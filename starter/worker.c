/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/worker.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/cpus.h"
#include "common/fault.h"
#include "common/log.h"
#include "starter/core-ledger.h"
#include "starter/errands.h"
#include "starter/orphan.h"
#include "starter/pmi-link.h"
#include "starter/preload.h"
#include "starter/tree.h"
#include "starter/uplink.h"
#include "wire/handshake.h"

void worker_exit(struct worker *w, int code)
{
    w->exit_code = code;
    loop_stop(w->loop);
}

void worker_fault_point(struct worker *w, const char *phase)
{
    if (FAULT_BUILD && w->up)
        link_flush(w->up);
    fault_point(phase);
}

void worker_cannot_run(struct worker *w, int exit_code, const char *text)
{
    Mprun__CannotRun m = MPRUN__CANNOT_RUN__INIT;
    m.exit_code = (uint32_t)exit_code;
    m.text = (char *)(uintptr_t)text;
    if (w->up)
        link_send(w->up, FRAME_CANNOT_RUN, &m.base);
    else
        log_error("%s", text);
    ending_kill(w, w->have_launch ? w->launch.step.kill_grace : 0, text);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void add_time(struct timeval *sum, struct timeval t)
{
    timeradd(sum, &t, sum);
}

static void orphan_reaped(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct worker *w = arg;
    add_time(&w->orphans.ru_utime, usage->ru_utime);
    add_time(&w->orphans.ru_stime, usage->ru_stime);
    if (usage->ru_maxrss > w->orphans.ru_maxrss)
        w->orphans.ru_maxrss = usage->ru_maxrss;
    w->norphans++;
}

static void on_signal(void *arg, int signo)
{
    struct worker *w = arg;
    char text[256];
    if (signo == SIGCHLD) {
        reaper_collect(w->reaper);
    } else if (signo == SIGTERM || signo == SIGINT || signo == SIGHUP || signo == SIGQUIT) {
        snprintf(text, sizeof(text), "mpstarter on %s received SIG%s; ending its ranks",
                 w->hostname, sigabbrev_np(signo));
        worker_cannot_run(w, EXIT_CODE_SIGNAL + signo, text);
    }
    loop_defer_schedule(w->step);
}

static void keeper_readable(void *arg, int fd, unsigned events)
{
    struct worker *w = arg;
    char text[256];
    if (errands_keeper_readable(w))
        return;
    loop_io_destroy(w->keeper_io);
    w->keeper_io = NULL;
    if (w->state >= HOST_ENDING) { /* who is left removes what was made */
        log_debug("on %s: mpstarter's keeper (pid %d) has died", w->hostname, (int)w->keeper);
        return;
    }
    snprintf(text, sizeof(text), "on %s: mpstarter's keeper (pid %d) has died; ending its ranks",
             w->hostname, (int)w->keeper);
    worker_cannot_run(w, EXIT_CODE_MPRUN, text);
    w->exit_code = EXIT_CODE_MPRUN;
}

static void take_step(void *arg)
{
    host_machine_step(arg);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void prepare_process(void)
{
    struct rlimit files;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) { /* three pipes a rank */
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static int watch_signals(struct worker *w, struct error *err)
{
    static const int watched[] = {SIGCHLD, SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGTSTP, SIGALRM, SIGWINCH};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
        sigaddset(&set, watched[i]);
    return loop_signals(w->loop, &set, on_signal, w, err);
}

static int worker_init(struct worker *w, struct error *err)
{
    w->loop = loop_create(err);
    w->reaper = reaper_create(orphan_reaped, w);
    if (!w->loop || !w->reaper || handshake_library_init(err) < 0 || watch_signals(w, err) < 0)
        return -1;
    w->ending = ending_create(w);
    w->step = loop_defer_create(w->loop, take_step, w);
    if (!w->ending || !w->step)
        return error_errno(err, ENOMEM, "prepare the starter");
    w->keeper_io = loop_io_create(w->loop, w->keeper_fd, LOOP_READ, keeper_readable, w);
    if (!w->keeper_io)
        return error_errno(err, ENOMEM, "watch the keeper");
    return cpus_allowed(&w->allowed, err);
}

/* mppmi first of all: its start-up overlaps with everything else. */
static int worker_start(struct worker *w, struct error *err)
{
    if (w->start.flags & PREAMBLE_PMI && !(w->pmi = pmi_link_create(w, err)))
        return -1;
    contain_ask(&w->contain, w->loop, uplink_job_asked, w); /* while mprun is being reached */
    fault_point("starting");
    return uplink_connect(w, err);
}

static void worker_free(struct worker *w)
{
    log_set_sink(NULL, NULL);
    tree_destroy(w);
    link_destroy(w->up);
    link_destroy(w->first);
    link_destroy(w->joining);
    orphan_destroy(w->orphan);
    rank_io_destroy(w->io);
    pmi_link_destroy(w->pmi);
    preload_destroy(w->preload);
    ranks_destroy(w);
    ending_destroy(w->ending);
    errands_destroy(w);
    plan_binding_free(&w->binding);
    core_ledger_leave(NULL, w->cores_fd); /* the keeper sweeps, however this process ends */
    topology_destroy(w->topology);
    if (w->contain.tree)
        cgroup_tree_destroy(w->contain.tree);
    launch_free(&w->launch);
    sodium_memzero(w->start.key, sizeof(w->start.key));
    idset_free(&w->allowed);
    loop_defer_destroy(w->step);
    loop_io_destroy(w->keeper_io);
    reaper_destroy(w->reaper);
    loop_destroy(w->loop);
}

int worker_run(pid_t keeper, int keeper_fd, struct preamble *start, const char *hostname)
{
    struct worker w = {
        .start = *start,
        .pid = getpid(),
        .keeper = keeper,
        .keeper_fd = keeper_fd,
        .cores_fd = -1,
    };
    struct error e = {0};
    explicit_bzero(start->key, sizeof(start->key));
    host_directory_name(w.directory_name, w.start.key, w.start.host_id);
    snprintf(w.hostname, sizeof(w.hostname), "%s", hostname);
    w.host_name = w.hostname;
    if (start->flags & PREAMBLE_SUBREAPER)
        w.launcher = (pid_t)start->launcher;
    fault_register("worker", w.pid);
    fault_register("keeper", keeper);
    fault_host(w.start.host_id);
    prepare_process();
    if (worker_init(&w, &e) < 0 || worker_start(&w, &e) < 0) {
        log_error("on %s: %s", hostname, e.text);
        w.exit_code = EXIT_CODE_MPRUN;
    } else {
        loop_run(w.loop);
        if (w.up)
            link_flush(w.up);
    }
    int code = w.exit_code;
    worker_free(&w);
    return code;
}
