/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/front/jobs/refine.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "node-daemon/lib/trace.h"

static const char note[] = "demand";
enum { TRIES = 3 };
static const double LAST_TIMES = 10; /* as long as to the second try, to the last one */

/* ---- beside the job -------------------------------------------------------------------------- */

static void keep(const struct refine *r, const struct job *job)
{
    uint8_t bytes[DEMAND_BYTES];
    char hex[2 * DEMAND_BYTES + 1];
    demand_put(&job->demand, bytes);
    sodium_bin2hex(hex, sizeof(hex), bytes, sizeof(bytes));
    if (jobs_note(r->jobs, job, note, hex) < 0)
        log_debug("job %s: keep what it asks for: %s", job->name, strerror(errno));
}

static int find_kept(const struct refine *r, struct job *job)
{
    uint8_t bytes[DEMAND_BYTES];
    char hex[2 * DEMAND_BYTES + 2];
    size_t n = 0;
    ssize_t len = jobs_read_note(r->jobs, job, note, hex, sizeof(hex));
    return len == 2 * DEMAND_BYTES &&
           sodium_hex2bin(bytes, sizeof(bytes), hex, (size_t)len, NULL, &n, NULL) == 0 &&
           n == sizeof(bytes) && demand_get(bytes, &job->demand) == 0;
}

/* ---- what follows from it -------------------------------------------------------------------- */

static void know(struct job *job, const struct demand *d)
{
    job->demand = *d;
    job->demand_state = JOB_DEMAND_KNOWN;
}

/* The demand, whether a cgroup of this host holds it or not. */
static void tell(const struct job *job, const struct limits *l, const struct share *share,
                 const char *by)
{
    char memory[16];
    unsigned long long bytes = l->memory.set ? l->memory.value : 0;
    unsigned long long swap = l->swap.set ? l->swap.value : 0;
    trace("limit job=%s by=%s slots=%u memory=%llu swap=%llu", job->name, by,
          (unsigned)share->slots, bytes, swap);
    if (bytes)
        log_note("job %s may use %s of memory on this host, which has %u of its slots (%s)",
                 job->name, size_format(bytes, memory, sizeof(memory)), (unsigned)share->slots, by);
}

/* limits: of memory */
static void limit(struct refine *r, struct job *job, struct limits limits, const char *by)
{
    struct error e;
    limits.pids = share_pids(r->conf->pids_per_slot, job->share.slots);
    tell(job, job->bound ? &job->limits : &limits, &job->share, job->bound ? "mpbind" : by);
    if (!job->bound && jobs_set_limits(r->jobs, job, &limits, &e) < 0)
        log_warn("%s", e.text);
}

static void apply(struct refine *r, struct job *job, const char *by)
{
    struct error e;
    limit(r, job, share_limits(&job->share, &job->demand), by);
    if (jobs_set_gpus(job, share_gpus(&job->share, &job->demand), &e) < 0)
        log_warn("%s", e.text);
}

/* ---- where it is not known ------------------------------------------------------------------- */

/* A core's part of the memory of this host, which a slot mostly is. */
static uint64_t memory_of_core(const struct jobs *j)
{
    uint32_t cores, left;
    uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
    if (jobs_count_cores(j, &cores, &left) < 0 || cores == 0)
        cores = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) / cores;
}

