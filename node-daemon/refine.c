/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/refine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/number.h"
#include "common/path.h"
#include "node-daemon/inquiry.h"

#define ATTRIBUTE "trusted.mprun.demand"

struct refine {
    struct jobs *jobs;
    const struct conf *conf;
    struct inquiries *inquiries;
    void (*settled)(void *arg);
    void *arg;
};

/* ---- beside the job ---------------------------------------------------------------------------
 */

static void keep(const struct refine *r, const struct job *job)
{
    uint8_t buf[DEMAND_BYTES];
    AUTO_FREE char *path = jobs_path(r->jobs, job);
    demand_put(&job->demand, buf);
    if (path && setxattr(path, ATTRIBUTE, buf, sizeof(buf), 0) < 0)
        log_debug("job %s: keep what it asks for: %s", job->name, strerror(errno));
}

static int find_kept(const struct refine *r, struct job *job)
{
    uint8_t buf[DEMAND_BYTES + 1];
    AUTO_FREE char *path = jobs_path(r->jobs, job);
    return path && getxattr(path, ATTRIBUTE, buf, sizeof(buf)) == DEMAND_BYTES &&
           demand_get(buf, &job->demand) == 0;
}

/* ---- what follows from it ---------------------------------------------------------------------
 */

static void know(struct job *job, const struct demand *d)
{
    job->demand = *d;
    job->demand_state = JOB_DEMAND_KNOWN;
}

static void apply(struct refine *r, struct job *job, const struct share *share)
{
    struct limits limits = share_limits(share, &job->demand);
    struct error e;
    char memory[16];
    limits.pids = job->limits.pids;
    if (!job->bound && jobs_set_limits(r->jobs, job, &limits, &e) < 0)
        log_warn("%s", e.text);
    if (jobs_set_gpus(job, share_gpus(share, &job->demand), &e) < 0)
        log_warn("%s", e.text);
    log_note("job %s asks for what makes %s of memory on this host (slots: %u)%s", job->name,
             limits.memory.set ? size_format(limits.memory.value, memory, sizeof(memory))
                               : "no limit",
             (unsigned)share->slots, job->bound ? "; it keeps what mpbind gave it" : "");
}

static void answered(void *arg, const char *name, const struct demand *d, const struct error *err)
{
    struct refine *r = arg;
    struct evidence e;
    struct job *job = jobs_find(r->jobs, GRANT_GRIDENGINE, name);
    const struct evidence_source *s = evidence_of(r->conf, GRANT_GRIDENGINE);
    if (!d)
        log_warn("what job %s asks for is not known, what its execd wrote holds: %s", name,
                 err->text);
    if (job && !d) {
        job->demand_state = JOB_DEMAND_UNKNOWN;
    } else if (job && job->demand_state == JOB_DEMAND_ASKED) {
        know(job, d);
        keep(r, job);
        if (s && s->look_up(r->conf, name, "", &e, NULL) == 0)
            apply(r, job, &e.share);
    }
    r->settled(r->arg);
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

struct refine *refine_create(struct loop *l, struct jobs *jobs, const struct conf *conf,
                             void (*settled)(void *arg), void *arg, struct error *err)
{
    static const char *const beside[] = {"mprund-qstat", NULL};
    AUTO_FREE char *path = path_find_helper(beside, PKGLIBEXECDIR "/mprund-qstat", NULL);
    struct refine *r = calloc(1, sizeof(*r));
    if (!r) {
        error_errno(err, ENOMEM, "prepare to ask Grid Engine");
        return NULL;
    }
    *r = (struct refine){.jobs = jobs, .conf = conf, .settled = settled, .arg = arg};
    r->inquiries =
        inquiries_create(l, conf, path ? path : PKGLIBEXECDIR "/mprund-qstat", answered, r, err);
    if (r->inquiries)
        return r;
    free(r);
    return NULL;
}

void refine_destroy(struct refine *r)
{
    if (!r)
        return;
    inquiries_destroy(r->inquiries);
    free(r);
}

void refine_begin(struct refine *r, struct job *job, const struct evidence *e)
{
    struct error err;
    if (job->manager != GRANT_GRIDENGINE || job->demand_state != JOB_DEMAND_NEW)
        return;
    if (find_kept(r, job)) {
        job->demand_state = JOB_DEMAND_KNOWN;
        return;
    }
    if (!e->share.is_master || !r->conf->ge_qstat)
        return;
    job->demand_state = JOB_DEMAND_ASKED;
    if (inquiries_ask(r->inquiries, job->name, &err) < 0) {
        log_warn("%s", err.text);
        job->demand_state = JOB_DEMAND_UNKNOWN;
    }
}

void refine_learn(struct refine *r, struct job *job, const struct evidence *e)
{
    if (!e->demand_known || job->demand_state == JOB_DEMAND_KNOWN || find_kept(r, job))
        return;
    know(job, &e->demand);
    keep(r, job);
    apply(r, job, &e->share);
}
