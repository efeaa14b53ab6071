/* SPDX-License-Identifier: BSD-3-Clause */
/* worker.c - the process, its signals and its event loop, and the parts of its host */
#include "starter/worker.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/machine/cpus.h"
#include "common/processes/fault.h"
#include "common/log.h"
#include "common/processes/reaper.h"
#include "common/text/words.h"
#include "containment/step/tree.h"
#include "model/rank-end.h"
#include "starter/host.h"
#include "starter/keeper/keeper.h"
#include "starter/pmi/pmi-server.h"
#include "wire/link/key-proof.h"
#include "wire/start-channel/preamble.h"

/* ---- signals and the keeper ------------------------------------------------------------------ */

static void on_signal(void *arg, int signo)
{
    struct host *h = arg;
    char text[256];
    if (signo == SIGCHLD)
        reaper_collect(h->with.reaper);
    if (signo == SIGTERM || signo == SIGINT || signo == SIGHUP || signo == SIGQUIT) {
        snprintf(text, sizeof(text), "mpstarter on %s received SIG%s; ending its ranks",
                 h->with.hostname, sigabbrev_np(signo));
        if (signo == SIGTERM)
            step_end_by_manager(&h->end);
        step_end_cannot_run(&h->end, EXIT_CODE_SIGNAL + signo, text);
    } else if (h->launch.step.passed_signals >> signo & 1) {
        ranks_signal(&h->ranks, signo);
    }
    loop_defer_schedule(&h->turn);
}

static int watch_signals(struct host *h, struct error *err)
{
    static const int watched[] = {SIGCHLD, SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGTSTP, SIGALRM, SIGWINCH};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
        sigaddset(&set, watched[i]);
    return loop_signals(h->with.loop, &set, on_signal, h, err);
}

static void keeper_readable(void *arg, int fd, unsigned events)
{
    struct host *h = arg;
    char who[64], text[512], limit[256];
    snprintf(who, sizeof(who),
             h->with.keeper_is_agent ? "the job's agent (pid %d)" : "mpstarter's keeper (pid %d)",
             (int)h->with.keeper);
    if (errands_keeper_readable(&h->errands))
        return;
    loop_io_destroy(take_ptr(h->keeper_watch));
    if (h->state >= HOST_ENDING) { /* the worker itself removes all that was made */
        log_debug("on %s: %s has died", h->with.hostname, who);
        return;
    }
    if (oom_kills_explain(&h->containment.oom_kills, limit, sizeof(limit))) {
        h->end.exit_code = EXIT_CODE_SIGNAL + SIGKILL;
        snprintf(text, sizeof(text), "on %s: %s " OOM_KILLED " (%s); ending its ranks",
                 h->with.hostname, who, limit);
        step_end_cannot_run(&h->end, h->end.exit_code, text);
    } else {
        h->end.exit_code = EXIT_CODE_MPRUN;
        snprintf(text, sizeof(text), "on %s: %s has died; ending its ranks", h->with.hostname, who);
        step_end_keeper_died(&h->end, h->end.exit_code, text);
    }
}

/* This process needs three pipes for each rank. */
static void raise_descriptor_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Makes what everything else uses. */
static int make_process(struct host *h, struct error *err)
{
    h->with.loop = loop_create(err);
    h->with.reaper = reaper_create(other_processes_add, &h->others);
    if (!h->with.loop || !h->with.reaper || handshake_library_init(err) < 0)
        return -1;
    return watch_signals(h, err);
}

static int make_parts(struct host *h, struct preamble *start, struct error *err)
{
    struct starter_services *s = &h->with;
    host_directory_name(h->directory_name, start->key, start->host_id);
    if (start->flags & PREAMBLE_SUBREAPER)
        h->launcher = (pid_t)start->launcher;
    loop_defer_init(&h->turn, s->loop, host_machine_turn, h);
    removal_init(&h->removal, s);
    rank_kill_ladder_init(&h->ladder, s);
    leftovers_init(&h->leftovers, s, &h->ladder);
    uplink_init(&h->uplink, s, start, &host_uplink_events, h);
    tree_place_init(&h->tree, s, &host_tree_events, h);
    h->containment.loop = s->loop;
    h->errands.services = h->traces.with = h->daemon.with = h->idle.with = h->limits.with = s;
    spawned_worlds_init(&h->spawned, s);
    h->keeper_watch = loop_io_create(s->loop, s->keeper_fd, LOOP_READ, keeper_readable, h);
    return cpus_allowed(&h->allowed, err);
}

/* Starts the PMI server first, so that its start overlaps with everything else. */
static int start_parts(struct host *h, struct error *err)
{
    if (host_start_pmi_server(h, err) < 0)
        return -1;
    containment_ask(&h->containment, host_daemon_answered, h); /* while mprun is being reached */
    fault_point("starting");
    return uplink_connect(&h->uplink, err);
}

static void free_parts(struct host *h)
{
    log_set_sink(NULL, NULL);
    leftovers_stop(&h->leftovers);
    rank_kill_ladder_stop(&h->ladder);
    removal_end(&h->removal);
    tree_place_close(&h->tree);
    rank_io_free(&h->io);
    pmi_server_destroy(h->with.pmi);
    preload_close(&h->preload);
    brought_free(&h->brought);
    idle_ranks_free(&h->idle);
    sampled_limits_stop(&h->limits);
    debug_daemon_close(&h->daemon);
    stack_traces_free(&h->traces);
    spawned_worlds_free(&h->spawned);
    ranks_free(&h->ranks);
    words_free(h->with.pmi_env);
    errands_close(&h->errands);
    gpu_shares_free(&h->gpus);
    rank_binding_free(&h->binding);
    host_directories_free(&h->directories);
    containment_stop(&h->containment);
    cgroup_tree_destroy(h->containment.tree);
    uplink_close(&h->uplink);
    launch_free(&h->launch);
    idset_free(&h->allowed);
    loop_defer_stop(&h->turn);
    loop_io_destroy(h->keeper_watch);
    reaper_destroy(h->with.reaper);
    loop_destroy(h->with.loop);
}

int worker_run(const struct kept_worker *self, struct preamble *start, const char *hostname)
{
    struct host h = {
        .with = {.hostname = hostname,
                 .keeper = self->keeper,
                 .keeper_fd = self->fd,
                 .keeper_is_agent = self->is_agent,
                 .turn = &h.turn,
                 .up = &h.uplink,
                 .end = &h.end,
                 .removal = &h.removal,
                 .containment = &h.containment,
                 .preload = &h.preload,
                 .brought = &h.brought,
                 .others = &h.others,
                 .launch = &h.launch,
                 .directories = &h.directories,
                 .binding = &h.binding,
                 .gpus = &h.gpus,
                 .io = &h.io,
                 .ranks = &h.ranks},
        .end.with = &h.with,
    };
    struct error e = {0};
    fault_register("worker", getpid());
    fault_register("keeper", self->keeper);
    fault_host(start->host_id);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    raise_descriptor_limit();
    if (make_process(&h, &e) < 0 || make_parts(&h, start, &e) < 0 || start_parts(&h, &e) < 0) {
        log_error("on %s: %s", hostname, e.text);
        h.end.exit_code = EXIT_CODE_MPRUN;
    } else {
        loop_run(h.with.loop);
        uplink_flush(h.with.up);
    }
    free_parts(&h);
    explicit_bzero(start->key, sizeof(start->key));
    return h.end.exit_code;
}
