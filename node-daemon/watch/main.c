/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-watch - the part of mprund that finds processes which did not ask for their job's cgroup
 *
 * It runs as an ordinary user, with two capabilities: to hear of processes, and to see what those
 * of others run. It reads /proc and moves nothing itself: whose job it is front says, and the
 * mover, which looks at the process itself, moves it. */
#include <errno.h>
#include <signal.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "node-daemon/lib/logging.h"
#include "node-daemon/lib/syscalls.h"
#include "node-daemon/lib/trace.h"
#include "node-daemon/watch/quarantine.h"

struct watch {
    struct start start;
    struct conf conf;
    struct loop *loop;
    struct loop_io *control;
    struct quarantine *quarantine;
};

static void on_control(void *arg, int fd, unsigned events)
{
    struct watch *w = arg;
    enum gift gift;
    unsigned which;
    if (!start_has_gift())
        return;
    if (start_take(&w->start, &gift, &which) < 0) /* the supervisor has gone */
        loop_stop(w->loop);
    else
        quarantine_renew(w->quarantine);
}

static void on_signal(void *arg, int signo)
{
    struct watch *w = arg;
    loop_stop(w->loop);
}

static int begin(struct watch *w, struct error *err)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    if (start_receive(&w->start, err) < 0)
        return -1;
    logging_open(w->start.plan.verbose ? LOG_DEBUG : LOG_NOTE, w->start.plan.to_syslog != 0);
    if (syscalls_restrict(ROLE_WATCH, err) < 0)
        log_warn("%s", err->text);
    trace_to(take_fd(&w->start.of[GIFT_TRACE]));
    if (conf_read_fd(w->start.of[GIFT_CONF], &w->conf, err) < 0 || !(w->loop = loop_create(err)) ||
        loop_signals(w->loop, &signals, on_signal, w, err) < 0)
        return -1;
    w->control = loop_io_create(w->loop, START_CONTROL, LOOP_READ, on_control, w);
    w->quarantine = quarantine_create(w->loop, &w->start, &w->conf);
    return start_tell(TOLD_READY) < 0 ? error_errno(err, errno, "tell that watch is ready") : 0;
}

static void end(struct watch *w)
{
    quarantine_destroy(w->quarantine);
    loop_io_destroy(w->control);
    loop_destroy(w->loop);
    conf_free(&w->conf);
}

int main(void)
{
    static struct watch w;
    struct error e;
    fd_open_standard();
    logging_open(LOG_NOTE, 0);
    int rc = begin(&w, &e);
    if (rc == 0)
        loop_run(w.loop);
    else
        log_error("%s", e.text);
    end(&w);
    return rc < 0;
}
