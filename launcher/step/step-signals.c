/* SPDX-License-Identifier: BSD-3-Clause */
/* step-signals.c - what signals to mprun mean for the step
 *
 * INT on a foreground terminal: the first one shows the state and what the ranks use, a second
 * within a second ends the step. INT elsewhere, or called as another launcher, and TERM, HUP, QUIT:
 * the step ends (TERM, grace, KILL); once more: at once; a third time: mprun leaves, whether its
 * starters answer or not, and they end without it. QUIT with --get-stack-traces shows these. USR1,
 * USR2, WINCH, ALRM are passed on, but for what the manager has sent to the ranks as well. TSTP and
 * CONT stop and continue the ranks, then mprun (job-suspension.c: what the manager does to the
 * job). */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/text/number.h"
#include "common/processes/proc.h"
#include "common/processes/signal-name.h"
#include "common/files/tty.h"
#include "launcher/run.h"
#include "launcher/tunables.h"

/* ---- the end of the step --------------------------------------------------------------------- */

static bool is_there(const void *arg, const struct host *h)
{
    return h->state < AGENT_GONE;
}

/* Starters that do not answer any more, perhaps because they were stopped, find their link closed
 * and clean up when they can. */
static void leave(struct run *r, int signo)
{
    char hosts[400];
    size_t n = hosts_list(r->hosts, is_there, NULL, hosts, sizeof(hosts));
    if (n)
        log_error("SIG%s a third time: leaving without an answer of %zu host%s (%s)",
                  signal_name(signo), n, plural(n), hosts);
    loop_stop(r->loop);
}

static bool is_repeated(const struct step_signals *s, int signo)
{
    double same = signo == SIGINT ? SAME_INT_SECONDS : SAME_END_SECONDS;
    return signo == s->last_ending && loop_now() - s->last_ending_time < same;
}

/* A manager that ends the job sends the signal to starters and ranks of this host as well, and what
 * they do about it may come before mprun's own. */
static bool is_of_same_end(const struct run *r, int signo)
{
    return signo != SIGINT && r->signals.nending == 1 &&
           verdict_ending_seconds(&r->verdict) < SAME_MANAGER_SECONDS;
}

static void end_step(struct run *r, int signo)
{
    struct step_signals *s = &r->signals;
    if (is_repeated(s, signo))
        return;
    s->last_ending = signo;
    s->last_ending_time = loop_now();
    s->nending++;
    if (s->nending >= 3) {
        leave(r, signo);
        return;
    }
    if (verdict_is_ending(&r->verdict) && is_of_same_end(r, signo)) {
        log_debug("received SIG%s: the ranks are being ended already", signal_name(signo));
        return;
    }
    if (verdict_is_ending(&r->verdict)) {
        log_note("received SIG%s%s: killing the ranks at once", signal_name(signo),
                 s->nending > 1 ? " again" : "");
        verdict_end_ranks(&r->verdict, 0, "a second signal");
        step_drop_unread_output(r, 0);
        return;
    }
    verdict_fail(&r->verdict, EXIT_CODE_SIGNAL + signo,
                 "received SIG%s: ending the ranks of step %s", signal_name(signo),
                 r->plan->step.id);
    step_drop_unread_output(r, r->plan->step.kill_grace);
}

/* ---- signals that are passed on -------------------------------------------------------------- */

/* Says at once what is known here, and asks hosts what their ranks use. */
static void show_state(struct run *r)
{
    struct rank_counts n = r->record.counts;
    log_note("step %s is %s: %u of %u rank%s started, %u ended, on %zu host%s, for %.0f s; ^C "
             "again within %g s to end it",
             r->plan->step.id, step_state_text(r->state), n.started, r->record.nranks,
             plural(r->record.nranks), n.ended, r->plan->nused, plural(r->plan->nused),
             loop_now() - r->plan->start_time, INT_AGAIN_SECONDS);
    if (r->state >= STEP_LAUNCHING && r->state < STEP_RELEASING)
        usage_now_ask(&r->usage_now);
}

static void show_stacks(struct run *r)
{
    if (r->state >= STEP_LAUNCHING && r->state < STEP_ENDING)
        stack_report_ask(&r->stacks, false);
    else
        log_note("step %s is %s: no rank runs yet", r->plan->step.id, step_state_text(r->state));
}

static void interrupted(struct run *r)
{
    double now = loop_now();
    bool second = now - r->signals.interrupted < INT_AGAIN_SECONDS;
    r->signals.interrupted = now;
    if (!r->plan->as_mpirun && tty_has_foreground() && !second && !verdict_is_ending(&r->verdict))
        show_state(r);
    else
        end_step(r, SIGINT);
}

/* Any CONT to the ranks ends a suspension by a tool. */
static void forget_tool(struct run *r)
{
    if (r->signals.held_by_tool)
        step_resume_timeout(r);
    r->signals.held_by_tool = false;
}

static void continued(struct run *r)
{
    if (loop_signal_is_timer(r->loop)) {
        job_suspension_look(&r->suspension, LOOK_TICK);
        return;
    }
    job_suspension_rest(&r->suspension, false);
    job_suspension_look(&r->suspension, LOOK_CONTINUED);
    if (r->suspension.suspended) /* the witness is not continued yet */
        return;
    forget_tool(r);
    hosts_signal(r->hosts, SIGCONT, false);
    if (r->state == STEP_RUNNING)
        terminal_take(&r->terminal);
    if (r->input)
        input_continued(r->input);
}

/* A CONT may have come while ranks were told to stop. The kernel forgets it when a STOP is sent, so
 * it is taken here. A CONT from our own timer does not come from the manager; ignore it. */
