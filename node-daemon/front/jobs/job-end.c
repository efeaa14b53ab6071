/* SPDX-License-Identifier: BSD-3-Clause */
/* job-end.c - the end of a job on this host: emptied, read, removed
 *
 * First the mover kills the processes in the user's part, then all others: by then the manager has
 * forgotten the job, as it does when its own process on this host (a shepherd) has ended. A process
 * that cannot end, for example in uninterruptible sleep, makes the job "stuck": mprund shows the
 * reason and retries for ever, at long intervals. The mark of an ended job is its directory's mode,
 * so that a daemon which is started again goes on ending it. */
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/text/number.h"
#include "node-daemon/front/jobs/jobs-private.h"
#include "node-daemon/lib/trace.h"

static const double PAUSE_FIRST = 0.005, PAUSE_LAST = 0.5;
static const double USER_PART_S = 1; /* the user's part is given this long before the rest */
static const double BY_FILE_S = 2;   /* nearly all die by cgroup.kill: see kill.c */

static struct cgroup_at top_of(const struct job *job, size_t part)
{
    return ground_at(job->jobs->ground, part, job->dir);
}

/* First what is in the user's part, and for a moment that alone. */
static enum mover_kill to_kill(const struct job *job, double since)
{
    return job->state == GRANT_STUCK || since > BY_FILE_S ? KILL_EACH
           : since > USER_PART_S                          ? KILL_ALL
                                                          : KILL_USERS;
}

/* ---- removing -------------------------------------------------------------------------------- */

static void tell_usage(const struct job *job, const struct usage *u)
{
    char cpu[32], peak[32], stalled[64] = "";
    double seconds = usage_cpu_seconds(u), stall = (double)u->value[USAGE_MEMORY_STALL] / 1e6;
    if (stall > 0)
        snprintf(stalled, sizeof(stalled), ", stalled for memory %.3f s", stall);
    log_note("job %s of user %u ended here: CPU time %s, memory at most %s%s, %llu killed out of "
             "memory; Resources_used: %s",
             job->name, (unsigned)job->uid,
             seconds < 0 ? "unknown" : duration_format(seconds, cpu, sizeof(cpu)),
             usage_has(u, USAGE_MEMORY_PEAK)
                 ? size_format(u->value[USAGE_MEMORY_PEAK], peak, sizeof(peak))
                 : "unknown",
             stalled, (unsigned long long)u->value[USAGE_OOM_KILLS], job->placement);
}

static uint64_t count_of(struct cgroup_at d, const char *file, const char *key)
{
    char text[512];
    uint64_t n = 0;
    return at_read(d, file, text, sizeof(text)) > 0 && flat_key_u64(text, key, &n) == 0 ? n : 0;
}

/* The kernel has killed in it at its own limit, and not at one of a step's or a rank's. On v1 it is
 * one cgroup, whose limit is the only one. */
static bool has_exceeded(const struct job *job)
{
    for (size_t part = 0; part < job->jobs->ground->n; part++) {
        struct cgroup_at d = top_of(job, part);
        if (count_of(d, "memory.oom_control", "oom_kill") > 0 ||
            (count_of(d, "memory.events.local", "oom") > 0 &&
             count_of(d, "memory.events", "oom_kill") > 0))
            return true;
    }
    return false;
}

/* Keeps the job's placement, which the log tells when the cgroup is gone. */
static void note_placement(struct job *job)
{
    AUTO(idset_free) struct idset threads = {0}, nodes = {0};
    snprintf(job->placement, sizeof(job->placement), "any hardware threads");
    if (job->jobs->cores_part >= 0 && at_read_cpus(cores_at(job), &threads) == 0 &&
        at_read_memory_nodes(cores_at(job), &nodes) == 0) {
        AUTO_FREE char *on = idset_format(&threads), *in = idset_format(&nodes);
        snprintf(job->placement, sizeof(job->placement),
                 "hardware threads %.200s, memory nodes %.40s", on ? on : "?", in ? in : "?");
    }
}

/* ---- trying again ---------------------------------------------------------------------------- */

static void say_stuck(struct job *job, size_t part, const char *who)
{
    snprintf(job->reason, sizeof(job->reason), "cgroup '%s/%s' cannot be removed: in it is %s",
             job->jobs->ground->part[part].path, job->dir, who);
}

