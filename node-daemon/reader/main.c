/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-reader - the part of mprund that reads what others wrote: spools, users, qstat
 *
 * It runs as an ordinary user and can be stuck for as long as a file server or a name service is;
 * front asks it (lib/reader-protocol.h) and waits for nothing. It keeps nothing between questions.
 * A record that is malformed ends it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/loop.h"
#include "node-daemon/lib/logging.h"
#include "node-daemon/lib/syscalls.h"
#include "node-daemon/lib/start.h"
#include "node-daemon/lib/trace.h"
#include "node-daemon/lib/unlinger.h"
#include "node-daemon/reader/questions.h"
#include "node-daemon/reader/ge-spool.h"
#include "node-daemon/reader/spool-watch.h"

struct reader {
    struct start start;
    struct conf conf;
    struct loop *loop;
    struct loop_io *control, *link;
    struct loop_timer begin;
    struct demands demands;
    struct spool_watch *spool;
    int code; /* of exit */
};

/* ---- answers --------------------------------------------------------------------------------- */

static void drop_link(struct reader *r)
{
    int *fd = &r->start.link[ROLE_FRONT];
    loop_io_destroy(take_ptr(r->link));
    cleanup_close(fd);
    *fd = -1;
}

/* Until front takes more; -1: the supervisor has gone. */
static int await_room(const struct reader *r)
{
    struct pollfd p[] = {{.fd = r->start.link[ROLE_FRONT], .events = POLLOUT},
                         {.fd = START_CONTROL, .events = 0}};
    while (poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    return p[1].revents ? -1 : 0;
}

static void give(void *arg, const struct reader_answer *a)
{
    struct reader *r = arg;
    int fd = r->start.link[ROLE_FRONT];
    while (fd >= 0 && record_send(fd, a, sizeof(*a), -1) < 0)
        if (errno != EAGAIN || await_room(r) < 0) {
            drop_link(r);
            return;
        }
}

/* ---- what the execd writes ------------------------------------------------------------------- */

static void give_event(struct reader *r, enum reader_op what, const char *job, const char *task,
                       pid_t pid, gid_t group)
{
    struct reader_answer a;
    reply_init(&a, what, 0);
    a.manager = GRANT_GRIDENGINE;
    a.pid = pid;
    a.group = group;
    snprintf(a.job, sizeof(a.job), "%.*s", GRANT_JOB_MAX - 1, job);
    snprintf(a.task, sizeof(a.task), "%.*s", GRANT_JOB_MAX - 1, task);
    give(r, &a);
}

/* A new directory may have nothing to tell yet. */
static void on_task(void *arg, const char *job, const char *task)
{
    struct reader *r = arg;
    AUTO_CLOSE int dir = ge_spool_task(&r->conf, job, task);
    pid_t pid = dir < 0 ? -1 : ge_spool_pid(&r->conf, dir);
    if (pid > 0)
        give_event(r, READER_TASK, job, task, pid, ge_spool_group(&r->conf, dir));
}

/* A job that was put back may be there again: front has perhaps heard of that before this. */
static void on_gone(void *arg, const char *job)
{
    struct reader *r = arg;
    AUTO_CLOSE int again = ge_spool_task(&r->conf, job, "");
    if (again < 0)
        give_event(r, READER_GONE, job, "", 0, 0);
}

static void on_lost(void *arg)
{
    trace("lost spool");
    give_event(arg, READER_LOST, "", "", 0, 0);
}

static void watch_spool(void *arg)
{
    static const struct spool_watch_calls calls = {
        .task = on_task, .gone = on_gone, .lost = on_lost};
    struct reader *r = arg;
    struct error e;
    if (!r->conf.watch_spool || !r->conf.ge_spool)
        return;
    if ((r->spool = spool_watch_create(r->loop, &r->conf, &calls, r, &e)))
        give_event(r, READER_LOST, "", "", 0, 0); /* what came before it was watched */
    else
        log_error("%s; going on without", e.text);
}

/* ---- questions ------------------------------------------------------------------------------- */

static void on_link(void *arg, int link, unsigned events)
{
    struct reader *r = arg;
    struct reader_request q;
    __attribute__((cleanup(unlinger_close))) int fd = -1; /* front may have gone on without it */
    int got = record_receive(link, &q, sizeof(q), &fd);
    if (got == 0) {
        drop_link(r);
    } else if (got > 0 && question_is_whole(&q)) {
        if (q.head.what == READER_DEMAND)
            demands_ask(&r->demands, &q);
        else
            question_answer(&r->conf, &q, fd, give, r);
    } else if (got > 0 || errno != EAGAIN) {
        log_error("the reader got a record that is none, and ends");
        r->code = 1;
        loop_stop(r->loop);
    }
}

static void listen_to_front(struct reader *r)
{
    int fd = r->start.link[ROLE_FRONT];
    if (fd < 0)
        return;
    (void)fd_set_nonblock(fd, 1);
    r->link = loop_io_create(r->loop, fd, LOOP_READ, on_link, r);
}

/* ---- the supervisor -------------------------------------------------------------------------- */

/* Another front: it does not wait for what the last one asked, and has not heard of what there was
 * nobody to tell. */
static void take_front(struct reader *r)
{
    demands_forget(&r->demands);
    if (r->spool)
        give_event(r, READER_LOST, "", "", 0, 0);
}

static void on_control(void *arg, int fd, unsigned events)
{
    struct reader *r = arg;
    enum gift gift;
    unsigned which;
    loop_io_destroy(take_ptr(r->link)); /* its descriptor may be closed now */
    if (start_take(&r->start, &gift, &which) < 0) {
        loop_stop(r->loop);
        return;
    }
    listen_to_front(r);
    if (gift == GIFT_LINK && which == ROLE_FRONT)
        take_front(r);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* It is ready before it touches the spool directory, whose server may not answer. */
static int begin(struct reader *r, struct error *err)
{
    if (start_receive(&r->start, err) < 0)
        return -1;
    /* qstat, which it starts, is not to have what the reader has */
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    logging_open(r->start.plan.verbose ? LOG_DEBUG : LOG_NOTE, r->start.plan.to_syslog != 0);
    if (syscalls_restrict(ROLE_READER, err) < 0)
        log_warn("%s", err->text);
    trace_to(take_fd(&r->start.of[GIFT_TRACE]));
    if (conf_read_fd(r->start.of[GIFT_CONF], &r->conf, err) < 0 || !(r->loop = loop_create(err)))
        return -1;
    demands_open(&r->demands, r->loop, &r->conf, give, r);
    r->control = loop_io_create(r->loop, START_CONTROL, LOOP_READ, on_control, r);
    listen_to_front(r);
    loop_timer_init(&r->begin, r->loop, watch_spool, r);
    loop_timer_start(&r->begin, 0, 0);
    return start_tell(TOLD_READY) < 0 ? error_errno(err, errno, "tell that the reader is ready")
                                      : 0;
}

static void end(struct reader *r)
{
    spool_watch_destroy(r->spool);
    loop_timer_stop(&r->begin);
    demands_close(&r->demands);
    loop_io_destroy(r->link);
    loop_io_destroy(r->control);
    loop_destroy(r->loop);
    conf_free(&r->conf);
}

int main(void)
{
    static struct reader r;
    struct error e;
    fd_open_standard();
    logging_open(LOG_NOTE, 0);
    if (begin(&r, &e) == 0) {
        loop_run(r.loop);
    } else {
        log_error("%s", e.text);
        r.code = 1;
    }
    end(&r);
    return r.code;
}
