/* SPDX-License-Identifier: BSD-3-Clause */
/* suspension.c - the manager stops what is on mprun's host, and not the ranks of other hosts
 *
 * Grid Engine sends SIGSTOP to everything that carries the group id of the job's script: mprun, its
 * start clients, a starter that was forked. It cannot be caught, and no process of ours that could
 * tell the other hosts need be left running there. But SIGCONT that comes from a timer of the
 * kernel continues a stopped process as any other does: once a second mprun has one. Whether the
 * job is suspended is the state of a witness, a child that is stopped and continued with everything
 * else and does nothing: so nothing is missed, in whatever order processes are stopped, and nothing
 * is taken for a suspension that is none.
 *
 * While the job is suspended all ranks are stopped and no step begins; mprun, its start clients and
 * starters are not stopped, so that hosts that are being started, links and deaths are looked after
 * as always. They use next to no time. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/proc.h"
#include "launcher/run.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* The manager takes its time for all processes of a host, and each host its own: for so many looks
 * what has been done is done again. */
enum { LOOK_SECONDS = 1, SETTLING_LOOKS = 3 };

struct suspension {
    struct run *run;
    pid_t witness;
    timer_t timer;
    int suspended;
    int settling;   /* looks that are left of it */
    double timeout; /* what remains of --timeout, 0: none */
};

/* ---- the witness and the timer --------------------------------------------------------------- */

static void be_witness(pid_t launcher)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "mprun-witness");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    syscall(SYS_close_range, 0u, ~0u, 0u);
    while (getppid() == launcher)
        pause();
    _exit(0);
}

static void end_witness(struct suspension *s)
{
    if (s->witness <= 0)
        return;
    reaper_remove(s->run->reaper, s->witness);
    kill(s->witness, SIGKILL);
    while (waitpid(s->witness, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void witness_ended(void *arg, pid_t pid, int status, const struct rusage *usage);

static int begin_witness(struct suspension *s)
{
    pid_t self = getpid(), pid = fork();
    if (pid == 0)
        be_witness(self);
    if (pid < 0)
        return -1;
    s->witness = pid;
    if (s->suspended)
        kill(pid, SIGSTOP); /* as the one before it was */
    if (reaper_add(s->run->reaper, pid, witness_ended, s) == 0)
        return 0;
    end_witness(s);
    s->witness = 0;
    errno = ENOMEM;
    return -1;
}

/* Somebody has ended it: its number is nobody's now, or another's soon. */
static void witness_ended(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct suspension *s = arg;
    s->witness = 0;
    if (begin_witness(s) < 0)
        log_warn("a suspension of the job is not seen any more: %s", strerror(errno));
}

int suspension_begin(struct run *r, struct error *err)
{
    struct sigevent continued = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    if (!r->adapter->suspends_script)
        return 0;
    struct suspension *s = calloc(1, sizeof(*s));
    if (!s)
        return error_errno(err, ENOMEM, "look for a suspension of the job");
    s->run = r;
    if (begin_witness(s) < 0 || timer_create(CLOCK_MONOTONIC, &continued, &s->timer) < 0) {
        error_errno(err, errno, "look for a suspension of the job");
        end_witness(s);
        free(s);
        return -1;
    }
    r->suspension = s;
    suspension_rest(r, 0);
    return 0;
}

void suspension_rest(struct run *r, int rest)
{
    const struct itimerspec every = {.it_interval.tv_sec = rest ? 0 : LOOK_SECONDS,
                                     .it_value.tv_sec = rest ? 0 : LOOK_SECONDS};
    if (r->suspension)
        timer_settime(r->suspension->timer, 0, &every, NULL);
}

void suspension_end(struct run *r)
{
    if (!r->suspension)
        return;
    timer_delete(r->suspension->timer);
    end_witness(r->suspension);
    free(r->suspension);
    r->suspension = NULL;
}

int suspension_has(const struct run *r, pid_t pid)
{
    return r->suspension && r->suspension->witness == pid;
}

int suspension_holds(const struct run *r)
{
    return r->suspension && r->suspension->suspended;
}

/* ---- what is done ---------------------------------------------------------------------------- */

static void wake(pid_t pid, int levels)
{
    pid_t *children = NULL;
    if (pid <= 1)
        return;
    kill(pid, SIGCONT);
    int n = levels > 0 ? proc_children(pid, &children) : 0;
    for (int i = 0; i < n; i++)
        wake(children[i], levels - 1);
    free(children);
}

/* Start clients with what they have started, which of a forked starter is its worker. Below that
 * are ranks and their PMI server: these only while there may be ranks that are being started, as
 * the worker waits for each until it has called exec. */
static void wake_clients(struct run *r)
{
    for (size_t i = 0; i < r->nused; i++) {
        const struct host *h = r->launched[i];
        if (h->channel_open)
            wake(h->client_pid, h->started + h->ended < h->nranks ? 2 : 1);
    }
}

static void hold(struct suspension *s)
{
    wake_clients(s->run);
    if (!s->run->killing) /* their end is not to wait */
        signals_pass_on(s->run, SIGTSTP);
}

static void settle(struct suspension *s)
{
    s->settling--;
    hold(s);
}

static void suspended(struct suspension *s)
{
    struct run *r = s->run;
    log_debug("the job is suspended");
    s->suspended = 1;
    s->settling = SETTLING_LOOKS;
    s->timeout = loop_timer_active(r->timeout_timer) ? r->timeout_at - loop_now() : 0;
    loop_timer_stop(r->timeout_timer);
    hold(s);
}

static void resumed(struct suspension *s)
{
    struct run *r = s->run;
    log_debug("the job is resumed");
    s->suspended = s->settling = 0;
    if (s->timeout > 0)
        step_timeout(r, s->timeout);
    signals_pass_on(r, SIGCONT);
}

void suspension_look(struct run *r, enum suspension_cause cause)
{
    struct suspension *s = r->suspension;
    struct proc_stat st;
    if (!s)
        return;
    int now = s->witness > 0 && proc_stat_read(s->witness, &st) == 0 && st.ppid == getpid() &&
              st.state == 'T';
    if (now && !s->suspended)
        suspended(s);
    else if (!now && s->suspended)
        resumed(s);
    else if (now && cause == LOOK_CONTINUED) /* and suspended again, perhaps */
        s->settling = SETTLING_LOOKS;
    else if (now && cause == LOOK_TICK && s->settling > 0)
        settle(s);
}