/* In the log, once. */
static void tell_stuck(struct job *job)
{
    if (!job->told_stuck)
        log_warn("job %s of user %u is stuck: %s; trying again every %g s", job->name,
                 (unsigned)job->uid, job->reason, job->jobs->conf->retry);
    job->told_stuck = 1;
}

/* The kernel does not show front where processes of others wait: watch tells that, before the next
 * try, and then the log has it. */
static void make_stuck(struct job *job)
{
    char who[256];
    const struct jobs_watch *watch = &job->jobs->watch;
    size_t part = 0;
    while (part + 1 < job->jobs->ground->n && at_has_processes(top_of(job, part)) == 0)
        part++;
    if (job->state != GRANT_STUCK) {
        at_describe(top_of(job, part), who, sizeof(who));
        say_stuck(job, part, who);
    }
    if (job->state == GRANT_STUCK || !watch->stuck)
        tell_stuck(job);
    job->state = GRANT_STUCK;
    if (watch->stuck)
        watch->stuck(watch->arg, job, part);
}

void jobs_take_stuck(struct jobs *j, const char *dir, size_t part, const char *who)
{
    for (size_t i = 0; i < j->n && part < j->ground->n; i++)
        if (j->job[i]->state == GRANT_STUCK && !strcmp(j->job[i]->dir, dir)) {
            say_stuck(j->job[i], part, who);
            tell_stuck(j->job[i]);
        }
}

static double next_pause(struct job *job)
{
    if (job->state == GRANT_STUCK)
        return job->jobs->conf->retry;
    job->pause = job->pause * 2 < PAUSE_LAST ? job->pause * 2 : PAUSE_LAST;
    return job->pause;
}

enum turn { TURN_LAST, TURN_CAME_TO_NOTHING, TURN_GOES_ON };

/* TURN_LAST: it is gone, and job no more. TURN_GOES_ON: of many cgroups some are gone. */
static enum turn take_turn(struct job *job, double since)
{
    struct mover_request q = {.kill = to_kill(job, since)};
    struct mover_answer a;
    struct error e;
    if (jobs_ask(job->jobs, job, &q, MOVER_END, -1, &a, &e) < 0) {
        log_debug("end job %s: %s", job->name, e.text);
        return TURN_CAME_TO_NOTHING;
    }
    if (!a.populated && !job->told) {
        tell_usage(job, &a.usage);
        job->told = 1;
    }
    if (!a.gone)
        return a.goes_on ? TURN_GOES_ON : TURN_CAME_TO_NOTHING;
    if (job->state == GRANT_STUCK)
        log_note("job %s of user %u is no longer stuck", job->name, (unsigned)job->uid);
    jobs_forget(job->jobs, job);
    return TURN_LAST;
}

static void end_turn(void *arg)
{
    struct job *job = arg;
    double since = loop_now() - job->ended;
    enum turn turn = take_turn(job, since);
    if (turn == TURN_LAST)
        return;
    if (turn == TURN_GOES_ON) {
        loop_timer_start(&job->timer, PAUSE_FIRST, 0);
        return;
    }
    if (since > job->jobs->conf->stuck_after)
        make_stuck(job);
    loop_timer_start(&job->timer, next_pause(job), 0);
}

/* ---- beginning ------------------------------------------------------------------------------- */

void job_end(struct job *job)
{
    if (job->state != GRANT_RUNNING)
        return;
    job->state = GRANT_ENDING;
    trace("end job=%s", job->name);
    note_placement(job);
    if (has_exceeded(job))
        log_warn(">> Job %s exceeded resource allocation -- killed", job->name);
    if (job->jobs->watch.ended)
        job->jobs->watch.ended(job->jobs->watch.arg, job);
    job->ended = loop_now();
    job->pause = PAUSE_FIRST;
    loop_timer_init(&job->timer, job->jobs->loop, end_turn, job);
    loop_timer_start(&job->timer, 0, 0);
}

void job_end_stray(struct jobs *j, const char *dir)
{
    struct mover_request q = {.kill = KILL_NOTHING};
    struct mover_answer a = {.gone = 0};
    struct error e = {.text = "it is in use"};
    snprintf(q.dir, sizeof(q.dir), "%s", dir);
    if (mover_ask(j->start, &q, MOVER_END, -1, &a, &e) < 0 || !a.gone)
        log_warn("remove cgroup '%s', which is of no job: %s", dir, e.text);
}
