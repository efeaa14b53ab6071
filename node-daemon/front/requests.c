/* SPDX-License-Identifier: BSD-3-Clause */
/* requests.c - place, token, enter, bind, status: who may have what
 *
 * A user may ask for a place in the job that the asking process is in, and about its own jobs. That
 * it is in the job is known from where it is (only root can have put it there, or into a part of it
 * that is the user's), or from what the job's manager wrote. Root may put itself into a job. Nobody
 * can name another process. */
#include "node-daemon/front/requests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "node-daemon/front/bind.h"
#include "node-daemon/reader/grants.h"
#include "node-daemon/front/refine.h"
#include "node-daemon/front/sentinel.h"
#include "node-daemon/lib/trace.h"

static const double REFUSAL_LOG_S = 1;

void answer_init(struct grant_answer *a, enum grant_result result, const char *text)
{
    memset(a, 0, sizeof(*a));
    a->magic = GRANT_MAGIC;
    a->version = GRANT_VERSION;
    a->result = (uint16_t)result;
    if (text)
        snprintf(a->text, sizeof(a->text), "%s", text);
}

static void refuse(struct requests *r, struct grant_answer *a, const struct peer *peer,
                   const char *what, const struct error *why)
{
    answer_init(a, GRANT_REFUSED, why->text);
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

/* What users can cause is told the first few times, then when there are ten times as many. */
static int is_to_tell(uint64_t times)
{
    uint64_t power = 10;
    while (power < times)
        power *= 10;
    return times <= 3 || times == power;
}

/* A user can be the cause, by removing what is its own. */
static void fail(struct requests *r, struct grant_answer *a, const struct peer *peer,
                 const char *what, const struct error *why)
{
    answer_init(a, GRANT_FAILED, why->text);
    r->failed += peer->uid != 0;
    if (peer->uid == 0 || r->failed <= 3)
        log_error("%s for pid %d of user %u: %s", what, (int)peer->pid, (unsigned)peer->uid,
                  why->text);
    else if (is_to_tell(r->failed))
        log_error("%s for pid %d of user %u: %s; so it was %llu times by now", what, (int)peer->pid,
                  (unsigned)peer->uid, why->text, (unsigned long long)r->failed);
}

/* ---- making -----------------------------------------------------------------------------------
 */

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

/* What the job, which is there already, has another limit of than was asked for; NULL: nothing. The
 * kernel holds memory in whole pages, and of a manager's job the limits are the manager's. */
static const char *other_limit(const struct requests *r, const struct job *job,
                               const struct evidence *e)
{
    const struct limits *asked = &e->limits;
    struct grant_answer has;
    if (job->manager != GRANT_SITE)
        return NULL;
    answer_init(&has, GRANT_OK, NULL);
    jobs_describe(r->jobs, job, &has);
    if (is_other(asked->memory, has.memory, (uint64_t)sysconf(_SC_PAGESIZE)))
        return "memory";
    if (is_other(asked->pids, has.pids, 1))
        return "processes";
    return e->cores && e->cores != has.cores ? "cores" : NULL;
}

/* What more its manager says with one more of its tasks. */
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
    if (known.twice)
        log_warn("job %s: its execd's config has '%s' more than once, perhaps by its user: %s",
                 job->name, known.twice,
                 known.uid ? "the smallest holds, or none" : "no user gets a place in it");
    trace("make job=%s uid=%u cgroup=%s", job->name, (unsigned)job->uid, job->dir);
    return job;
}

/* ---- place ------------------------------------------------------------------------------------
 */

