/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-front - serves users and root: it knows the jobs, chooses their cores, and has other
 * processes do what needs rights
 *
 * It runs as mprund's user. All state is in the tree of cgroups, so it can be killed and started
 * again at any time. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/files/fdio.h"
#include "common/log.h"
#include "node-daemon/front/jobs/refine.h"
#include "node-daemon/front/jobs/sentinel.h"
#include "node-daemon/front/requests/server.h"
#include "node-daemon/front/requests/watch-link.h"
#include "node-daemon/lib/logging.h"
#include "node-daemon/lib/syscalls.h"
#include "node-daemon/lib/trace.h"

struct front {
    struct start start;
    struct conf conf;
    struct loop *loop;
    struct loop_io *control;
    struct ground ground;
    struct reader_link reader;
    struct jobs *jobs;
    struct refine refine;
    struct requests requests;
    struct server server;
    struct watch_link watch;
};

/* ---- what the parts of it ask of each other -------------------------------------------------- */

static void job_ended(void *arg, const struct job *job)
{
    struct front *f = arg;
    sentinel_remove(f->requests.sentinels, job);
    if (f->watch.loop)
        watch_link_ended(&f->watch, job);
}

static void job_is_stuck(void *arg, const struct job *job, size_t part)
{
    struct front *f = arg;
    if (f->watch.loop)
        watch_link_stuck(&f->watch, job, part);
}

static void job_is_awaited(void *arg, struct job *job)
{
    struct front *f = arg;
    refine_awaited(&f->refine, job);
}

static void job_is_made(void *arg, struct job *job, const struct evidence *e)
{
    struct front *f = arg;
    refine_made(&f->refine, job, e);
}

/* The answer is of the job that has this question: its name may be another's by now. */
static void known_answered(void *arg, const struct reader_answer *a)
{
    struct front *f = arg;
    for (size_t i = 0; a && i < jobs_count(f->jobs); i++) {
        struct job *job = jobs_at(f->jobs, i);
        if (job->known_asked != a->head.id)
            continue;
        job->known_asked = 0;
        jobs_know(f->jobs, job, a->code ? -1 : a->known);
        return;
    }
}

static void ask_known(void *arg, struct job *job)
{
    struct front *f = arg;
    struct reader_request q = {.manager = job->manager};
    snprintf(q.job, sizeof(q.job), "%s", job->name);
    if (reader_ask(&f->reader, 0, READER_IS_KNOWN, &q, -1, known_answered, f, &job->known_asked,
                   NULL) < 0)
        job->known_asked = 0;
}

static void is_settled(void *arg)
{
    struct front *f = arg;
    server_settled(&f->server);
}

static void job_is_gone(void *arg, const char *name)
{
    struct front *f = arg;
    struct job *job = f->jobs ? jobs_find(f->jobs, GRANT_GRIDENGINE, name) : NULL;
    if (!job)
        return;
    if (job->awaited)
        jobs_come(f->jobs, job);
    jobs_know(f->jobs, job, 0);
}

static void task_is_noted(void *arg, const char *job, pid_t pid, gid_t group)
{
    struct front *f = arg;
    if (!f->watch.loop)
        return;
    watch_link_note(&f->watch, job, group);
    watch_link_consider(&f->watch, pid);
}

static void events_are_lost(void *arg)
{
    struct front *f = arg;
    if (f->watch.loop)
        watch_link_look(&f->watch);
}

static void reader_took(void *arg, uid_t uid, double seconds)
{
    struct front *f = arg;
    if (f->server.loop)
        server_reader_took(&f->server, uid, seconds);
}

static const struct reader_calls reader_calls = {
    .task = task_is_noted, .gone = job_is_gone, .lost = events_are_lost, .took = reader_took};

/* ---- the supervisor -------------------------------------------------------------------------- */

static void control_ready(void *arg, int fd, unsigned events)
{
    struct front *f = arg;
    enum gift gift;
    unsigned which;
    if (!start_has_gift())
        return;
    if (start_take(&f->start, &gift, &which) < 0) {
        loop_stop(f->loop);
        return;
    }
    if (gift == GIFT_LINK && which == ROLE_READER) {
        reader_link_renew(&f->reader);
        refine_resume(&f->refine); /* this daemon may have begun while there was none */
    } else if (gift == GIFT_LINK && which == ROLE_WATCH) {
        watch_link_renew(&f->watch);
    } else if (gift == GIFT_SENTINELS) {
        f->requests.sentinels = f->start.of[GIFT_SENTINELS];
    } else if (gift == GIFT_ALL) {
        server_listen(&f->server);
        sentinel_begin(f->requests.sentinels, f->jobs);
    }
}

