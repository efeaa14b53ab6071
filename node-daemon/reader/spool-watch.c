/* SPDX-License-Identifier: BSD-3-Clause */
/* spool-watch.c - one inotify watch on active_jobs, one on each job's directory in it, and one on
 * each directory of a slave task in that
 *
 * A directory is watched first and read then, so that nothing falls between. Where active_jobs is
 * not there, or not to be trusted, the nearest directory above it is watched until it is. */
#include "node-daemon/reader/spool-watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "node-daemon/reader/ge-spool.h"

enum { PATH_SIZE = 4096 };
enum kind { ABOVE, JOBS, JOB, TASK };

struct entry {
    int wd;
    enum kind kind;
    char job[SPOOL_NAME_MAX], task[SPOOL_NAME_MAX];
};

struct spool_watch {
    int fd;
    struct loop_io *io;
    const struct conf *conf;
    struct spool_watch_calls calls;
    void *arg;
    struct entry *e;
    size_t n;
    struct loop_timer again; /* for what could not be watched */
    int failed, told;        /* a watch could not be had; and that was said */
};

static const double AGAIN_S = 10;

/* ---- events ---------------------------------------------------------------------------------- */

int spool_event_next(const char *buf, size_t n, size_t *at, struct spool_event *ret)
{
    struct inotify_event e;
    size_t left = *at < n ? n - *at : 0;
    if (left < sizeof(e))
        return 0;
    memcpy(&e, buf + *at, sizeof(e));
    if (e.len > left - sizeof(e))
        return 0;
    const char *name = buf + *at + sizeof(e);
    size_t len = strnlen(name, e.len);
    *at += sizeof(e) + e.len;
    *ret = (struct spool_event){.wd = e.wd, .mask = e.mask};
    if (len < sizeof(ret->name))
        memcpy(ret->name, name, len);
    return 1;
}

/* ---- the table ------------------------------------------------------------------------------- */

static struct entry *find(struct spool_watch *w, int wd)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->e[i].wd == wd)
            return &w->e[i];
    return NULL;
}

static void forget(struct spool_watch *w, int wd)
{
    struct entry *e = find(w, wd);
    if (e)
        *e = w->e[--w->n];
}

static void drop_all(struct spool_watch *w)
{
    while (w->n > 0)
        (void)inotify_rm_watch(w->fd, w->e[--w->n].wd);
}

/* Without a watch (a user's limit of them is the host's) jobs that do not ask are not noticed but
 * by a look at everything, which each new try begins. What has gone meanwhile needs none. */
static void add(struct spool_watch *w, const char *path, uint32_t mask, enum kind kind,
                const char *job, const char *task)
{
    int wd = inotify_add_watch(w->fd, path, mask | IN_ONLYDIR);
    if (wd < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return;
        if (!w->told++)
            log_error("watch '%s': %s; jobs that do not ask may be noticed late; trying again "
                      "every %g s",
                      path, strerror(errno), AGAIN_S);
        w->failed = 1;
        loop_timer_start(&w->again, AGAIN_S, 0);
        return;
    }
    forget(w, wd); /* the same directory again */
    w->e = must(reallocarray(w->e, w->n + 1, sizeof(*w->e)));
    struct entry *e = &w->e[w->n++];
    *e = (struct entry){.wd = wd, .kind = kind};
    snprintf(e->job, sizeof(e->job), "%s", job);
    snprintf(e->task, sizeof(e->task), "%s", task);
}

/* The open directory itself, whatever has its name by now. */
static void add_open(struct spool_watch *w, int dir, uint32_t mask, enum kind kind, const char *job,
                     const char *task)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
    add(w, path, mask, kind, job, task);
}

/* ---- directories ----------------------------------------------------------------------------- */

static const uint32_t COMES = IN_CREATE | IN_MOVED_TO, WRITTEN = IN_CLOSE_WRITE | IN_MOVED_TO;

struct found {
    struct spool_watch *w;
    const char *job;
};

static int task_found(void *arg, int fd, const char *task)
{
    struct found *f = arg;
    add_open(f->w, fd, WRITTEN, TASK, f->job, task);
    return 0;
}

static int job_found(void *arg, int fd, const char *job)
{
    struct found f = {arg, job};
    add_open(f.w, fd, COMES | WRITTEN, JOB, job, "");
    return ge_spool_each(f.w->conf, fd, ge_is_task, task_found, &f);
}

/* The deepest directory that there is on the way to active_jobs. */
static void nearest(const struct conf *c, char *path, size_t n)
{
    snprintf(path, n, "%s/active_jobs", c->ge_spool);
    for (char *slash; path[0] && access(path, F_OK) < 0 && (slash = strrchr(path, '/'));)
        *slash = 0;
}

