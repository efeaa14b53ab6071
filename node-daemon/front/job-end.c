/* SPDX-License-Identifier: BSD-3-Clause */
/* job-end.c - the end of a job on this host: emptied, read, removed
 *
 * First what is in the user's part is killed, then everything: by then the manager has forgotten
 * the job, which it does when its own process on this host (a shepherd) has ended. What cannot go,
 * such as a process in uninterruptible sleep, makes the job "stuck": it is shown with the reason,
 * and tried again for ever, at long intervals. The mark of an ended job is its directory's mode, so
 * that a daemon which is started again goes on ending it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "common/number.h"
#include "node-daemon/front/jobs-private.h"
#include "node-daemon/lib/trace.h"

static const double PAUSE_FIRST = 0.005, PAUSE_LAST = 0.5;
static const double USER_PART_S = 1; /* the user's part is given this long before the rest */

static struct cgroup_at top_of(const struct job *job, size_t part)
{
    return ground_at(job->jobs->ground, part, job->dir);
}

/* ---- killing ----------------------------------------------------------------------------------
 */

static void mark_ended(const struct job *job)
{
    const struct ground *g = job->jobs->ground;
    for (size_t i = 0; i < g->n; i++)
        (void)!fchmodat(g->part[i].fd, job->dir, MODE_ENDED, 0);
}

/* On v1 the hierarchy that tracks may be one that cannot freeze: its processes are killed in rounds
 * all the same. */
static void kill_all(struct job *job)
{
    struct error e;
    const struct ground_part *p = &job->jobs->ground->part[0];
    job->killed = KILLED_ALL;
    if (killer_start(&job->killer, job->jobs->loop, top_of(job, 0), p->driver, &e) < 0)
        log_debug("job %s: %s", job->name, e.text);
}

static void kill_user_part(struct job *job)
{
    char u[CGROUP_NAME_MAX + 8];
    const struct ground_part *p = &job->jobs->ground->part[0];
    job->killed = KILLED_USER;
    if (p->driver->version != 2)
        return;
    snprintf(u, sizeof(u), "%s/u", job->dir);
    struct cgroup_at d = {p->fd, u};
    if (p->driver->kill(d) < 0) /* a kernel before 5.14: freezing is for the second round */
        (void)kill_each(d);
}

/* ---- removing ---------------------------------------------------------------------------------
 */

static void tell_usage(const struct job *job)
{
    struct usage u = {0};
    char cpu[32], peak[32];
    const struct ground *g = job->jobs->ground;
    for (size_t i = 0; i < g->n; i++)
        g->part[i].driver->usage(top_of(job, i), g->part[i].controllers, &u);
    double seconds = usage_cpu_seconds(&u);
    log_note(
        "job %s of user %u ended here: CPU time %s, memory at most %s, %llu killed out of memory",
        job->name, (unsigned)job->uid,
        seconds < 0 ? "unknown" : duration_format(seconds, cpu, sizeof(cpu)),
        usage_has(&u, USAGE_MEMORY_PEAK)
            ? size_format(u.value[USAGE_MEMORY_PEAK], peak, sizeof(peak))
            : "unknown",
        (unsigned long long)u.value[USAGE_OOM_KILLS]);
}

static int is_empty(const struct job *job)
{
    const struct ground *g = job->jobs->ground;
    for (size_t i = 0; i < g->n; i++) {
        int populated = g->part[i].driver->populated(top_of(job, i));
        if (populated > 0 || (populated < 0 && errno != ENOENT))
            return 0;
    }
    return 1;
}

/* The tracking part last, so that a daemon that is killed in between finds the rest. 0, or -1. */
static int remove_parts(const struct job *job)
{
    for (size_t i = job->jobs->ground->n; i-- > 0;)
        if (at_remove(top_of(job, i)) < 0)
            return -1;
    return 0;
}

/* ---- trying again -----------------------------------------------------------------------------
 */

static void kill_more(struct job *job, double since)
{
    if (job->killed == KILLED_NOTHING)
        kill_user_part(job);
    else if (job->killed == KILLED_USER ? since > USER_PART_S : job->state == GRANT_STUCK)
        kill_all(job);
}

static void make_stuck(struct job *job)
{
    char who[256];
    const struct ground *g = job->jobs->ground;
    size_t part = 0;
    while (part + 1 < g->n && at_has_processes(top_of(job, part)) == 0)
        part++;
    at_describe(top_of(job, part), who, sizeof(who));
    snprintf(job->reason, sizeof(job->reason), "cgroup '%s/%s' cannot be removed: in it is %s",
             g->part[part].path, job->dir, who);
    if (job->state != GRANT_STUCK)
        log_warn("job %s of user %u is stuck: %s; trying again every %g s", job->name,
                 (unsigned)job->uid, job->reason, job->jobs->conf->retry);
    job->state = GRANT_STUCK;
}

static double next_pause(struct job *job)
{
    if (job->state == GRANT_STUCK)
        return job->jobs->conf->retry;
    job->pause = job->pause * 2 < PAUSE_LAST ? job->pause * 2 : PAUSE_LAST;
    return job->pause;
}

/* 1: it is gone, and job no more */
static int remove_empty(struct job *job)
{
    if (!job->told)
        tell_usage(job);
    job->told = 1;
    if (remove_parts(job) < 0)
        return 0;
    if (job->state == GRANT_STUCK)
        log_note("job %s of user %u is no longer stuck", job->name, (unsigned)job->uid);
    jobs_forget(job->jobs, job);
    return 1;
}

static void end_turn(void *arg)
{
    struct job *job = arg;
    double since = loop_now() - job->ended;
    if (!is_empty(job))
        kill_more(job, since);
    else if (remove_empty(job))
        return;
    if (since > job->jobs->conf->stuck_after)
        make_stuck(job);
    loop_timer_start(&job->timer, next_pause(job), 0);
}

/* ---- beginning --------------------------------------------------------------------------------
 */

void job_end(struct job *job)
{
    if (job->state != GRANT_RUNNING)
        return;
    job->state = GRANT_ENDING;
    trace("end job=%s", job->name);
    if (job->jobs->watch.ended)
        job->jobs->watch.ended(job->jobs->watch.arg, job);
    job->ended = loop_now();
    job->pause = PAUSE_FIRST;
    mark_ended(job);
    loop_timer_init(&job->timer, job->jobs->loop, end_turn, job);
    loop_timer_start(&job->timer, 0, 0);
}

void job_end_stray(struct jobs *j, size_t part, const char *dir)
{
    struct cgroup_at d = ground_at(j->ground, part, dir);
    if (at_remove(d) < 0)
        log_warn("remove cgroup '%s/%s', which is of no job: %s", j->ground->part[part].path, dir,
                 strerror(errno));
}
