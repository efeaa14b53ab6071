/* SPDX-License-Identifier: BSD-3-Clause */
/* requests.c - place, token, enter, bind, status: checks rights, and answers
 *
 * A user may ask for a place in the job that the asking process is in, and about its own jobs. That
 * it is in the job is known from where it is (only root can have put it there, or into a part of it
 * that is the user's), or from what the job's manager wrote. Root may put itself into a job. No
 * request can name another process. */
#include "node-daemon/front/requests/requests.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/must.h"
#include "node-daemon/front/jobs/grants.h"
#include "node-daemon/front/quota.h"
#include "node-daemon/front/jobs/refine.h"
#include "node-daemon/front/jobs/sentinel.h"
#include "node-daemon/lib/ge-names.h"
#include "node-daemon/lib/trace.h"

static const double REFUSAL_LOG_S = 1;

static void refuse(struct requests *r, struct grant_answer *a, const struct client *peer,
                   const char *what, const struct error *why)
{
    grant_answer_init(a, GRANT_REFUSED, why->text);
    if (loop_now() - r->told < REFUSAL_LOG_S) {
        r->untold++;
        return;
    }
    log_note("%s refused to pid %d of user %u: %s", what, (int)peer->pid, (unsigned)peer->uid,
             why->text);
    if (r->untold)
        log_note("%u other refusals before it", r->untold);
    r->told = loop_now();
    r->untold = 0;
}

