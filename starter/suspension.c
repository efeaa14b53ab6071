/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/suspension.h"

#include <signal.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/proc.h"
#include "starter/worker.h"

#define LOOK_SECONDS 1.0

struct suspension {
    struct worker *worker;
    struct loop_timer *timer;
    pid_t launcher;
    uint64_t starttime; /* of the launcher: its pid may be another's one day */
    int ranks_stopped;  /* by mprun, which is then to stay as it is */
};

static void tell(struct suspension *s)
{
    struct worker *w = s->worker;
    Mprun__Suspended m = MPRUN__SUSPENDED__INIT;
    if (!w->up)
        return;
    m.time = loop_now();
    link_send(w->up, FRAME_SUSPENDED, &m.base);
    link_flush(w->up);
    log_debug("on %s: mprun (pid %d) was stopped", w->hostname, (int)s->launcher);
    kill(s->launcher, SIGCONT);
}

static void look(void *arg)
{
    struct suspension *s = arg;
    struct proc_stat st;
    if (proc_stat_read(s->launcher, &st) < 0 || st.starttime != s->starttime)
        loop_timer_stop(s->timer); /* its end is told by the link's */
    else if (st.state == 'T' && !s->ranks_stopped)
        tell(s);
}

struct suspension *suspension_watch(struct worker *w)
{
    struct proc_stat st;
    pid_t launcher = (pid_t)w->start.launcher;
    if (!(w->start.flags & PREAMBLE_SUSPENSION) || launcher <= 1 ||
        proc_stat_read(launcher, &st) < 0)
        return NULL;
    struct suspension *s = calloc(1, sizeof(*s));
    if (s)
        s->timer = loop_timer_create(w->loop, look, s);
    if (!s || !s->timer) {
        free(s);
        return NULL;
    }
    s->worker = w;
    s->launcher = launcher;
    s->starttime = st.starttime;
    loop_timer_start(s->timer, LOOK_SECONDS, LOOK_SECONDS);
    return s;
}

void suspension_end(struct suspension *s)
{
    if (!s)
        return;
    loop_timer_destroy(s->timer);
    free(s);
}

void suspension_signal(struct suspension *s, int signo)
{
    if (s && (signo == SIGSTOP || signo == SIGCONT))
        s->ranks_stopped = signo == SIGSTOP;
}
