/* SPDX-License-Identifier: BSD-3-Clause */
/* bind.c - a job's limits and cores as root wants them
 *
 * Before or after the job's processes exist: on a host that the job has not come to yet it is made
 * and waits for them. Whose it is its manager may say later. */
#include "node-daemon/front/requests/requests.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "node-daemon/lib/ge-names.h"

/* ---- which job ------------------------------------------------------------------------------- */

/* "23" is Grid Engine's way to say 23.1 of a job without tasks. */
static void full_name(const char *name, char *buf, size_t n)
{
    int is_number = name[strspn(name, "0123456789")] == 0;
    snprintf(buf, n, "%s%s", name, is_number ? ".1" : "");
}

static struct job *find(struct jobs *j, enum grant_manager manager, const char *name)
{
    struct job *job = manager != GRANT_SITE ? jobs_find(j, GRANT_GRIDENGINE, name) : NULL;
    return job || manager == GRANT_GRIDENGINE ? job : jobs_find(j, GRANT_SITE, name);
}

struct job *bind_find(struct jobs *j, const struct grant_request *q)
{
    char name[GRANT_JOB_MAX + 2];
    struct job *job = find(j, q->manager, q->job);
    full_name(q->job, name, sizeof(name));
    return job ? job : find(j, q->manager, name);
}

int bind_describe(struct findings *found, const struct conf *c, const struct grant_request *q,
                  struct evidence *ret, enum grant_manager *ret_manager, struct error *err)
{
    char name[GRANT_JOB_MAX + 2];
    const struct finding *f;
    struct reader_request ask = {.manager = GRANT_GRIDENGINE};
    int can_be = q->manager != GRANT_SITE && c->ge_spool;
    if (!grant_is_job_name(q->job))
        return error_set(err, EINVAL, "bind a job: '%s' is no name of one", q->job);
    full_name(q->job, name, sizeof(name));
    if (!can_be && q->manager == GRANT_GRIDENGINE)
        return error_set(err, ENOTSUP, "bind job %s: Grid Engine is not in mprund's configuration",
                         q->job);
    int is_gridengine = can_be && ge_is_job(name);
    snprintf(ask.job, sizeof(ask.job), "%.*s", GRANT_JOB_MAX - 1, name);
    if (is_gridengine && !findings_get(found, FIND_JOB, READER_LOOK_UP, &ask, -1, &f))
        return BIND_NOT_YET;
    if (is_gridengine && q->bind == GRANT_BIND_HAVE && f->n == 0) {
        (void)finding_failed(f, err);
        return -1;
    }
    if (is_gridengine && !finding_failed(f, NULL)) {
        *ret = f->answer->evidence;
        if (q->uid && ret->uid && q->uid != ret->uid)
            return error_set(err, EPERM, "bind job %s: it is of another user here", name);
        *ret_manager = GRANT_GRIDENGINE;
        return 1;
    }
    memset(ret, 0, sizeof(*ret));
    ret->uid = q->uid;
    snprintf(ret->name, sizeof(ret->name), "%s", is_gridengine ? name : q->job);
    *ret_manager = is_gridengine ? GRANT_GRIDENGINE : GRANT_SITE;
    return 0;
}

/* ---- its limits ------------------------------------------------------------------------------ */

/* Memory and virtual memory as they were asked for: virtual memory is memory and swap together, so
 * it is never less than memory, and alone it is the limit of memory, too. */
static void limits_of(const struct grant_request *q, struct limits *ret)
{
    uint64_t memory = q->memory, virtual_memory = q->virtual_memory;
    if (memory == GRANT_UNLIMITED)
        memory = virtual_memory;
    else if (virtual_memory < memory)
        virtual_memory = memory;
    ret->memory = (struct limit){.set = memory != GRANT_UNLIMITED, .value = memory};
    ret->swap =
        (struct limit){.set = virtual_memory != GRANT_UNLIMITED, .value = virtual_memory - memory};
}

/* 0 cores are all that jobs can have. */
static uint32_t cores_of(const struct jobs *j, const struct grant_request *q)
{
    uint32_t all, left;
    if (q->cores)
        return q->cores;
    return jobs_count_cores(j, &all, &left) < 0 ? 1 : all;
}

/* A limit that is not asked about stays; of a job that has not come yet nobody has said how many
 * slots. */
static void take_pids(const struct jobs *j, const struct conf *c, const struct job *job,
                      const struct grant_request *q, struct limits *l)
{
    struct grant_answer has = {0};
    jobs_describe(j, job, &has);
    l->pids = (struct limit){.set = has.pids != GRANT_UNLIMITED, .value = has.pids};
    if (job->awaited)
        l->pids = share_pids(c->pids_per_slot, cores_of(j, q));
}

/* 0 is no limit of cores: where none are chosen that is so already. */
static int set_cores(struct jobs *j, struct job *job, unsigned cores, struct error *err)
{
    int rc = jobs_set_cores(j, job, cores, err);
    return rc < 0 && cores == 0 && errno == ENOTSUP ? 0 : rc;
}

/* Hold what this host can; err says what it cannot. A job that has no cores of its own shares all
 * where too few are free, as one that comes by itself. 0, or -1: not all of it. */
static int hold(struct jobs *j, struct job *job, struct limits *limits, unsigned cores,
                struct error *err)
{
    struct error memory, left;
    int held = jobs_set_limits(j, job, limits, &memory);
    if (set_cores(j, job, cores, &left) == 0) {
        if (held < 0)
            *err = memory;
        return held;
    }
    if (errno == ENOSPC && job->cores.how == GRANT_CORES_ALL)
        (void)jobs_set_cores(j, job, 0, NULL);
    return error_set(err, ENOTSUP, "%.160s%s%.160s", held < 0 ? memory.text : "",
                     held < 0 ? "; " : "", left.text);
}

int bind_limits(struct jobs *j, const struct conf *c, const struct limit *own, struct job *job,
                const struct grant_request *q, struct error *ret_left, struct error *err)
{
    struct limits limits = {0};
    int unlimit = q->bind == GRANT_BIND_UNLIMIT;
    ret_left->text[0] = 0;
    take_pids(j, c, job, q, &limits);
    if (unlimit)
        limits.memory = *own;
    else
        limits_of(q, &limits);
    jobs_bind(j, job, job->awaited);
    if (q->bind == GRANT_BIND_TRY) {
        if (hold(j, job, &limits, q->cores, ret_left) == 0)
            ret_left->text[0] = 0;
        else
            log_note("job %s: not held here: %s", job->name, ret_left->text);
        return 0;
    }
    if (jobs_set_limits(j, job, &limits, err) < 0)
        return -1;
    return set_cores(j, job, unlimit ? 0 : q->cores, err);
}