/* A user who hides a job's demand from mprund must not get more by that. */
static void apply_default(struct refine *r, struct job *job)
{
    const struct conf *c = r->conf;
    uint64_t per_slot = c->memory_per_slot;
    if (per_slot == CONF_MEMORY_AUTO)
        per_slot = c->ge_qstat || c->grant_key ? memory_of_core(r->jobs) : 0;
    if (per_slot)
        limit(r, job, share_limits_by_default(&job->share, per_slot), "default");
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct question { /* whose answer is to come */
    struct refine *refine;
    char job[GRANT_JOB_MAX];
};

static int ask(struct refine *r, const struct job *job, enum reader_op what, reader_fn fn,
               struct error *err)
{
    struct reader_request q = {.manager = job->manager};
    AUTO_FREE struct question *own = must(calloc(1, sizeof(*own)));
    own->refine = r;
    snprintf(own->job, sizeof(own->job), "%s", job->name);
    snprintf(q.job, sizeof(q.job), "%s", job->name);
    if (reader_ask(r->reader, 0, what, &q, -1, fn, own, NULL, err) < 0)
        return -1;
    (void)take_ptr(own); /* fn frees it */
    return 0;
}

static int is_to_ask_again(const struct job *job)
{
    return job->state == GRANT_RUNNING && job->demand_state == JOB_DEMAND_UNKNOWN &&
           job->demand_tries < TRIES;
}

static void put_off(struct refine *r, struct job *job)
{
    if (job->demand_tries == 1)
        apply_default(r, job);
    double pause = r->conf->retry * (job->demand_tries < TRIES - 1 ? 1 : LAST_TIMES);
    job->demand_state = JOB_DEMAND_UNKNOWN;
    job->demand_again = loop_now() + pause;
    if (is_to_ask_again(job) && !loop_timer_is_active(&r->later))
        loop_timer_start(&r->later, r->conf->retry, r->conf->retry);
}

/* A job that root bound before it came, and that its manager was asked about for that. */
static void end_if_deleted(struct job *job, const struct error *err)
{
    job->asking = 0;
    if (!job->awaited || !err || err->code != ESRCH)
        return;
    log_note("job %s is not expected any more: %s", job->name, err->text);
    job_end(job);
}

static void learn(struct refine *r, struct job *job, const struct reader_answer *a)
{
    struct demand d;
    if (!a || a->code || demand_get(a->demand, &d) < 0) {
        put_off(r, job);
        return;
    }
    know(job, &d);
    apply(r, job, "qstat");
    keep(r, job);
}

/* The limits that are kept hold already: a daemon that ends between the two asks again. */
static void answered(void *arg, const struct reader_answer *a)
{
    AUTO_FREE struct question *q = arg;
    struct refine *r = q->refine;
    struct error e = {.code = 0};
    struct job *job = jobs_find(r->jobs, GRANT_GRIDENGINE, q->job);
    if (!a)
        error_set(&e, ETIMEDOUT, "it is not answered in time");
    else if (a->code)
        error_set(&e, a->code, "%s", a->text);
    if (job && job->asking)
        end_if_deleted(job, e.code ? &e : NULL);
    else if (e.code)
        log_warn("what job %s asks for is not known, memory_per_slot and what its execd wrote "
                 "hold: %s",
                 q->job, e.text);
    if (job && job->demand_state == JOB_DEMAND_ASKED)
        learn(r, job, a);
    loop_timer_start(&r->soon, 0, 0);
}

static void tell_settled(void *arg)
{
    struct refine *r = arg;
    r->settled(r->arg);
}

/* The reader has read what the manager wrote of the job on the host of its script. */
static void looked_up(void *arg, const struct reader_answer *a)
{
    AUTO_FREE struct question *q = arg;
    struct job *job = jobs_find(q->refine->jobs, GRANT_GRIDENGINE, q->job);
    if (job && a && !a->code)
        refine_begin(q->refine, job, &a->evidence);
}

/* A daemon that has just begun has not seen what its manager wrote of the job; on another host than
 * that of the job's script, its next task brings it. */
static void resume(struct refine *r, struct job *job)
{
    struct evidence e = {.share = job->share};
    if (job->state != GRANT_RUNNING || job->manager != GRANT_GRIDENGINE)
        return;
    if (e.share.slots == 0) {
        (void)ask(r, job, READER_LOOK_UP, looked_up, NULL);
        return;
    }
    job->demand_state = JOB_DEMAND_NEW;
    refine_begin(r, job, &e);
}

static void ask_again(void *arg)
{
    struct refine *r = arg;
    int more = 0;
    for (size_t i = 0; i < jobs_count(r->jobs); i++) {
        struct job *job = jobs_at(r->jobs, i);
        if (is_to_ask_again(job) && loop_now() >= job->demand_again)
            resume(r, job);
        more |= is_to_ask_again(job);
    }
    if (!more)
        loop_timer_stop(&r->later);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void refine_init(struct refine *r, struct loop *l, struct jobs *jobs, struct reader_link *reader,
                 const struct conf *conf, void (*settled)(void *arg), void *arg)
{
    *r = (struct refine){
        .jobs = jobs, .reader = reader, .conf = conf, .settled = settled, .arg = arg};
    loop_timer_init(&r->soon, l, tell_settled, r);
    loop_timer_init(&r->later, l, ask_again, r);
}

void refine_stop(struct refine *r)
{
    loop_timer_stop(&r->soon);
    loop_timer_stop(&r->later);
}

void refine_resume(struct refine *r)
{
    for (size_t i = 0; i < jobs_count(r->jobs); i++)
        if (jobs_at(r->jobs, i)->demand_state == JOB_DEMAND_NEW)
            resume(r, jobs_at(r->jobs, i));
}

void refine_made(struct refine *r, struct job *job, const struct evidence *e)
{
    if (e->demand_known) {
        know(job, &e->demand);
        keep(r, job);
    }
    if (job->manager == GRANT_GRIDENGINE && !job->bound)
        tell(job, &e->limits, &e->share, e->demand_known ? "grant" : "execd");
    refine_begin(r, job, e);
}

void refine_begin(struct refine *r, struct job *job, const struct evidence *e)
{
    struct error err;
    if (job->manager != GRANT_GRIDENGINE || job->demand_state != JOB_DEMAND_NEW ||
        e->share.slots == 0)
        return;
    job->share = e->share;
    if (find_kept(r, job)) {
        job->demand_state = JOB_DEMAND_KNOWN;
        return;
    }
    if (!r->conf->ge_qstat) {
        job->demand_state = JOB_DEMAND_UNKNOWN;
        job->demand_tries = TRIES;
        apply_default(r, job);
        return;
    }
    job->demand_state = JOB_DEMAND_ASKED;
    job->demand_tries++;
    if (ask(r, job, READER_DEMAND, answered, &err) < 0) {
        log_warn("%s", err.text);
        put_off(r, job);
    }
}

void refine_learn(struct refine *r, struct job *job, const struct evidence *e)
{
    if (!e->demand_known || job->demand_state == JOB_DEMAND_KNOWN || find_kept(r, job))
        return;
    know(job, &e->demand);
    job->share = e->share;
    apply(r, job, "grant");
    keep(r, job);
}

void refine_awaited(struct refine *r, struct job *job)
{
    if (job->manager != GRANT_GRIDENGINE || job->asking || !r->conf->ge_qstat)
        return;
    job->asking = 1;
    if (ask(r, job, READER_DEMAND, answered, NULL) < 0)
        job->asking = 0;
}
