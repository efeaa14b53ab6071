/* SPDX-License-Identifier: BSD-3-Clause */
/* job-suspension.c - notices that the manager has stopped the job on mprun's host, but not on
 * others
 *
 * Where the adapter sets suspends_script, the manager sends SIGSTOP to all processes of the job's
 * script on its host: mprun, its start clients, a starter that was forked. No process can catch
 * SIGSTOP, and perhaps no process of ours is left there to tell the other hosts. But a SIGCONT from
 * a timer of the kernel continues a stopped process, too: mprun gets one each second. A SIGSTOP
 * removes a SIGCONT that mprun has not read yet, and then mprun does not arm the timer again. A
 * second timer, which each look puts off, is for this case.
 *
 * The state of a witness shows whether the job is suspended: a child that does nothing, and that
 * the manager stops and continues with everything else. So mprun misses no suspension, in whatever
 * order processes are stopped, and takes nothing else for one.
 *
 * While the job is suspended, all ranks are stopped and no step begins. mprun, its start clients
 * and starters run on, so that they still start hosts, keep links and notice deaths. They use next
 * to no time. */
#include "launcher/step/job-suspension.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/processes/proc.h"
#include "common/processes/reaper.h"
#include "common/processes/spawn.h"
#include "launcher/tunables.h"

/* ---- the witness and the timer --------------------------------------------------------------- */

static void end_witness(struct job_suspension *s)
{
    if (s->witness <= 0)
        return;
    reaper_remove(s->reaper, s->witness);
    kill(s->witness, SIGKILL);
    while (waitpid(s->witness, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void witness_ended(void *arg, pid_t pid, int status, const struct rusage *usage);

static int begin_witness(struct job_suspension *s)
{
    pid_t pid = spawn_idle("mprun-witness");
    if (pid < 0)
        return -1;
    s->witness = pid;
    if (s->suspended)
        kill(pid, SIGSTOP); /* as the one before it was */
    reaper_add(s->reaper, pid, witness_ended, s);
    return 0;
}

/* Somebody has ended the witness: its pid may soon be another process's. */
static void witness_ended(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct job_suspension *s = arg;
    s->witness = 0;
    if (begin_witness(s) < 0)
        log_warn("a suspension of the job is not seen any more: %s", strerror(errno));
}

int job_suspension_begin(struct job_suspension *s, struct reaper *reaper,
                         const struct job_suspension_events *events, void *arg, struct error *err)
{
    struct sigevent continued = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    struct job_suspension begun = {.reaper = reaper, .events = events, .arg = arg};
    if (timer_create(CLOCK_MONOTONIC, &continued, &begun.timer) < 0 ||
        timer_create(CLOCK_MONOTONIC, &continued, &begun.late_timer) < 0)
        return error_errno(err, errno, "look for a suspension of the job");
    *s = begun;
    if (begin_witness(s) < 0)
        return error_errno(err, errno, "look for a suspension of the job");
    job_suspension_rest(s, false);
    return 0;
}

static void arm(timer_t timer, int seconds)
{
    const struct itimerspec once = {.it_value.tv_sec = seconds};
    timer_settime(timer, 0, &once, NULL);
}

void job_suspension_rest(struct job_suspension *s, bool rest)
{
    if (!s->reaper)
        return;
    arm(s->timer, rest ? 0 : SUSPENSION_LOOK_SECONDS);
    arm(s->late_timer, rest ? 0 : SUSPENSION_LATE_SECONDS);
}

void job_suspension_end(struct job_suspension *s)
{
    if (!s->reaper)
        return;
    timer_delete(s->timer);
    timer_delete(s->late_timer);
    end_witness(s);
    *s = (struct job_suspension){0};
}

/* ---- looking --------------------------------------------------------------------------------- */

void job_suspension_look(struct job_suspension *s, enum suspension_cause cause)
{
    struct proc_stat st;
    if (cause == LOOK_TICK)
        job_suspension_rest(s, false);
    bool now = s->witness > 0 && proc_stat_read(s->witness, &st) == 0 && st.ppid == getpid() &&
               st.state == 'T';
    if (now && !s->suspended) {
        s->suspended = true;
        s->settling = SUSPENSION_SETTLING_LOOKS;
        s->events->suspended(s->arg);
    } else if (!now && s->suspended) {
        s->suspended = false;
        s->settling = 0;
        s->events->resumed(s->arg);
    } else if (now && cause == LOOK_CONTINUED) { /* and suspended again, perhaps */
        s->settling = SUSPENSION_SETTLING_LOOKS;
    } else if (now && cause == LOOK_TICK && s->settling > 0) {
        s->settling--;
        s->events->hold(s->arg);
    }
}