static void is_drained(void *arg)
{
    const struct front *f = arg;
    loop_stop(f->loop);
}

/* SIGHUP: the next one has another configuration, and perhaps other sentinels. */
static void on_signal(void *arg, int signo)
{
    struct front *f = arg;
    if (signo != SIGHUP || !f->server.loop) {
        loop_stop(f->loop);
        return;
    }
    sentinel_clear(f->requests.sentinels);
    server_drain(&f->server, is_drained, f);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int open_loop(struct front *f, struct error *err)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    if (!(f->loop = loop_create(err)) || loop_signals(f->loop, &signals, on_signal, f, err) < 0)
        return -1;
    f->control = loop_io_create(f->loop, START_CONTROL, LOOP_READ, control_ready, f);
    return 0;
}

/* Some settings stay as they were when mprund began, whatever the configuration says now. */
static void tell_what_stays(const struct front *f)
{
    const struct plan_ground *g = &f->start.plan.ground;
    bool is_scope = strcmp(g->cgroup, g->v2_cgroup) != 0;
    if (strcmp(f->conf.cgroup, g->cgroup) != 0 ||
        ((f->conf.controllers | g->enable) & ~g->disable) != g->asked ||
        (f->conf.systemd == SYSTEMD_YES && !is_scope) ||
        (f->conf.systemd == SYSTEMD_NO && is_scope))
        log_warn("cgroup, subsystems and systemd are as they were until mprund is started again");
}

static int open_front(struct front *f, struct error *err)
{
    struct jobs_watch watch = {.made = job_is_made,
                               .ask_known = ask_known,
                               .awaited = job_is_awaited,
                               .ended = job_ended,
                               .stuck = job_is_stuck,
                               .arg = f};
    ground_of_start(&f->start, &f->ground);
    if (conf_read_fd(f->start.of[GIFT_CONF], &f->conf, err) < 0 || open_loop(f, err) < 0)
        return -1;
    trace_to(f->start.of[GIFT_TRACE]);
    tell_what_stays(f);
    f->requests = (struct requests){.start = &f->start,
                                    .ground = &f->ground,
                                    .conf = &f->conf,
                                    .sentinels = f->start.of[GIFT_SENTINELS]};
    reader_link_init(&f->reader, f->loop, &f->start, &f->conf, &reader_calls, f);
    if (!(f->jobs = jobs_create(f->loop, &f->start, &f->ground, &f->conf, &watch, err)))
        return -1;
    refine_init(&f->refine, f->loop, f->jobs, &f->reader, &f->conf, is_settled, f);
    f->requests.reader = &f->reader;
    f->requests.jobs = f->jobs;
    f->requests.refine = &f->refine;
    server_open(&f->server, f->loop, &f->start, &f->requests);
    watch_link_init(&f->watch, f->loop, &f->start, &f->requests);
    sentinel_begin(f->requests.sentinels, f->jobs);
    refine_resume(&f->refine);
    if (jobs_count(f->jobs))
        log_note("%zu job%s here from before", jobs_count(f->jobs),
                 jobs_count(f->jobs) == 1 ? " was" : "s were");
    return 0;
}

static void close_front(struct front *f)
{
    watch_link_close(&f->watch);
    server_close(&f->server);
    refine_stop(&f->refine);
    jobs_destroy(f->jobs);
    reader_link_close(&f->reader);
    loop_io_destroy(f->control);
    loop_destroy(f->loop);
    conf_free(&f->conf);
}

int main(void)
{
    static struct front f;
    struct error e;
    fd_open_standard();
    umask(022);
    logging_open(LOG_NOTE, 0);
    int rc = start_receive(&f.start, &e);
    if (rc == 0) {
        logging_open(f.start.plan.verbose ? LOG_DEBUG : LOG_NOTE, (int)f.start.plan.to_syslog);
        if (syscalls_restrict(ROLE_FRONT, &e) < 0)
            log_warn("%s", e.text);
    }
    if (rc == 0 && (rc = open_front(&f, &e)) == 0 && (rc = start_tell(TOLD_READY)) == 0)
        loop_run(f.loop);
    else
        log_error("%s", e.text);
    close_front(&f);
    return rc < 0;
}