static bool has_been_continued(void)
{
    static const struct timespec now;
    siginfo_t si;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCONT);
    return sigtimedwait(&set, &si, &now) == SIGCONT && si.si_code != SI_TIMER;
}

/* Ranks first; the links are flushed because a stopped mprun sends nothing. */
static void suspend(struct run *r)
{
    hosts_signal(r->hosts, SIGTSTP, false);
    hosts_flush(r->hosts);
    output_progress(r->output, NULL);
    terminal_give_back(&r->terminal);
    job_suspension_rest(&r->suspension, true);
    if (has_been_continued())
        continued(r);
    else
        kill(getpid(), SIGSTOP);
}

/* The manager may send a signal twice, to the group and to each process, and some signals to the
 * ranks, too. */
static void pass_on_once(struct run *r, int signo)
{
    double now = loop_now(), *last = &r->signals.manager_signal[signo == SIGUSR2];
    bool known = signo == SIGUSR1 || signo == SIGUSR2;
    if (!known || !loop_signal_is_foreign(r->loop) || r->plan->adapter->signals_everywhere == 0) {
        hosts_signal(r->hosts, signo, false);
        return;
    }
    if (now - *last <= SAME_MANAGER_SECONDS)
        return;
    *last = now;
    if (!(r->plan->adapter->signals_everywhere >> signo & 1))
        hosts_signal(r->hosts, signo, true);
}

/* ---- the manager suspends the job ------------------------------------------------------------ */

static void wake(pid_t pid, int levels)
{
    AUTO_FREE pid_t *children = NULL;
    if (pid <= 1)
        return;
    kill(pid, SIGCONT);
    int n = levels > 0 ? proc_children(pid, &children) : 0;
    for (int i = 0; i < n; i++)
        wake(children[i], levels - 1);
}

/* Start clients with what they have started, which of a forked starter is its worker. Below that
 * are ranks and their PMI server: these only while there may be ranks that are being started, as
 * the worker waits for each until it has called exec. */
static void wake_client(void *arg, const struct host *h, pid_t client)
{
    const struct step_record *record = arg;
    const struct host_facts *f = &record->facts[h->launch_index];
    wake(client, f->started + f->ended < rank_set_count(h->ranks) ? 2 : 1);
}

static void hold(void *arg)
{
    struct run *r = arg;
    starters_each_client(r->starters, wake_client, &r->record);
    starters_wake_holder(r->starters);
    if (!verdict_is_ending(&r->verdict)) /* their end is not to wait */
        hosts_signal(r->hosts, SIGTSTP, false);
}

static void job_suspended(void *arg)
{
    struct run *r = arg;
    log_debug("the job is suspended");
    step_pause_timeout(r);
    hold(r);
}

static void job_resumed(void *arg)
{
    struct run *r = arg;
    log_debug("the job is resumed");
    r->signals.held_by_tool = false;
    step_resume_timeout(r);
    hosts_signal(r->hosts, SIGCONT, false);
}

const struct job_suspension_events step_suspension_events = {
    .suspended = job_suspended, .hold = hold, .resumed = job_resumed};

/* ---- a tool suspends the step ---------------------------------------------------------------- */

bool step_is_suspended(const struct run *r)
{
    return r->signals.held_by_tool || r->suspension.suspended;
}

const char *step_suspend(struct run *r)
{
    if (r->state != STEP_RUNNING || verdict_is_ending(&r->verdict))
        return r->state < STEP_RUNNING ? "its ranks have not all started yet; try again later"
                                       : "it is ending";
    if (step_is_suspended(r))
        return NULL;
    log_note("a tool suspends step %s; 'mprctl resume %s' lets it go on", r->plan->step.id,
             r->plan->step.id);
    r->signals.held_by_tool = true;
    step_pause_timeout(r);
    hosts_signal(r->hosts, SIGTSTP, false);
    return NULL;
}

const char *step_resume(struct run *r)
{
    if (r->suspension.suspended)
        return "the resource manager has suspended the job, and has to resume it";
    if (!r->signals.held_by_tool)
        return NULL;
    log_note("a tool resumes step %s", r->plan->step.id);
    forget_tool(r);
    hosts_signal(r->hosts, SIGCONT, false);
    return NULL;
}

/* ---- all signals ----------------------------------------------------------------------------- */

static void on_signal(void *arg, int signo)
{
    struct run *r = arg;
    switch (signo) {
    case SIGCHLD:
        reaper_collect(r->reaper);
        job_suspension_look(&r->suspension, LOOK_CHILD);
        break;
    case SIGINT:
        interrupted(r);
        break;
    case SIGQUIT:
        if (r->plan->cmd->debug.stack_traces && !verdict_is_ending(&r->verdict))
            show_stacks(r);
        else
            end_step(r, signo);
        break;
    case SIGTERM:
    case SIGHUP:
        end_step(r, signo);
        break;
    case SIGTSTP:
        suspend(r);
        break;
    case SIGCONT:
        continued(r);
        break;
    case SIGWINCH:
        terminal_resized(&r->terminal);
        hosts_signal(r->hosts, signo, false);
        break;
    default:
        pass_on_once(r, signo);
    }
    loop_defer_schedule(&r->turn);
}

int step_watch_signals(struct run *r, struct error *err)
{
    static const int watched[] = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGTSTP,
                                  SIGCONT, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};
    sigset_t set;
    r->signals.interrupted = -INT_AGAIN_SECONDS;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
        struct sigaction now;
        /* what the user's shell told us to ignore (nohup) stays ignored */
        if (watched[i] == SIGHUP && sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            continue;
        sigaddset(&set, watched[i]);
    }
    signal(SIGPIPE, SIG_IGN);
    return loop_signals(r->loop, &set, on_signal, r, err);
}