/* Another one may come before it is watched. */
static void watch_above(struct spool_watch *w)
{
    char path[PATH_SIZE], again[PATH_SIZE];
    nearest(w->conf, again, sizeof(again));
    do {
        drop_all(w);
        memcpy(path, again, sizeof(path));
        add(w, path[0] ? path : "/", COMES | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF, ABOVE, "",
            "");
        nearest(w->conf, again, sizeof(again));
    } while (strcmp(path, again) != 0);
}

static void watch_all(struct spool_watch *w)
{
    watch_above(w);
    AUTO_CLOSE int jobs = ge_spool_active_jobs(w->conf);
    if (jobs < 0)
        return;
    drop_all(w);
    add_open(w, jobs, COMES | IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF, JOBS, "",
             "");
    (void)ge_spool_each(w->conf, jobs, ge_is_job, job_found, w);
}

/* Everything anew. */
static void arm(struct spool_watch *w)
{
    w->failed = 0;
    watch_all(w);
    if (w->told && !w->failed) {
        log_note("'%s/active_jobs' is watched", w->conf->ge_spool);
        w->told = 0;
    }
}

static void arm_and_tell(struct spool_watch *w)
{
    arm(w);
    w->calls.lost(w->arg);
}

static void try_again(void *arg)
{
    arm_and_tell(arg);
}

/* ---- what happens ---------------------------------------------------------------------------- */

/* A slave task's directory may be there, and be whole, by now. */
static void job_comes(struct spool_watch *w, const char *job)
{
    AUTO_CLOSE int dir = ge_spool_task(w->conf, job, "");
    if (dir < 0)
        return;
    (void)job_found(w, dir, job);
    w->calls.task(w->arg, job, "");
}

static void task_comes(struct spool_watch *w, const char *job, const char *task)
{
    struct found f = {w, job};
    AUTO_CLOSE int dir = ge_spool_task(w->conf, job, task);
    if (dir < 0)
        return;
    (void)task_found(&f, dir, task);
    w->calls.task(w->arg, job, task);
}

static int is_of_processes(const char *file)
{
    return !strcmp(file, "pid") || !strcmp(file, "addgrpid");
}

static void take_event(struct spool_watch *w, const struct spool_event *v)
{
    struct entry *found = find(w, v->wd), e;
    if (!found)
        return;
    e = *found; /* the table moves */
    if (v->mask & IN_IGNORED)
        forget(w, v->wd);
    if (e.kind == ABOVE || (e.kind == JOBS && (v->mask & (IN_DELETE_SELF | IN_MOVE_SELF))))
        arm_and_tell(w);
    else if (e.kind == JOBS && (v->mask & COMES) && ge_is_job(v->name))
        job_comes(w, v->name);
    else if (e.kind == JOBS && (v->mask & (IN_DELETE | IN_MOVED_FROM)) && ge_is_job(v->name))
        w->calls.gone(w->arg, v->name);
    else if (e.kind == JOB && (v->mask & COMES) && ge_is_task(v->name))
        task_comes(w, e.job, v->name);
    else if (e.kind >= JOB && (v->mask & WRITTEN) && is_of_processes(v->name))
        w->calls.task(w->arg, e.job, e.task);
}

static void readable(void *arg, int fd, unsigned events)
{
    struct spool_watch *w = arg;
    char buf[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
    struct spool_event v;
    size_t at = 0;
    ssize_t n = read(fd, buf, sizeof(buf));
    while (n > 0 && spool_event_next(buf, (size_t)n, &at, &v)) {
        if (v.mask & IN_Q_OVERFLOW)
            arm_and_tell(w);
        else
            take_event(w, &v);
    }
}

struct spool_watch *spool_watch_create(struct loop *l, const struct conf *conf,
                                       const struct spool_watch_calls *calls, void *arg,
                                       struct error *err)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0)
        return error_null(error_errno(err, errno, "watch '%s/active_jobs'", conf->ge_spool));
    struct spool_watch *w = must(malloc(sizeof(*w)));
    *w = (struct spool_watch){.fd = fd, .conf = conf, .calls = *calls, .arg = arg};
    w->io = loop_io_create(l, fd, LOOP_READ, readable, w);
    loop_timer_init(&w->again, l, try_again, w);
    arm(w);
    return w;
}

void spool_watch_destroy(struct spool_watch *w)
{
    if (!w)
        return;
    loop_timer_stop(&w->again);
    loop_io_destroy(w->io);
    close(w->fd);
    free(w->e);
    free(w);
}
