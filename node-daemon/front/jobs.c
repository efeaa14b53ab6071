/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.c - a job's cgroups: made, entered, described */
#include "node-daemon/front/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "node-daemon/mover/delegate.h"
#include "node-daemon/front/jobs-private.h"

/* How often managers are asked about their jobs, and cgroups whether anybody is in them. */
static const double CHECK_S = 5, IDLE_S = 60;
enum { USER_DEPTH = 32, PATH_SIZE = CGROUP_NAME_MAX + 16 };

/* A cgroup below the job's: "", "/task", ... buf holds its name for as long as it is used. */
static struct cgroup_at job_at(const struct jobs *j, size_t part, const struct job *job,
                               const char *below, char *buf)
{
    snprintf(buf, PATH_SIZE, "%s%s", job->dir, below);
    return ground_at(j->ground, part, buf);
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

static void check_now(void *arg)
{
    jobs_check(arg);
}

/* Nobody looks while there is no job. */
static void keep_checking(struct jobs *j)
{
    if (j->n == 0)
        loop_timer_stop(&j->check);
    else if (!loop_timer_is_active(&j->check))
        loop_timer_start(&j->check, CHECK_S, CHECK_S);
}

/* A job that the site names ends with its last process; v2 tells of that. */
void jobs_watch_empty(struct jobs *j, struct job *job)
{
    char path[CGROUP_PATH_MAX];
    const struct ground_part *p = &j->ground->part[0];
    if (job->manager != GRANT_SITE || p->driver->version != 2 || !j->watches)
        return;
    snprintf(path, sizeof(path), "%s/%s/cgroup.events", p->path, job->dir);
    int id = watches_add(j->watches, path, check_now, j);
    job->watch = id > 0 ? id : 0;
}

struct jobs *jobs_create(struct loop *l, const struct ground *g, const struct conf *conf,
                         const struct jobs_watch *watch, struct error *err)
{
    struct jobs *j = calloc(1, sizeof(*j));
    if (j) {
        j->loop = l;
        j->ground = g;
        j->conf = conf;
        j->watch = *watch;
        loop_timer_init(&j->check, l, check_now, j);
        j->watches = watches_create(l);
    }
    if (!j)
        error_errno(err, ENOMEM, "read which jobs there are");
    else if (cores_open(j, err) == 0 && jobs_scan(j, err) == 0) {
        jobs_check(j);
        return j;
    }
    jobs_destroy(j);
    return NULL;
}

void jobs_destroy(struct jobs *j)
{
    if (!j)
        return;
    int saved = errno;
    while (j->n > 0)
        jobs_forget(j, j->job[j->n - 1]);
    cores_close(j);
    loop_timer_stop(&j->check);
    watches_destroy(j->watches);
    free(j->job);
    free(j);
    errno = saved;
}

size_t jobs_count(const struct jobs *j)
{
    return j->n;
}

struct job *jobs_at(struct jobs *j, size_t i)
{
    return j->job[i];
}

struct job *jobs_find(struct jobs *j, enum grant_manager manager, const char *name)
{
    for (size_t i = 0; i < j->n; i++)
        if (j->job[i]->state == GRANT_RUNNING && j->job[i]->manager == manager &&
            !strcmp(j->job[i]->name, name))
            return j->job[i];
    return NULL;
}

/* ---- making -----------------------------------------------------------------------------------
 */

static int make_directory(const struct jobs *j, struct cgroup_at d, mode_t mode)
{
    /* what the umask takes away, chmod gives */
    return mkdirat(d.fd, d.name, mode) < 0 ? -1 : fchmodat(d.fd, d.name, mode, 0);
}

/* The user's part may have this many cgroups below it, and no more: they cost the kernel memory. */
static void bound_descendants(const struct jobs *j, struct cgroup_at u)
{
    (void)at_write_u64(u, "cgroup.max.descendants", (uint64_t)j->conf->max_descendants);
    (void)at_write_u64(u, "cgroup.max.depth", USER_DEPTH);
}

static int make_below(const struct jobs *j, size_t part, const struct job *job)
{
    char top[PATH_SIZE], task[PATH_SIZE], u[PATH_SIZE], home[PATH_SIZE];
    const struct ground_part *p = &j->ground->part[part];
    struct cgroup_at at_top = job_at(j, part, job, "", top);
    struct cgroup_at at_task = job_at(j, part, job, "/task", task);
    struct cgroup_at at_u = job_at(j, part, job, "/u", u);
    struct cgroup_at at_home = job_at(j, part, job, "/u/home", home);
    unsigned below = p->driver->enable(at_top, p->controllers);
    if (make_directory(j, at_task, 0755) < 0 || make_directory(j, at_u, 0755) < 0)
        return -1;
    (void)p->driver->enable(at_u, below);
    bound_descendants(j, at_u);
    if (make_directory(j, at_home, 0755) < 0 || delegate_to(at_home, job->uid) < 0)
        return -1;
    return delegate_to(at_u, job->uid);
}

/* The uid of a job on v1, where no directory is the user's, stands in the group of its own. */
static int note_owner(struct cgroup_at d, uid_t uid)
{
    return fchownat(d.fd, d.name, (uid_t)-1, (gid_t)uid, AT_SYMLINK_NOFOLLOW);
}

static int make_part(struct jobs *j, size_t part, struct job *job, struct limits *limits,
                     struct error *err)
{
    char top[PATH_SIZE];
    const struct ground_part *p = &j->ground->part[part];
    struct cgroup_at d = job_at(j, part, job, "", top);
    int rc = make_directory(j, d, MODE_ENDED);
    if (rc == 0 && (int)part == j->cores_part && cores_hold(job, err) < 0)
        return -1;
    if (rc == 0)
        rc = p->driver->prepare(ground_at(j->ground, part, "."), d, p->controllers);
    if (rc == 0)
        p->driver->limit(d, p->controllers, limits);
    if (rc == 0)
        rc = p->driver->version == 2 ? make_below(j, part, job) : note_owner(d, job->uid);
    if (rc < 0)
        return error_errno(err, errno, "make cgroup '%s/%s'", p->path, job->dir);
    return 0;
}

/* From here on a daemon that is started again knows it for whole: the tracking part comes last. */
static int open_up(const struct jobs *j, const struct job *job, mode_t mode, struct error *err)
{
    for (size_t part = j->ground->n; part-- > 0;)
        if (fchmodat(j->ground->part[part].fd, job->dir, mode, 0) < 0)
            return error_errno(err, errno, "open cgroup '%s/%s'", j->ground->part[part].path,
                               job->dir);
    return 0;
}

static struct job *job_new(struct jobs *j, enum grant_manager manager, const char *name, uid_t uid)
{
    struct job *job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->manager = manager;
    job->uid = uid;
    snprintf(job->name, sizeof(job->name), "%s", name);
    job_dir_name(job);
    return jobs_add(j, job) < 0 ? NULL : job;
}

/* Which ones a job can have is no reason to keep it from running: the manager has counted them. */
static void give_gpus(struct job *job, unsigned n)
{
    struct error e;
    if (jobs_set_gpus(job, n, &e) < 0)
        log_warn("%s", e.text);
}

struct job *jobs_make(struct jobs *j, enum grant_manager manager, struct evidence *e,
                      struct error *err)
{
    int is_name = grant_is_job_name(e->name);
    struct job *job = is_name ? job_new(j, manager, e->name, e->uid) : NULL;
    if (!job) {
        error_errno(err, is_name ? ENOMEM : EINVAL, "make the cgroup of job '%s'", e->name);
        return NULL;
    }
    int rc = cores_choose(job, e, err);
    for (size_t part = 0; rc == 0 && part < j->ground->n; part++)
        rc = make_part(j, part, job, &e->limits, err);
    if (rc == 0) {
        cores_note(job);
        give_gpus(job, e->gpus);
        rc = open_up(j, job, MODE_WHOLE, err);
    }
    keep_checking(j);
    if (rc == 0) {
        job->limits = e->limits;
        jobs_watch_empty(j, job);
        if (j->watch.made)
            j->watch.made(j->watch.arg, job, e);
        return job;
    }
    job->told = 1; /* it never was one: there is nothing to say of its end */
    job_end(job);  /* removes what there is of it */
    return NULL;
}

/* Of those that change: the limit of processes stays what it was, or was at first. */
static const char *not_held(const struct limits *l)
{
    if (l->memory.set && !l->memory.held_by)
        return "memory";
    return l->memory.set && l->swap.set && !l->swap.held_by ? "swap" : NULL;
}

int jobs_set_limits(struct jobs *j, struct job *job, struct limits *limits, struct error *err)
{
    char top[PATH_SIZE];
    for (size_t part = 0; part < j->ground->n; part++) {
        const struct ground_part *p = &j->ground->part[part];
        struct cgroup_at d = job_at(j, part, job, "", top);
        p->driver->lift(d, p->controllers, limits);
        p->driver->limit(d, p->controllers, limits);
    }
    job->limits = *limits;
    const char *what = not_held(limits);
    return what ? error_set(err, ENOTSUP, "limit the %s of job %s: no cgroup of this host holds it",
                            what, job->name)
                : 0;
}

/* ---- bound by root ----------------------------------------------------------------------------
 */

/* A mark that cannot be set is missed by the next daemon only. */
static void mark_bound(const struct jobs *j, const struct job *job)
{
    struct error e;
    if (open_up(j, job, job->awaited ? MODE_AWAITED : MODE_BOUND, &e) < 0)
        log_warn("job %s: %s", job->name, e.text);
}

void jobs_bind(struct jobs *j, struct job *job, int awaited)
{
    job->bound = 1;
    job->awaited = awaited;
    job->idle = awaited ? loop_now() : 0;
    mark_bound(j, job);
}

void jobs_come(const struct jobs *j, struct job *job)
{
    job->awaited = 0;
    job->idle = 0;
    mark_bound(j, job);
}

int jobs_own(struct jobs *j, struct job *job, uid_t uid, struct error *err)
{
    char top[PATH_SIZE], u[PATH_SIZE], home[PATH_SIZE];
    for (size_t part = 0; part < j->ground->n; part++) {
        struct cgroup_at d = job_at(j, part, job, "", top);
        int v2 = j->ground->part[part].driver->version == 2;
        int rc = v2 ? delegate_to(job_at(j, part, job, "/u/home", home), uid) : note_owner(d, uid);
        if (rc == 0 && v2)
            rc = delegate_to(job_at(j, part, job, "/u", u), uid);
        if (rc < 0)
            return error_errno(err, errno, "give cgroup '%s/%s' to user %u",
                               j->ground->part[part].path, d.name, (unsigned)uid);
    }
    job->uid = uid;
    return 0;
}

/* ---- who is in it, and who enters -------------------------------------------------------------
 */

struct job *jobs_of_process(struct jobs *j, pid_t pid, char **ret_part)
{
    AUTO_FREE char *below = ground_membership(j->ground, pid);
    if (!below || !*below)
        return NULL;
    size_t len = strcspn(below, "/");
    for (size_t i = 0; i < j->n; i++)
        if (strlen(j->job[i]->dir) == len && !memcmp(j->job[i]->dir, below, len)) {
            *ret_part = strdup(below + len + (below[len] == '/'));
            return *ret_part ? j->job[i] : NULL;
        }
    return NULL;
}

/* The number was the asking process's when it was written if that process lives afterwards. If not,
 * it could in theory have become another process's in between, which is then put out again. */
static int still_the_same(const struct cgroup_at d, const struct ground_part *p,
                          const struct peer *peer, struct error *err)
{
    if (peer_is_alive(peer))
        return 0;
    pid_t *pids = NULL;
    ssize_t n = at_pids(d, &pids);
    for (ssize_t i = 0; i < n; i++)
        if (pids[i] == peer->pid) {
            struct cgroup_at out = {p->fd, ".."};
            int rc = at_write_u64(out, "cgroup.procs", (uint64_t)peer->pid);
            log_error("pid %d ended while it was moved into '%s/%s', and another process has its "
                      "number: %s",
                      (int)peer->pid, p->path, d.name,
                      rc == 0 ? "put out again" : "it stays there");
        }
    free(pids);
    return error_set(err, ESRCH, "pid %d has ended", (int)peer->pid);
}

int jobs_enter(struct jobs *j, struct job *job, const struct peer *peer, enum job_part part,
               struct error *err)
{
    char buf[PATH_SIZE];
    if (peer->pid <= 1 || !peer_is_alive(peer))
        return error_set(err, ESRCH, "pid %d has ended", (int)peer->pid);
    /* the tracking part last: who is seen there is everywhere */
    for (size_t i = j->ground->n; i-- > 0;) {
        const struct ground_part *p = &j->ground->part[i];
        const char *below = p->driver->version == 1 ? "" : part == JOB_TASK ? "/task" : "/u/home";
        struct cgroup_at d = job_at(j, i, job, below, buf);
        if (at_write_u64(d, "cgroup.procs", (uint64_t)peer->pid) < 0)
            return error_errno(err, errno, "move pid %d into cgroup '%s/%s'", (int)peer->pid,
                               p->path, d.name);
        if (still_the_same(d, p, peer, err) < 0)
            return -1;
    }
    if (job->awaited)
        jobs_come(j, job);
    return 0;
}

int jobs_note(const struct jobs *j, const struct job *job, const char *name, const char *text)
{
    return at_note(ground_at(j->ground, 0, job->dir), name, text);
}

ssize_t jobs_read_note(const struct jobs *j, const struct job *job, const char *name, char *buf,
                       size_t n)
{
    return at_read_note(ground_at(j->ground, 0, job->dir), name, buf, n);
}

int jobs_user_place(const struct jobs *j, const struct job *job, char *buf, size_t n)
{
    const struct ground_part *p = &j->ground->part[0];
    if (p->driver->version != 2)
        return -1;
    int len = snprintf(buf, n, "%s/%s/u", p->path, job->dir);
    return len > 0 && (size_t)len < n ? len : -1;
}

/* ---- what it has and uses ---------------------------------------------------------------------
 */

static uint64_t read_or(struct cgroup_at d, const char *file, uint64_t otherwise)
{
    uint64_t v;
    return at_read_u64(d, file, &v) == 0 ? v : otherwise;
}

static void describe_part(const struct ground_part *p, struct cgroup_at d, struct grant_answer *ret)
{
    int v2 = p->driver->version == 2;
    struct usage u = {0};
    p->driver->usage(d, p->controllers, &u);
    if (usage_has(&u, USAGE_CPU_USER) && usage_has(&u, USAGE_CPU_SYSTEM))
        ret->cpu_us = u.value[USAGE_CPU_USER] + u.value[USAGE_CPU_SYSTEM];
    if (p->controllers & CGROUP_BIT(CGROUP_MEMORY)) {
        uint64_t max = read_or(d, v2 ? "memory.max" : "memory.limit_in_bytes", GRANT_UNLIMITED);
        ret->memory = max < CGROUP_V1_UNLIMITED ? max : GRANT_UNLIMITED;
        ret->memory_now =
            read_or(d, v2 ? "memory.current" : "memory.usage_in_bytes", GRANT_UNLIMITED);
    }
    if (p->controllers & CGROUP_BIT(CGROUP_PIDS))
        ret->pids = read_or(d, "pids.max", GRANT_UNLIMITED);
}

void jobs_describe(const struct jobs *j, const struct job *job, struct grant_answer *ret)
{
    char buf[PATH_SIZE];
    pid_t *pids = NULL;
    ret->manager = job->manager;
    ret->uid = job->uid;
    ret->state = job->state;
    ret->pending = job->demand_state == JOB_DEMAND_ASKED;
    ret->memory = ret->pids = ret->memory_now = GRANT_UNLIMITED;
    snprintf(ret->job, sizeof(ret->job), "%s", job->name);
    snprintf(ret->text, sizeof(ret->text), "%s", job->reason);
    snprintf(ret->gpus, sizeof(ret->gpus), "%s", job->gpus);
    cores_describe(job, ret);
    for (size_t i = 0; i < j->ground->n; i++)
        describe_part(&j->ground->part[i], job_at(j, i, job, "", buf), ret);
    ssize_t n = at_pids(job_at(j, 0, job, "", buf), &pids);
    ret->processes = n > 0 ? (uint64_t)n : 0;
    if (job->bound && job->state == GRANT_RUNNING && n == 0)
        ret->state = GRANT_EXPECTED;
    free(pids);
}

/* ---- looking after them -----------------------------------------------------------------------
 */

int jobs_is_empty(const struct jobs *j, const struct job *job)
{
    char buf[PATH_SIZE];
    return j->ground->part[0].driver->populated(job_at(j, 0, job, "", buf)) == 0;
}

/* A manager may never forget a job (an execd told to keep its directories), or not be asked any
 * more: a cgroup that nobody is in is of no use, and made again when it is; but not with the limits
 * that root gave it. */
static int has_been_idle(const struct jobs *j, struct job *job)
{
    double now = loop_now();
    double most = job->awaited                 ? j->conf->bound_for
                  : job->manager == GRANT_SITE ? 0
                  : job->bound                 ? j->conf->bound_for
                                               : IDLE_S;
    if (!jobs_is_empty(j, job))
        job->idle = 0;
    else if (job->idle == 0)
        job->idle = now;
    return job->idle > 0 && now - job->idle >= most;
}

static int has_ended(const struct jobs *j, struct job *job)
{
    int known =
        job->manager == GRANT_SITE ? -1 : j->watch.is_known(j->watch.arg, job->manager, job->name);
    if (job->awaited && (known == 1 || !jobs_is_empty(j, job)))
        jobs_come(j, job);
    else if (job->awaited && known == 0 && j->watch.awaited)
        j->watch.awaited(j->watch.arg, job);
    return (known == 0 && !job->awaited) || has_been_idle(j, job);
}

void jobs_check(struct jobs *j)
{
    for (size_t i = 0; i < j->n; i++)
        if (j->job[i]->state == GRANT_RUNNING && has_ended(j, j->job[i]))
            job_end(j->job[i]);
    keep_checking(j);
}
