/* SPDX-License-Identifier: BSD-3-Clause */
/* signals.c - what signals to mprun mean for the step
 *
 * INT on a foreground terminal: the first one shows the state and what the ranks use, a second
 * within a second ends the step. INT elsewhere, or called as another launcher, and TERM, HUP, QUIT:
 * the step ends (TERM, grace, KILL); once more: at once; a third time: mprun leaves, whether its
 * starters answer or not, and they end without it. USR1, USR2, WINCH, ALRM are passed on, but for
 * what the manager has sent to the ranks as well. TSTP and CONT stop and continue the ranks, then
 * mprun (suspension.c: what the manager does to the job). */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/number.h"
#include "common/signal-name.h"
#include "common/tty.h"
#include "launcher/run.h"

#define AGAIN_SECONDS 1.0
/* timeout(1) and some managers send a signal to mprun and then to its group: that is one. */
#define SAME_SECONDS 0.05
/* The same of one that ends the step and that nobody types: where the machine is busy who sends it
 * may be held up in between, and the ranks would lose their grace. */
#define SAME_END_SECONDS 0.25
/* Grid Engine sends one to the script's group, and then to each process of the job that it finds in
 * /proc: on a busy machine mprun's turn comes late */
#define MANAGER_SECONDS 1.0

static void pass_on(struct run *r, int signo, int manager)
{
    Mprun__Signal m = MPRUN__SIGNAL__INIT;
    m.signo = (uint32_t)signo;
    m.manager = manager;
    hosts_broadcast(r, FRAME_SIGNAL, &m.base);
}

void signals_pass_on(struct run *r, int signo)
{
    pass_on(r, signo, 0);
}

static int is_there(const struct host *h)
{
    return h->state < AGENT_GONE;
}

/* Starters that do not answer any more, perhaps because they were stopped, find their link closed
 * and clean up when they can. */
static void leave(struct run *r, int signo)
{
    char hosts[400];
    size_t n = hosts_list(r, is_there, hosts, sizeof(hosts));
    if (n)
        log_error("SIG%s a third time: leaving without an answer of %zu host%s (%s)",
                  signal_name(signo), n, plural(n), hosts);
    loop_stop(r->loop);
}

static void end_step(struct run *r, int signo)
{
    double same = signo == SIGINT ? SAME_SECONDS : SAME_END_SECONDS;
    if (signo == r->last_signal && loop_now() - r->signal_time < same)
        return;
    r->last_signal = signo;
    r->signal_time = loop_now();
    r->nsignals++;
    if (r->nsignals >= 3) {
        leave(r, signo);
        return;
    }
    if (r->killing) {
        log_note("received SIG%s%s: killing the ranks at once", signal_name(signo),
                 r->nsignals > 1 ? " again" : "");
        run_kill(r, 0, "a second signal");
        run_drop_output(r, 0);
        return;
    }
    run_fail(r, EXIT_CODE_SIGNAL + signo, "received SIG%s: ending the ranks of step %s",
             signal_name(signo), r->step.id);
    run_drop_output(r, r->step.kill_grace);
}

/* What is known here is said at once; what the ranks use is asked for. */
static void show_state(struct run *r)
{
    log_note("step %s is %s: %u of %u rank%s started, %u ended, on %zu host%s, for %.0f s; "
             "^C again within 1 s to end it",
             r->step.id, step_state_text(r->state), r->nstarted, r->step.nranks,
             plural(r->step.nranks), r->nended, r->nused, plural(r->nused),
             loop_now() - r->start_time);
    present_ask(r);
}

static void interrupted(struct run *r)
{
    double now = loop_now();
    int second = now - r->interrupt_time < AGAIN_SECONDS;
    r->interrupt_time = now;
    if (!r->as_mpirun && tty_have_foreground() && !second && !r->killing)
        show_state(r);
    else
        end_step(r, SIGINT);
}

static void continued(struct run *r)
{
    if (loop_signal_is_timer(r->loop)) {
        suspension_look(r, LOOK_TICK);
        return;
    }
    suspension_rest(r, 0);
    suspension_look(r, LOOK_CONTINUED);
    if (suspension_holds(r)) /* the witness is not continued yet */
        return;
    signals_pass_on(r, SIGCONT);
    if (r->state == STEP_RUNNING)
        terminal_take(r);
    if (r->input)
        input_continued(r->input);
}

/* The kernel forgets a CONT that waits when a STOP is sent, and one that came while ranks were told
 * to stop is not to be lost. One by a timer is nobody's word. */
static int has_been_continued(void)
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
    signals_pass_on(r, SIGTSTP);
    for (size_t i = 0; i < r->nhosts; i++)
        if (r->hosts[i].link)
            link_flush(r->hosts[i].link);
    terminal_give_back(r);
    suspension_rest(r, 1);
    if (has_been_continued())
        continued(r);
    else
        kill(getpid(), SIGSTOP);
}

/* What the manager sends may come twice, to the group and to each process, and some of it has come
 * to the ranks, too. */
static void pass_on_once(struct run *r, int signo)
{
    double now = loop_now(), *last = &r->manager_signals[signo == SIGUSR2];
    int known = signo == SIGUSR1 || signo == SIGUSR2;
    if (!known || !loop_signal_is_foreign(r->loop) || r->adapter->rm_signals_remote == 0) {
        signals_pass_on(r, signo);
        return;
    }
    if (now - *last <= MANAGER_SECONDS)
        return;
    *last = now;
    if (!(r->adapter->rm_signals_remote >> signo & 1))
        pass_on(r, signo, 1);
}

static void on_signal(void *arg, int signo)
{
    struct run *r = arg;
    switch (signo) {
    case SIGCHLD:
        reaper_collect(r->reaper);
        suspension_look(r, LOOK_CHILD);
        break;
    case SIGINT:
        interrupted(r);
        break;
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
        end_step(r, signo);
        break;
    case SIGTSTP:
        suspend(r);
        break;
    case SIGCONT:
        continued(r);
        break;
    case SIGWINCH:
        terminal_resized(r);
        signals_pass_on(r, signo);
        break;
    default:
        pass_on_once(r, signo);
    }
    step_changed(r);
}

static void set_ending_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGQUIT);
    sigprocmask(how, &set, NULL);
}

void signals_leave(void)
{
    set_ending_signals(SIG_UNBLOCK);
}

void signals_return(void)
{
    set_ending_signals(SIG_BLOCK);
}

int signals_watch(struct run *r, struct error *err)
{
    static const int watched[] = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGTSTP,
                                  SIGCONT, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};
    sigset_t set;
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