/* A user can be the cause, by removing what is its own. */
static void fail(struct requests *r, struct grant_answer *a, const struct client *peer,
                 const char *what, const struct error *why)
{
    grant_answer_init(a, GRANT_FAILED, why->text);
    r->failed += peer->uid != 0;
    if (peer->uid == 0 || r->failed <= 3)
        log_error("%s for pid %d of user %u: %s", what, (int)peer->pid, (unsigned)peer->uid,
                  why->text);
    else if (times_are_to_tell(r->failed))
        log_error("%s for pid %d of user %u: %s; so it was %llu times by now", what, (int)peer->pid,
                  (unsigned)peer->uid, why->text, (unsigned long long)r->failed);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* A limit of the manager's that no cgroup can hold here is held by nobody else's fault: the manager
 * has means of its own, and a job is not to be lost for it. Root who asks itself is told. Of the
 * limit of processes that nobody has asked for, mprund's own start has said what holds it. */
static int check_held(const struct job *job, const struct limits *asked, const struct limits *l,
                      struct error *err)
{
    const char *what = asked->memory.set && !l->memory.held_by ? "memory"
                       : asked->pids.set && !l->pids.held_by   ? "processes"
                                                               : NULL;
    if (!what)
        return 0;
    if (job->manager == GRANT_SITE)
        return error_set(err, ENOTSUP, "limit the %s of job %s: no cgroup of this host can", what,
                         job->name);
    log_warn("job %s: no cgroup of this host can limit its %s", job->name, what);
    return 0;
}

static int is_other(struct limit asked, uint64_t held, uint64_t unit)
{
    return asked.set && asked.value / unit != held / unit;
}

/* The limit in which the job, which is there already, differs from what was asked for; NULL: none.
 * The kernel holds memory in whole pages, and of a manager's job the limits are the manager's. */
static const char *other_limit(const struct requests *r, const struct job *job,
                               const struct evidence *e)
{
    const struct limits *asked = &e->limits;
    struct grant_answer has;
    uint32_t all, left;
    if (job->manager != GRANT_SITE)
        return NULL;
    grant_answer_init(&has, GRANT_OK, NULL);
    jobs_describe(r->jobs, job, &has);
    if (is_other(asked->memory, has.memory, (uint64_t)sysconf(_SC_PAGESIZE)))
        return "memory";
    if (is_other(asked->pids, has.pids, 1))
        return "processes";
    /* where none are chosen it could not have as many */
    bool is_counted = jobs_count_cores(r->jobs, &all, &left) == 0;
    return is_counted && e->cores && e->cores != has.cores ? "cores" : NULL;
}

/* Add what its manager says with one more of its tasks. */
static void add_task(struct job *job, const struct evidence *e)
{
    struct error why;
    if (jobs_add_task(job, e, &why) < 0)
        log_error("%s", why.text);
}

/* The job of this name that is to be entered; NULL, with 0: it is to be made. Who names other
 * limits than those of its beginning is not to believe that they hold; when its last process has
 * gone it has ended, whether that was noticed or not. */
static int find_job(struct requests *r, enum grant_manager manager, const struct evidence *e,
                    struct job **ret, struct error *err)
{
    *ret = jobs_find(r->jobs, manager, e->name);
    if (!*ret)
        return 0;
    if ((*ret)->uid == 0 && e->uid != 0 && jobs_own(r->jobs, *ret, e->uid, err) < 0)
        return -1;
    if (e->uid != 0 && (*ret)->uid != e->uid)
        return error_set(err, EPERM, "job %s is of another user here", e->name);
    const char *other = other_limit(r, *ret, e);
    if (!other) {
        add_task(*ret, e);
        return 0;
    }
    if (!jobs_is_empty(r->jobs, *ret) || (*ret)->awaited)
        return error_set(err, EEXIST,
                         "job %s is here already, with another limit of %s: enter it without "
                         "limits, or when it has ended",
                         e->name, other);
    job_end(*ret);
    *ret = NULL;
    return 0;
}

struct job *requests_job(struct requests *r, enum grant_manager manager, const struct evidence *e,
                         struct error *err)
{
    struct job *job;
    struct evidence known = *e;
    if (find_job(r, manager, e, &job, err) < 0)
        return NULL;
    if (job) {
        refine_learn(r->refine, job, e);
        refine_begin(r->refine, job, e);
        return job;
    }
    if (!known.limits.pids.set)
        known.limits.pids = share_pids(r->conf->pids_per_slot, known.cores);
    job = jobs_make(r->jobs, manager, &known, err);
    if (job && check_held(job, &e->limits, &known.limits, err) < 0) {
        job_end(job); /* nobody is to find it and enter it without its limit */
        return NULL;
    }
    if (!job)
        return NULL;
    log_note("job %s of user %u begins here", job->name, (unsigned)job->uid);
    if (known.twice[0])
        log_warn("job %s: its execd's config has '%s' more than once, perhaps by its user: %s",
                 job->name, known.twice,
                 known.uid ? "the smallest holds, or none" : "no user gets a place in it");
    trace("make job=%s uid=%u cgroup=%s", job->name, (unsigned)job->uid, job->dir);
    return job;
}

/* ---- place ----------------------------------------------------------------------------------- */

static void give_place(struct requests *r, struct job *job, const struct client *peer,
                       struct grant_answer *a)
{
    if (times_are_to_tell(++job->asked))
        trace("asked job=%s pid=%d times=%llu", job->name, (int)peer->pid,
              (unsigned long long)job->asked);
    sentinel_put(r->sentinels, job);
    grant_answer_init(a, GRANT_OK, NULL);
    jobs_describe(r->jobs, job, a);
    a->controllers = r->ground->part[0].driver->version == 2 ? r->ground->part[0].controllers : 0;
    if (jobs_user_place(r->jobs, job, a->v2, sizeof(a->v2)) < 0)
        a->v2[0] = 0;
}

static int is_in_step(const char *part)
{
    return !strncmp(part, "u/", 2) && strcmp(part, "u/home") != 0;
}

/* From the job's own part to the user's; who is there already stays. */
static void place_in(struct requests *r, const struct client *peer, struct job *job,
                     const char *part, struct grant_answer *a)
{
    struct error e;
    if (is_in_step(part)) {
        grant_answer_init(a, GRANT_INSIDE, "this process is in the cgroup of a step already");
        return;
    }
    if (strcmp(part, "u/home") != 0 && jobs_enter(r->jobs, job, peer->fd, PART_HOME, &e) < 0)
        fail(r, a, peer, "place", &e);
    else
        give_place(r, job, peer, a);
}

/* The reader's word on a job, with what its grant says where it brought one. */
static struct evidence take_evidence(struct requests *r, const struct reader_answer *said)
{
    struct evidence e = said->evidence;
    grants_take(r->start, r->conf, said->grant, &e);
    return e;
}

/* The job that the asking process proves to be in, made if need be. 1: it is there, or the answer
 * says why not; 0: not yet. */
static int proven_job(struct requests *r, struct client *peer, const char *what, struct job **ret,
                      struct grant_answer *a)
{
    struct error e;
    const struct finding *f;
    struct reader_request q = {.manager = GRANT_ANY};
    if (!findings_get(&peer->found, FIND_PROOF, READER_PROVE, &q, peer->fd, &f))
        return 0;
    if (finding_failed(f, &e)) {
        refuse(r, a, peer, what, &e);
        return 1;
    }
    struct evidence proof = take_evidence(r, f->answer);
    *ret = requests_job(r, (enum grant_manager)f->answer->manager, &proof, &e);
    if (!*ret)
        fail(r, a, peer, what, &e);
    return 1;
}

/* The job that the asking process is in, made if need be, and in which part of it. 1: *ret, or NULL
 * where the answer says why not; 0: not yet. */
static int job_of_peer(struct requests *r, struct client *peer, const char *what, struct job **ret,
                       char *part, size_t n, struct grant_answer *a)
{
    struct error e;
    struct job *job = NULL;
    *ret = NULL;
    if (jobs_of_peer(r->jobs, peer->fd, &job, part, n, &e) == 0) {
        if (!job)
            return proven_job(r, peer, what, ret, a);
        if (job->uid == peer->uid && job->state == GRANT_RUNNING) {
            *ret = job;
            return 1;
        }
        error_set(&e, EPERM, "the job that this process is in %s",
                  job->uid == peer->uid ? "has ended"
                  : job->uid            ? "is another user's"
                                        : "is nobody's: its owner is not clear");
    }
    refuse(r, a, peer, what, &e);
    return 1;
}

static int place(struct requests *r, struct client *peer, struct grant_answer *a)
{
    char part[MOVER_PART_MAX] = "";
    struct job *job;
    if (!job_of_peer(r, peer, "place", &job, part, sizeof(part), a))
        return 0;
    if (job)
        place_in(r, peer, job, part, a);
    return 1;
}

/* ---- devices --------------------------------------------------------------------------------- */

static int hold_devices(struct requests *r, struct client *peer, const struct grant_request *q,
                        struct grant_answer *a)
{
    struct error e;
    char part[MOVER_PART_MAX] = "";
    struct job *job;
    if (!job_of_peer(r, peer, "devices", &job, part, sizeof(part), a))
        return 0;
    if (job)
        grant_answer_init(a, GRANT_OK, NULL);
    if (job && jobs_hold_gpus(job, q->cgroup, q->ids, &e) < 0)
        fail(r, a, peer, "devices", &e);
    return 1;
}

/* ---- suspended ------------------------------------------------------------------------------- */

static int suspended(struct requests *r, struct client *peer, const struct grant_request *q,
                     struct grant_answer *a)
{
    struct error e;
    char part[MOVER_PART_MAX] = "", gpus[GRANT_GPUS_MAX] = "";
    struct job *job;
    if (!job_of_peer(r, peer, "suspension", &job, part, sizeof(part), a))
        return 0;
    if (!job)
        return 1;
    grant_answer_init(a, GRANT_OK, NULL);
    if (jobs_lend(job, q->cgroup, q->cpus, q->ids, &e) < 0) {
        fail(r, a, peer, "suspension", &e);
        return 1;
    }
    jobs_describe(r->jobs, job, a);
    jobs_gpus_of_others(job, gpus, sizeof(gpus));
    snprintf(a->text, sizeof(a->text), "%s", gpus);
    return 1;
}

/* ---- token ----------------------------------------------------------------------------------- */

/* On the host of the job's script, where its manager can be asked, and only there. 1 with *ret, or
 * with err; 0: not yet. */
static int sign(struct requests *r, struct client *peer, struct job *job, struct grant_answer **ret,
                size_t *ret_n, struct error *err)
{
    const struct finding *master, *hosts;
    struct reader_request q = {.manager = job->manager};
    snprintf(q.job, sizeof(q.job), "%s", job->name);
    if (job->manager != GRANT_GRIDENGINE || !r->conf->ge_spool || !r->conf->grant_key) {
        error_set(err, ENOTSUP,
                  "mprund signs no grants: no manager or grant_key is in its configuration");
        return 1;
    }
    if (!findings_get(&peer->found, FIND_JOB, READER_LOOK_UP, &q, -1, &master) ||
        !findings_get(&peer->found, FIND_HOSTS, READER_HOSTS, &q, -1, &hosts))
        return 0;
    if (finding_failed(master, err)) {
        error_context(err, "grants are for the host of the job's script to sign");
        return 1;
    }
    refine_begin(r->refine, job, &master->answer->evidence);
    if (job->demand_state == JOB_DEMAND_ASKED)
        return 0;
    if (job->demand_state != JOB_DEMAND_KNOWN)
        error_set(err, ENOENT, "what job %s asks for is not known here", job->name);
    else
        *ret = grants_sign(r->start, r->conf, job, hosts, ret_n, err);
    return 1;
}

/* NULL: not yet. Else a, or others in its place. */
static struct grant_answer *token(struct requests *r, struct client *peer, struct grant_answer *a,
                                  size_t *ret_n)
{
    struct error e;
    struct job *job;
    struct grant_answer *signed_ones = NULL;
    char part[MOVER_PART_MAX];
    if (!job_of_peer(r, peer, "grant", &job, part, sizeof(part), a) ||
        (job && !sign(r, peer, job, &signed_ones, ret_n, &e))) {
        free(a);
        return NULL;
    }
    if (signed_ones) {
        free(a);
        return signed_ones;
    }
    if (job)
        grant_answer_init(a, GRANT_REFUSED, e.text);
    return a;
}

/* ---- enter ----------------------------------------------------------------------------------- */

static void take_limit(uint64_t value, struct limit *ret)
{
    *ret = (struct limit){.set = value != GRANT_UNLIMITED, .value = value};
}

static int site_job(const struct grant_request *q, struct evidence *ret, struct error *err)
{
    if (!grant_is_job_name(q->job) || q->uid == 0 || q->memory == 0 || q->pids == 0)
        return error_set(err, EINVAL,
                         "enter a job: a name, a user other than root, and limits above 0 are "
                         "wanted");
    memset(ret, 0, sizeof(*ret));
    snprintf(ret->name, sizeof(ret->name), "%s", q->job);
    ret->uid = q->uid;
    take_limit(q->memory, &ret->limits.memory);
    take_limit(q->pids, &ret->limits.pids);
    ret->cores = q->cores;
    ret->gpus = q->gpus;
    ret->limits.swap = (struct limit){.set = ret->limits.memory.set};
    return 0;
}

/* A job that its manager wrote of, or that mprund cannot read of in time: that one is contained all
 * the same, as nobody's. 1 with *ret; 0: not yet; -1 with err. */
static int managers_job(struct requests *r, struct client *peer, const struct grant_request *q,
                        struct evidence *ret, struct error *err)
{
    const struct finding *f;
    struct reader_request ask = {.manager = q->manager};
    if (q->manager != GRANT_GRIDENGINE || !r->conf->ge_spool)
        return error_set(err, ENOTSUP, "enter a job: its manager is not in mprund's configuration");
    if (!ge_is_job(q->job) || (q->task[0] && !ge_is_task(q->task)))
        return error_set(err, EINVAL, "look up job '%s', task '%s': not names of Grid Engine's",
                         q->job, q->task);
    snprintf(ask.job, sizeof(ask.job), "%s", q->job);
    snprintf(ask.task, sizeof(ask.task), "%s", q->task);
    if (!findings_get(&peer->found, FIND_TASK, READER_LOOK_UP, &ask, -1, &f))
        return 0;
    if (f->n == 0) {
        log_warn("job %s: what its execd wrote cannot be read in time: it is contained as nobody's",
                 q->job);
        *ret = (struct evidence){.uid = 0};
        snprintf(ret->name, sizeof(ret->name), "%s", q->job);
        return 1;
    }
    if (finding_failed(f, err))
        return -1;
    *ret = take_evidence(r, f->answer);
    return 1;
}

static int enter(struct requests *r, struct client *peer, const struct grant_request *q,
                 struct grant_answer *a)
{
    struct error e;
    struct evidence known;
    struct job *job = NULL;
    if (peer->uid != 0) {
        error_set(&e, EPERM, "only root enters a job: a user asks for a place in its own");
        refuse(r, a, peer, "enter", &e);
        return 1;
    }
    int rc = q->manager == GRANT_SITE ? (site_job(q, &known, &e) == 0 ? 1 : -1)
                                      : managers_job(r, peer, q, &known, &e);
    if (rc == 0)
        return 0;
    if (rc < 0)
        refuse(r, a, peer, "enter", &e);
    else if (!(job = requests_job(r, q->manager, &known, &e)) ||
             jobs_enter(r->jobs, job, peer->fd, PART_TASK, &e) < 0)
        fail(r, a, peer, "enter", &e);
    else
        give_place(r, job, peer, a);
    return 1;
}

/* ---- bind ------------------------------------------------------------------------------------ */

/* The job, made when it is not here: its processes may come later. 1: *ret, or NULL with err; 0:
 * not yet. */
static int job_to_bind(struct requests *r, struct client *peer, const struct grant_request *q,
                       struct job **ret, struct error *err)
{
    struct evidence known;
    enum grant_manager manager;
    struct job *job = bind_find(r->jobs, q);
    *ret = NULL;
    if (job && q->uid && job->uid && job->uid != q->uid) {
        error_set(err, EPERM, "job %s is of another user here", job->name);
        return 1;
    }
    if (job && q->uid && !job->uid && jobs_own(r->jobs, job, q->uid, err) < 0)
        return 1;
    if ((*ret = job))
        return 1;
    int is_known = bind_describe(&peer->found, r->conf, q, &known, &manager, err);
    if (is_known == BIND_NOT_YET)
        return 0;
    if (is_known == 0 && q->bind == GRANT_BIND_HAVE)
        error_set(err, ESRCH, "job %s is not here, and no manager has written of it", q->job);
    if (is_known < 0 || (is_known == 0 && q->bind == GRANT_BIND_HAVE))
        return 1;
    *ret = job = requests_job(r, manager, &known, err);
    if (job && q->bind != GRANT_BIND_HAVE)
        jobs_bind(r->jobs, job, !is_known);
    return 1;
}

static int forget(struct requests *r, const struct grant_request *q, struct error *err)
{
    struct job *job = bind_find(r->jobs, q);
    if (!job)
        return 0;
    if (!jobs_is_empty(r->jobs, job))
        return error_set(err, EBUSY, "processes of job %s are here: it ends with them", job->name);
    job_end(job);
    return 0;
}

/* Find what the manager's own daemon may use, where that is asked for. 1, or 0: not yet. */
static int find_own_limit(struct client *peer, const struct grant_request *q, struct limit *ret)
{
    const struct finding *f;
    struct reader_request ask = {.manager = GRANT_GRIDENGINE};
    *ret = (struct limit){.set = 0};
    if (q->bind != GRANT_BIND_UNLIMIT)
        return 1;
    if (!findings_get(&peer->found, FIND_LIMIT, READER_OWN_LIMIT, &ask, -1, &f))
        return 0;
    if (!finding_failed(f, NULL))
        *ret = f->answer->own_limit;
    return 1;
}

static int bind_job(struct requests *r, struct client *peer, const struct grant_request *q,
                    struct grant_answer *a)
{
    struct error e, left = {.text = ""};
    struct job *job = NULL;
    struct limit own;
    int rc = 0;
    grant_answer_init(a, GRANT_OK, NULL);
    if (peer->uid != 0) {
        error_set(&e, EPERM, "only root gives a job its limits");
        refuse(r, a, peer, "bind", &e);
        return 1;
    }
    if (!find_own_limit(peer, q, &own))
        return 0;
    if (q->bind == GRANT_BIND_FORGET)
        rc = forget(r, q, &e);
    else if (!job_to_bind(r, peer, q, &job, &e))
        return 0;
    else if (!job)
        rc = -1;
    else if (q->bind != GRANT_BIND_HAVE &&
             (rc = bind_limits(r->jobs, r->conf, &own, job, q, &left, &e)) < 0 && job->awaited)
        job_end(job); /* nobody is to find it without its limits */
    trace("bind job=%s what=%u memory=%llu cores=%u result=%d", q->job, (unsigned)q->bind,
          (unsigned long long)q->memory, (unsigned)q->cores, rc);
    if (rc < 0)
        fail(r, a, peer, "bind", &e);
    else if (job)
        jobs_describe(r->jobs, job, a);
    if (rc == 0 && left.text[0])
        snprintf(a->text, sizeof(a->text), "%s", left.text);
    return 1;
}

/* ---- status ---------------------------------------------------------------------------------- */

static size_t status(struct requests *r, const struct client *peer, struct grant_answer *a)
{
    size_t n = 0;
    uint32_t stuck = 0;
    bool is_all = peer->uid == 0 || peer->uid == geteuid(); /* which is mprund's own user */
    for (size_t i = 0; i < jobs_count(r->jobs); i++) {
        const struct job *job = jobs_at(r->jobs, i);
        stuck += job->state == GRANT_STUCK;
        if (!is_all && job->uid != peer->uid)
            continue;
        grant_answer_init(&a[n], GRANT_MORE, NULL);
        jobs_describe(r->jobs, job, &a[n++]);
    }
    grant_answer_init(&a[n], GRANT_OK, NULL);
    a[n].jobs = (uint32_t)jobs_count(r->jobs);
    a[n].stuck = stuck;
    if (jobs_count_cores(r->jobs, &a[n].cores_total, &a[n].cores_free) < 0)
        a[n].cores_total = a[n].cores_free = GRANT_UNKNOWN;
    return n + 1;
}

struct grant_answer *requests_answer(struct requests *r, struct client *peer,
                                     const struct grant_request *q, size_t *ret_n)
{
    size_t most = q->op == GRANT_STATUS ? jobs_count(r->jobs) + 1 : 1;
    struct grant_answer *a = must(calloc(most, sizeof(*a)));
    *ret_n = 1;
    if (q->op == GRANT_TOKEN)
        return token(r, peer, a, ret_n);
    int done = q->op == GRANT_PLACE       ? place(r, peer, a)
               : q->op == GRANT_DEVICES   ? hold_devices(r, peer, q, a)
               : q->op == GRANT_SUSPENDED ? suspended(r, peer, q, a)
               : q->op == GRANT_ENTER     ? enter(r, peer, q, a)
               : q->op == GRANT_BIND      ? bind_job(r, peer, q, a)
                                          : 1;
    if (q->op == GRANT_STATUS)
        *ret_n = status(r, peer, a);
    if (done)
        return a;
    free(a);
    return NULL;
}
