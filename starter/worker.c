/* SPDX-License-Identifier: BSD-3-Clause */
/* worker.c - see worker.h: the process, its signals and its event loop; host.h has the rest */
#include "starter/worker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/reaper.h"
#include "model/rank-end.h"
#include "starter/host.h"
#include "starter/services.h"
#include "starter/usage/rusage.h"
#include "wire/link/key-proof.h"
#include "wire/start-channel/preamble.h"

struct worker {
    struct loop *loop;
    struct reaper *reaper;
    struct loop_io *keeper; /* NULL: it has died */
    struct other_processes others;
    struct host *host;
};

static void on_signal(void *arg, int signo)
{
    struct worker *w = arg;
    if (signo == SIGCHLD)
        reaper_collect(w->reaper);
    host_take_signal(w->host, signo);
}

static void keeper_readable(void *arg, int fd, unsigned events)
{
    struct worker *w = arg;
    if (host_keeper_readable(w->host))
        return;
    loop_io_destroy(w->keeper);
    w->keeper = NULL;
}

/* A rank needs three pipes here. */
static void raise_descriptor_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
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

static int prepare(struct worker *w, pid_t keeper, int keeper_fd, struct preamble *start,
                   const char *hostname, struct error *err)
{
    w->loop = loop_create(err);
    w->reaper = reaper_create(other_processes_add, &w->others);
    if (!w->loop || !w->reaper || handshake_library_init(err) < 0 || watch_signals(w, err) < 0)
        return -1;
    w->host = host_create(
        &(struct starter_services){
            .loop = w->loop,
            .reaper = w->reaper,
            .others = &w->others,
            .hostname = hostname,
            .keeper = keeper,
            .keeper_fd = keeper_fd,
        },
        start, err);
    if (!w->host)
        return -1;
    w->keeper = loop_io_create(w->loop, keeper_fd, LOOP_READ, keeper_readable, w);
    return w->keeper ? 0 : error_errno(err, ENOMEM, "watch the keeper");
}

int worker_run(pid_t keeper, int keeper_fd, struct preamble *start, const char *hostname)
{
    struct worker w = {0};
    struct error e = {0};
    int code = EXIT_CODE_MPRUN;
    fault_register("worker", getpid());
    fault_register("keeper", keeper);
    fault_host(start->host_id);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    raise_descriptor_limit();
    if (prepare(&w, keeper, keeper_fd, start, hostname, &e) < 0 || host_start(w.host, &e) < 0) {
        log_error("on %s: %s", hostname, e.text);
    } else {
        loop_run(w.loop);
        code = host_finish(w.host);
    }
    host_destroy(w.host);
    loop_io_destroy(w.keeper);
    reaper_destroy(w.reaper);
    loop_destroy(w.loop);
    explicit_bzero(start->key, sizeof(start->key));
    return code;
}
