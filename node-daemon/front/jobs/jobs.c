/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.c - a job's cgroups: made, entered, described */
#include "node-daemon/front/jobs/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/must.h"
#include "node-daemon/front/jobs/jobs-private.h"

/* How often managers are asked about their jobs, and cgroups whether anybody is in them. A site's
 * job is made for a process, which is in it a moment later. */
static const double CHECK_S = 5, IDLE_S = 60, ENTER_S = 2;
enum { PATH_SIZE = CGROUP_NAME_MAX + 16, FIRST_STEP = 100 };

/* A cgroup below the job's: "", "/task", ... buf holds its name for as long as it is used. */
static struct cgroup_at job_at(const struct jobs *j, size_t part, const struct job *job,
                               const char *below, char *buf)
{
    snprintf(buf, PATH_SIZE, "%s%s", job->dir, below);
    return ground_at(j->ground, part, buf);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void check_all(struct jobs *j);

static void check_now(void *arg)
{
    check_all(arg);
}

/* Without jobs the timer rests. */
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

struct jobs *jobs_create(struct loop *l, struct start *start, const struct ground *g,
                         const struct conf *conf, const struct jobs_watch *watch, struct error *err)
{
    struct jobs *j = must(calloc(1, sizeof(*j)));
    *j = (struct jobs){.loop = l, .start = start, .ground = g, .conf = conf, .watch = *watch};
    loop_timer_init(&j->check, l, check_now, j);
    j->watches = watches_create(l);
    if (cores_open(j, err) == 0 && jobs_scan(j, err) == 0) {
        check_all(j);
        return j;
    }
    jobs_destroy(j);
    return NULL;
}

void jobs_destroy(struct jobs *j)
{
    if (!j)
        return;
    while (j->n > 0)
        jobs_forget(j, j->job[j->n - 1]);
    host_cores_free(&j->cores);
    loop_timer_stop(&j->check);
    watches_destroy(j->watches);
    free(j->job);
    free(j);
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

/* ---- making ---------------------------------------------------------------------------------- */

/* Ask the mover about a job: what it answers is in *a. */
int jobs_ask(const struct jobs *j, const struct job *job, struct mover_request *q,
             enum mover_op what, int fd, struct mover_answer *a, struct error *err)
{
    snprintf(q->dir, sizeof(q->dir), "%s", job->dir);
    return mover_ask(j->start, q, what, fd, a, err);
}

/* From here on a daemon that is started again knows it as this. */
static int mark(const struct jobs *j, const struct job *job, enum mover_mark as, struct error *err)
{
    struct mover_request q = {.mark = as};
    struct mover_answer a;
    return jobs_ask(j, job, &q, MOVER_MARK, -1, &a, err);
}

static int make_cgroups(const struct jobs *j, struct job *job, struct limits *limits,
                        struct error *err)
{
    struct mover_request q = {.uid = job->uid,
                              .limits = *limits,
                              .exclusive = j->conf->cores == CORES_EXCLUSIVE,
                              .descendants = (uint32_t)j->conf->max_descendants};
    struct mover_answer a;
    if (cores_text(job, q.text, sizeof(q.text)) < 0)
        return error_errno(err, E2BIG, "make the cgroup of job '%s'", job->name);
    if (jobs_ask(j, job, &q, MOVER_MAKE, -1, &a, err) < 0)
        return -1;
    *limits = a.limits;
    return cores_hold(job, (int)a.cpus_code, err);
}

static struct job *job_new(struct jobs *j, enum grant_manager manager, const char *name, uid_t uid)
{
    struct job *job = must(calloc(1, sizeof(*job)));
    *job = (struct job){.manager = manager, .uid = uid, .known = -1};
    snprintf(job->name, sizeof(job->name), "%s", name);
    job_dir_name(job);
    jobs_add(j, job);
    return job;
}

/* A lack of them is no reason to keep it from running: the manager has counted them. */
static void give_gpus(struct job *job, unsigned n)
{
    struct error e;
    if (jobs_set_gpus(job, n, &e) < 0)
        log_warn("%s", e.text);
}

struct job *jobs_make(struct jobs *j, enum grant_manager manager, struct evidence *e,
                      struct error *err)
{
    if (!grant_is_job_name(e->name))
        return error_null(error_errno(err, EINVAL, "make the cgroup of job '%s'", e->name));
    struct job *job = job_new(j, manager, e->name, e->uid);
    int rc = cores_choose(job, e, err);
    if (rc == 0)
        rc = make_cgroups(j, job, &e->limits, err);
    if (rc == 0) {
        cores_note(job);
        nodes_hold_memory(job);
        give_gpus(job, e->gpus);
        rc = mark(j, job, MARK_WHOLE, err);
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

/* Look at limits that change: that of processes stays what it was, or was at first. */
static const char *not_held(const struct limits *l)
{
    if (l->memory.set && !l->memory.held_by)
        return "memory";
    return l->memory.set && l->swap.set && !l->swap.held_by ? "swap" : NULL;
}

int jobs_set_limits(struct jobs *j, struct job *job, struct limits *limits, struct error *err)
{
    struct mover_request q = {.limits = *limits};
    struct mover_answer a;
    if (jobs_ask(j, job, &q, MOVER_LIMIT, -1, &a, err) < 0)
        return -1;
    *limits = a.limits;
    job->limits = *limits;
    nodes_hold_memory(job);
    const char *what = not_held(limits);
    return what ? error_set(err, ENOTSUP, "limit the %s of job %s: no cgroup of this host holds it",
                            what, job->name)
                : 0;
}

/* ---- bound by root --------------------------------------------------------------------------- */

/* A mark that cannot be set is missed by the next daemon only. */
static void mark_bound(const struct jobs *j, const struct job *job)
{
    struct error e;
    if (mark(j, job, job->awaited ? MARK_AWAITED : MARK_BOUND, &e) < 0)
        log_warn("job %s: %s", job->name, e.text);
}

void jobs_bind(struct jobs *j, struct job *job, int awaited)
{
    job->bound = 1;
    job->awaited = awaited;
    job->idle = awaited ? loop_now() : 0;
    mark_bound(j, job);
}

/* The job is there now: what its manager said of it before does not count any more. */
void jobs_come(const struct jobs *j, struct job *job)
{
    job->awaited = 0;
    job->idle = 0;
    job->known = -1;
    job->known_asked = 0;
    mark_bound(j, job);
}

int jobs_own(struct jobs *j, struct job *job, uid_t uid, struct error *err)
{
    struct mover_request q = {.uid = uid};
    struct mover_answer a;
    if (jobs_ask(j, job, &q, MOVER_OWN, -1, &a, err) < 0)
        return -1;
    job->uid = uid;
    return 0;
}

/* ---- who is in it, and who enters ------------------------------------------------------------ */

static struct job *find_directory(const struct jobs *j, const char *dir)
{
    for (size_t i = 0; i < j->n; i++)
        if (!strcmp(j->job[i]->dir, dir))
            return j->job[i];
    return NULL;
}

int jobs_of_peer(struct jobs *j, int connection, struct job **ret, char *part, size_t n,
                 struct error *err)
{
    struct mover_request q = {.uid = 0};
    struct mover_answer a;
    if (mover_ask(j->start, &q, MOVER_WHERE, connection, &a, err) < 0)
        return -1;
    *ret = a.dir[0] ? find_directory(j, a.dir) : NULL;
    snprintf(part, n, "%s", a.part);
    return 0;
}

int jobs_enter(struct jobs *j, struct job *job, int connection, enum mover_part part,
               struct error *err)
{
    struct mover_request q = {.part = part};
    struct mover_answer a;
    if (jobs_ask(j, job, &q, MOVER_ENTER, connection, &a, err) < 0)
        return -1;
    if (job->awaited)
        jobs_come(j, job);
    return 0;
}

int jobs_note(const struct jobs *j, const struct job *job, const char *name, const char *text)
{
    struct mover_request q = {.uid = 0};
    struct mover_answer a;
    snprintf(q.name, sizeof(q.name), "%s", name);
    snprintf(q.text, sizeof(q.text), "%s", text);
    return jobs_ask(j, job, &q, MOVER_NOTE, -1, &a, NULL);
}

ssize_t jobs_read_note(const struct jobs *j, const struct job *job, const char *name, char *buf,
                       size_t n)
{
    struct mover_request q = {.uid = 0};
    struct mover_answer a;
    snprintf(q.name, sizeof(q.name), "%s", name);
    if (jobs_ask(j, job, &q, MOVER_READ_NOTE, -1, &a, NULL) < 0)
        return -1;
    snprintf(buf, n, "%s", a.text);
    return (ssize_t)strlen(buf);
}

int jobs_user_place(const struct jobs *j, const struct job *job, char *buf, size_t n)
{
    const struct ground_part *p = &j->ground->part[0];
    if (p->driver->version != 2)
        return -1;
    int len = snprintf(buf, n, "%s/%s/u", p->path, job->dir);
    return len > 0 && (size_t)len < n ? len : -1;
}

/* ---- what it has and uses -------------------------------------------------------------------- */

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
    if (p->controllers & CGROUP_BIT(CGROUP_PIDS)) {
        ret->pids = read_or(d, "pids.max", GRANT_UNLIMITED);
        ret->processes = read_or(d, "pids.current", GRANT_UNLIMITED);
    }
}

/* By the kernel's counters: to walk through what a user made would take as long as it likes. */
void jobs_describe(const struct jobs *j, const struct job *job, struct grant_answer *ret)
{
    char buf[PATH_SIZE];
    ret->manager = job->manager;
    ret->uid = job->uid;
    ret->state = job->state;
    ret->pending = job->demand_state == JOB_DEMAND_ASKED;
    ret->memory = ret->pids = ret->memory_now = ret->processes = GRANT_UNLIMITED;
    snprintf(ret->job, sizeof(ret->job), "%s", job->name);
    snprintf(ret->text, sizeof(ret->text), "%s", job->reason);
    gpus_describe(job, ret);
    ret->lends = j->conf->lends;
    cores_describe(job, ret);
    loans_describe(job, ret);
    for (size_t i = 0; i < j->ground->n; i++)
        describe_part(&j->ground->part[i], job_at(j, i, job, "", buf), ret);
    if (job->bound && job->state == GRANT_RUNNING && jobs_is_empty(j, job))
        ret->state = GRANT_EXPECTED;
}

/* ---- looking after them ---------------------------------------------------------------------- */

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
                  : job->manager == GRANT_SITE ? (job->was_used ? 0 : ENTER_S)
                  : job->bound                 ? j->conf->bound_for
                                               : IDLE_S;
    if (!jobs_is_empty(j, job)) {
        job->idle = 0;
        job->was_used = 1;
    } else if (job->idle == 0)
        job->idle = now;
    return job->idle > 0 && now - job->idle >= most;
}

static int has_ended(struct jobs *j, struct job *job)
{
    int known = job->manager == GRANT_SITE ? -1 : job->known;
    if (job->awaited && (known == 1 || !jobs_is_empty(j, job))) {
        jobs_come(j, job);
        return 0;
    }
    if (job->awaited && known == 0 && j->watch.awaited)
        j->watch.awaited(j->watch.arg, job);
    return (known == 0 && !job->awaited) || has_been_idle(j, job);
}

static void check_one(struct jobs *j, struct job *job)
{
    if (job->state == GRANT_RUNNING && has_ended(j, job))
        job_end(job);
    else if (job->state == GRANT_RUNNING)
        loans_check(job);
}

void jobs_know(struct jobs *j, struct job *job, int known)
{
    job->known = known;
    check_one(j, job);
    keep_checking(j);
}

/* End what no manager knows any more, and what nobody is in. The reader takes some 200 questions at
 * once: each time others come first. */
static void check_all(struct jobs *j)
{
    j->first += FIRST_STEP;
    for (size_t i = 0; i < j->n; i++) {
        struct job *job = j->job[(j->first + i) % j->n];
        check_one(j, job);
        if (job->state == GRANT_RUNNING && job->manager != GRANT_SITE)
            j->watch.ask_known(j->watch.arg, job);
    }
    keep_checking(j);
}