static void give_place(struct requests *r, struct job *job, const struct peer *peer,
                       struct grant_answer *a)
{
    if (is_to_tell(++job->asked))
        trace("asked job=%s pid=%d times=%llu", job->name, (int)peer->pid,
              (unsigned long long)job->asked);
    sentinel_put(r->sentinels, job);
    answer_init(a, GRANT_OK, NULL);
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
static void place_in(struct requests *r, const struct peer *peer, struct job *job, const char *part,
                     struct grant_answer *a)
{
    struct error e;
    if (is_in_step(part)) {
        answer_init(a, GRANT_INSIDE, "this process is in the cgroup of a step already");
        return;
    }
    if (strcmp(part, "u/home") != 0 && jobs_enter(r->jobs, job, peer, JOB_HOME, &e) < 0)
        fail(r, a, peer, "place", &e);
    else
        give_place(r, job, peer, a);
}

/* The job that the asking process is in, made if need be, and in which part of it, for the caller
 * to free. NULL: the answer says why. */
static struct job *job_of_peer(struct requests *r, const struct peer *peer, const char *what,
                               char **ret_part, struct grant_answer *a)
{
    struct error e;
    struct evidence proof;
    enum grant_manager manager;
    struct job *job = jobs_of_process(r->jobs, peer->pid, ret_part);
    if (job && !peer_is_alive(peer)) { /* what was read was perhaps another's */
        error_set(&e, ESRCH, "the process has ended");
    } else if (job && (job->uid != peer->uid || job->state != GRANT_RUNNING)) {
        error_set(&e, EPERM, "the job that this process is in %s",
                  job->uid == peer->uid ? "has ended"
                  : job->uid            ? "is another user's"
                                        : "is nobody's: its owner is not clear");
    } else if (job) {
        return job;
    } else if (evidence_prove(r->conf, peer, &proof, &manager, &e) == 0) {
        job = requests_job(r, manager, &proof, &e);
        if (!job)
            fail(r, a, peer, what, &e);
        return job;
    }
    refuse(r, a, peer, what, &e);
    return NULL;
}

static void place(struct requests *r, const struct peer *peer, struct grant_answer *a)
{
    AUTO_FREE char *part = NULL;
    struct job *job = job_of_peer(r, peer, "place", &part, a);
    if (job)
        place_in(r, peer, job, part ? part : "", a);
}

/* ---- token ------------------------------------------------------------------------------------
 */

/* On the host of the job's script, where its manager can be asked, and only there. 0 with *ret_n
 * the answers (0: not yet), or -1 with err. */
static int sign(struct requests *r, struct job *job, struct grant_answer **ret, size_t *ret_n,
                struct error *err)
{
    struct evidence e;
    const struct evidence_source *s = evidence_of(r->conf, job->manager);
    if (!s || !r->conf->key.set)
        return error_set(err, ENOTSUP,
                         "mprund signs no grants: no manager or grant_key is in its "
                         "configuration");
    if (s->look_up(r->conf, job->name, "", &e, err) < 0)
        return error_context(err, "grants are for the host of the job's script to sign");
    refine_begin(r->refine, job, &e);
    *ret_n = 0;
    if (job->demand_state == JOB_DEMAND_ASKED)
        return 0;
    if (job->demand_state != JOB_DEMAND_KNOWN)
        return error_set(err, ENOENT, "what job %s asks for is not known here", job->name);
    *ret = grants_sign(r->conf, job, ret_n, err);
    return *ret ? 0 : -1;
}

/* NULL: not yet, with *ret_n 0. Else a, or others in its place. */
static struct grant_answer *token(struct requests *r, const struct peer *peer,
                                  struct grant_answer *a, size_t *ret_n)
{
    struct error e;
    struct grant_answer *signed_ones = NULL;
    AUTO_FREE char *part = NULL;
    struct job *job = job_of_peer(r, peer, "grant", &part, a);
    if (!job)
        return a;
    if (sign(r, job, &signed_ones, ret_n, &e) == 0) {
        free(a);
        return signed_ones;
    }
    *ret_n = 1;
    answer_init(a, GRANT_REFUSED, e.text);
    return a;
}

/* ---- enter ------------------------------------------------------------------------------------
 */

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

static int managers_job(struct requests *r, const struct grant_request *q, struct evidence *ret,
                        struct error *err)
{
    const struct evidence_source *s = evidence_of(r->conf, q->manager);
    if (!s)
        return error_set(err, ENOTSUP, "enter a job: its manager is not in mprund's configuration");
    return s->look_up(r->conf, q->job, q->task, ret, err);
}

static void enter(struct requests *r, const struct peer *peer, const struct grant_request *q,
                  struct grant_answer *a)
{
    struct error e;
    struct evidence known;
    struct job *job = NULL;
    if (peer->uid != 0) {
        error_set(&e, EPERM, "only root enters a job: a user asks for a place in its own");
        refuse(r, a, peer, "enter", &e);
        return;
    }
    int rc = q->manager == GRANT_SITE ? site_job(q, &known, &e) : managers_job(r, q, &known, &e);
    if (rc < 0)
        refuse(r, a, peer, "enter", &e);
    else if (!(job = requests_job(r, q->manager, &known, &e)) ||
             jobs_enter(r->jobs, job, peer, JOB_TASK, &e) < 0)
        fail(r, a, peer, "enter", &e);
    else
        give_place(r, job, peer, a);
}

/* ---- bind -------------------------------------------------------------------------------------
 */

/* The job, made when it is not here: its processes may come later. */
static struct job *job_to_bind(struct requests *r, const struct grant_request *q, struct error *err)
{
    struct evidence known;
    enum grant_manager manager;
    struct job *job = bind_find(r->jobs, q);
    if (job && q->uid && job->uid && job->uid != q->uid) {
        error_set(err, EPERM, "job %s is of another user here", job->name);
        return NULL;
    }
    if (job && q->uid && !job->uid && jobs_own(r->jobs, job, q->uid, err) < 0)
        return NULL;
    if (job)
        return job;
    int is_known = bind_describe(r->conf, q, &known, &manager, err);
    if (is_known == 0 && q->bind == GRANT_BIND_HAVE)
        error_set(err, ESRCH, "job %s is not here, and no manager has written of it", q->job);
    if (is_known < 0 || (is_known == 0 && q->bind == GRANT_BIND_HAVE))
        return NULL;
    job = requests_job(r, manager, &known, err);
    if (job && q->bind != GRANT_BIND_HAVE)
        jobs_bind(r->jobs, job, !is_known);
    return job;
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

static void bind_job(struct requests *r, const struct peer *peer, const struct grant_request *q,
                     struct grant_answer *a)
{
    struct error e, left = {.text = ""};
    struct job *job = NULL;
    int rc = 0;
    answer_init(a, GRANT_OK, NULL);
    if (peer->uid != 0) {
        error_set(&e, EPERM, "only root gives a job its limits");
        refuse(r, a, peer, "bind", &e);
        return;
    }
    if (q->bind == GRANT_BIND_FORGET)
        rc = forget(r, q, &e);
    else if (!(job = job_to_bind(r, q, &e)))
        rc = -1;
    else if (q->bind != GRANT_BIND_HAVE &&
             (rc = bind_limits(r->jobs, r->conf, job, q, &left, &e)) < 0 && job->awaited)
        job_end(job); /* nobody is to find it without its limits */
    trace("bind job=%s what=%u memory=%llu cores=%u result=%d", q->job, (unsigned)q->bind,
          (unsigned long long)q->memory, (unsigned)q->cores, rc);
    if (rc < 0)
        fail(r, a, peer, "bind", &e);
    else if (job)
        jobs_describe(r->jobs, job, a);
    if (rc == 0 && left.text[0])
        snprintf(a->text, sizeof(a->text), "%s", left.text);
}

/* ---- status -----------------------------------------------------------------------------------
 */

static size_t status(struct requests *r, const struct peer *peer, struct grant_answer *a)
{
    size_t n = 0;
    uint32_t stuck = 0;
    for (size_t i = 0; i < jobs_count(r->jobs); i++) {
        const struct job *job = jobs_at(r->jobs, i);
        stuck += job->state == GRANT_STUCK;
        if (peer->uid != 0 && job->uid != peer->uid)
            continue;
        answer_init(&a[n], GRANT_MORE, NULL);
        jobs_describe(r->jobs, job, &a[n++]);
    }
    answer_init(&a[n], GRANT_OK, NULL);
    a[n].jobs = (uint32_t)jobs_count(r->jobs);
    a[n].stuck = stuck;
    if (jobs_count_cores(r->jobs, &a[n].cores_total, &a[n].cores_free) < 0)
        a[n].cores_total = a[n].cores_free = GRANT_UNKNOWN;
    return n + 1;
}

struct grant_answer *requests_answer(struct requests *r, const struct peer *peer,
                                     const struct grant_request *q, size_t *ret_n)
{
    size_t most = q->op == GRANT_STATUS ? jobs_count(r->jobs) + 1 : 1;
    struct grant_answer *a = calloc(most, sizeof(*a));
    *ret_n = 1;
    if (!a)
        return NULL;
    if (q->op == GRANT_TOKEN)
        return token(r, peer, a, ret_n);
    if (q->op == GRANT_PLACE)
        place(r, peer, a);
    else if (q->op == GRANT_ENTER)
        enter(r, peer, q, a);
    else if (q->op == GRANT_BIND)
        bind_job(r, peer, q, a);
    else
        *ret_n = status(r, peer, a);
    return a;
}
