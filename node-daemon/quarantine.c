/* SPDX-License-Identifier: BSD-3-Clause */
/* quarantine.c - jobs that did not ask for their cgroup are found, and put into it
 *
 * Three ways lead to a process: an exec of a program that matters (proc-events.c), what an execd
 * writes (spool-watch.c), and a look at all of /proc: at the start, and whenever something may have
 * been missed, at most once a second. Each of them ends in a proof (proof.c) and, with one, in
 * contain(). A manager's process is moved first, so that what it starts from then on is born
 * inside; then what it had started, down to the last. What has lost its parent by then is known by
 * the task's group, in a look at everything. */
#include "node-daemon/quarantine.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/number.h"
#include "common/proc.h"
#include "node-daemon/ge-spool.h"
#include "node-daemon/proc-events.h"
#include "node-daemon/proof.h"
#include "node-daemon/sentinel.h"
#include "node-daemon/spool-watch.h"
#include "node-daemon/trace.h"

static const double SCAN_S = 1, PROGRAMS_S = 1, REFUSAL_S = 1;
enum { BELOW_MAX = 1024 };

struct watched {                  /* a manager */
    const struct conf_rule *rule; /* NULL: Grid Engine */
    struct program daemon, process;
};

struct quarantine {
    struct loop *loop;
    struct requests *r;
    struct watched *watched;
    size_t n;
    double looked; /* when the programs' files were found */
    struct proc_events *events;
    struct spool_watch *spool;
    struct loop_timer *timer; /* of the next look at everything */
    const char *why;          /* it is to be */
    double scanned;
    unsigned long scans;
    double told; /* when a refusal was */
    unsigned untold;
};

/* ---- moving -----------------------------------------------------------------------------------
 */

/* In what mprun made for a step while there was no mprund: it would not be held or ended in a job's
 * cgroup any more, nor counted. Who cannot be looked at is left where it is, too. */
static int is_in_step(pid_t pid)
{
    struct cgroup_membership m = {0};
    if (cgroup_membership_read(pid, &m, NULL) < 0)
        return 1;
    int is = m.v2 && strstr(m.v2, "/mprun.") != NULL;
    for (int c = 0; c < CGROUP_CONTROLLER_COUNT && !is; c++)
        is = m.v1[c] && strstr(m.v1[c], "/mprun.") != NULL;
    cgroup_membership_free(&m);
    return is;
}

/* A child of one that is in the job, and is itself in none, nor in a step. */
static int move_child(struct quarantine *q, struct job *job, pid_t pid, pid_t parent)
{
    struct process p;
    AUTO_FREE char *part = NULL, *parents = NULL;
    if (process_open(pid, &p) < 0)
        return 0;
    int moved = p.parent == parent && !jobs_of_process(q->r->jobs, pid, &part) &&
                !is_in_step(pid) && jobs_of_process(q->r->jobs, parent, &parents) == job &&
                jobs_enter(q->r->jobs, job, &p.peer, JOB_TASK, NULL) == 0;
    process_close(&p);
    return moved;
}

/* How many of those below it there were. */
static size_t move_below(struct quarantine *q, struct job *job, pid_t top)
{
    pid_t todo[BELOW_MAX] = {top};
    size_t n = 1;
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE pid_t *child = NULL;
        int children = proc_children(todo[i], &child);
        for (int c = 0; c < children && n < BELOW_MAX; c++)
            if (move_child(q, job, child[c], todo[i]))
                todo[n++] = child[c];
    }
    return n - 1;
}

/* Where it is already: 1; 0: in no job; -1: in another one, or in a step. */
static int where(struct quarantine *q, const struct process *p, const struct proof *proof)
{
    AUTO_FREE char *part = NULL;
    const struct job *job = jobs_of_process(q->r->jobs, p->peer.pid, &part);
    if (job)
        return job->manager == proof->manager && job->state == GRANT_RUNNING &&
                       !strcmp(job->name, proof->evidence.name)
                   ? 1
                   : -1;
    return is_in_step(p->peer.pid) ? -1 : 0;
}

static void schedule_scan(struct quarantine *q, const char *why);

static void tell_moved(const struct job *job, const struct proof *proof, const struct process *p,
                       size_t below, const char *how)
{
    trace("enter job=%s task=%s pid=%d below=%zu how=%s", job->name, proof->task, p->peer.pid,
          below, how);
    if (below == 0 && !strcmp(how, "exec"))
        return;
    log_note("job %s: pid %d%s was not in the job's cgroup, and is now (found by %s)", job->name,
             (int)p->peer.pid, below ? ", with what it had started," : "", how);
}

/* Put a process that was proven into its job. 1: it was moved. */
static int contain(struct quarantine *q, const struct process *p, const struct proof *proof,
                   const char *how)
{
    struct error e;
    struct job *job = NULL;
    int is = where(q, p, proof);
    if (is < 0) {
        trace("left job=%s pid=%d how=%s", proof->evidence.name, p->peer.pid, how);
        return 0;
    }
    if (!(job = requests_job(q->r, proof->manager, &proof->evidence, &e)) ||
        (is == 0 && jobs_enter(q->r->jobs, job, &p->peer, JOB_TASK, &e) < 0)) {
        trace("failed job=%s pid=%d how=%s", proof->evidence.name, p->peer.pid, how);
        if (job && errno == ESRCH)
            return 0;
        log_error("put pid %d into job %s: %s", (int)p->peer.pid, proof->evidence.name, e.text);
        return 0;
    }
    size_t below = move_below(q, job, p->peer.pid);
    if (is == 0 || below > 0)
        tell_moved(job, proof, p, below, how);
    else
        trace("inside job=%s task=%s pid=%d how=%s", job->name, proof->task, p->peer.pid, how);
    sentinel_put(q->r->sentinels, job);
    if (below > 0) /* others may have lost their parent */
        schedule_scan(q, "late");
    return is == 0;
}

/* ---- proving ----------------------------------------------------------------------------------
 */

/* Users can cause as many of these as they like, by starting a manager's program. */
static void refuse(struct quarantine *q, const struct process *p, const struct error *why,
                   const char *how)
{
    if (loop_now() - q->told < REFUSAL_S) {
        q->untold++;
        return;
    }
    trace("refused pid=%d uid=%u how=%s before=%u: %s", (int)p->peer.pid, (unsigned)p->real_uid,
          how, q->untold, why->text);
    if (p->real_uid == 0)
        log_warn("pid %d, which looks like a manager's, is put into no job: %s", (int)p->peer.pid,
                 why->text);
    q->told = loop_now();
    q->untold = 0;
}

static int prove(const struct quarantine *q, const struct watched *w, const struct process *p,
                 struct proof *ret, struct error *err)
{
    if (!process_runs(p, &w->process))
        return error_set(err, EPERM, "it does not run '%s'", w->process.path);
    return w->rule ? proof_by_rule(w->rule, &w->daemon, p, ret, err)
                   : proof_of_shepherd(q->r->conf, &w->daemon, p, ret, err);
}

static int consider(struct quarantine *q, const struct watched *w, pid_t pid, const char *how)
{
    struct error e;
    struct process p;
    struct proof proof;
    int moved = 0;
    if (process_open(pid, &p) < 0)
        return 0;
    if (prove(q, w, &p, &proof, &e) == 0)
        moved = contain(q, &p, &proof, how);
    else if (peer_is_alive(&p.peer))
        refuse(q, &p, &e, how);
    process_close(&p);
    return moved;
}

/* ---- execs ------------------------------------------------------------------------------------
 */

static void look_at_programs(struct quarantine *q)
{
    q->looked = loop_now();
    for (size_t i = 0; i < q->n; i++) {
        program_look(&q->watched[i].daemon);
        program_look(&q->watched[i].process);
    }
}

static int is_roots(pid_t pid)
{
    struct process p;
    if (process_open(pid, &p) < 0)
        return 0;
    int is = p.real_uid == 0;
    process_close(&p);
    return is;
}

/* A manager's daemon: what its jobs' cgroups are in has to be ready. Users can start it as well. */
static void daemon_runs(struct quarantine *q, const struct watched *w, pid_t pid, const char *how)
{
    struct error e;
    const char *name = w->rule ? w->rule->name : "gridengine";
    if (!is_roots(pid))
        return;
    if (ground_prepare(q->r->ground, q->r->conf->cores == CORES_EXCLUSIVE, &e) < 0) {
        log_warn("%s", e.text);
        trace("daemon manager=%s pid=%d how=%s: %s", name, (int)pid, how, e.text);
    } else {
        trace("daemon manager=%s pid=%d how=%s ground=%s", name, (int)pid, how,
              q->r->ground->part[0].path);
    }
}

/* 1: it was moved; 0; -1: it runs nothing of a manager's. */
static int look_at(struct quarantine *q, pid_t pid, const char *how)
{
    struct program runs;
    if (program_of(pid, &runs) < 0)
        return 0;
    for (size_t i = 0; i < q->n; i++) {
        const struct watched *w = &q->watched[i];
        if (program_is(&runs, &w->process))
            return consider(q, w, pid, how);
        if (program_is(&runs, &w->daemon)) {
            daemon_runs(q, w, pid, how);
            return 0;
        }
    }
    return -1;
}

static void on_exec(void *arg, pid_t pid)
{
    struct quarantine *q = arg;
    if (loop_now() - q->looked > PROGRAMS_S)
        look_at_programs(q);
    (void)look_at(q, pid, "exec");
}

static void on_lost_execs(void *arg)
{
    trace("lost execs");
    schedule_scan(arg, "lost-execs");
}

/* ---- the spool directory ----------------------------------------------------------------------
 */

static void on_task(void *arg, const char *job, const char *task)
{
    struct quarantine *q = arg;
    struct ge_task t;
    if (ge_task_read(q->r->conf, job, task, &t) < 0 || t.shepherd == 0)
        return;
    look_at_programs(q);
    (void)consider(q, &q->watched[0], t.shepherd, "spool");
}

static void on_gone(void *arg)
{
    struct quarantine *q = arg;
    jobs_check(q->r->jobs);
}

static void on_lost_spool(void *arg)
{
    trace("lost spool");
    schedule_scan(arg, "lost-spool");
}

/* ---- everything -------------------------------------------------------------------------------
 */

struct scan {
    struct quarantine *q;
    const char *job;
    struct ge_task *task;
    size_t n, cap, moved;
};

static int add_task(void *arg, int fd, const char *task)
{
    struct scan *s = arg;
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        struct ge_task *grown = realloc(s->task, cap * sizeof(*grown));
        if (!grown)
            return 1;
        s->task = grown;
        s->cap = cap;
    }
    s->n += ge_task_read(s->q->r->conf, s->job, task, &s->task[s->n]) == 0;
    return 0;
}

static int add_tasks(void *arg, int fd, const char *job)
{
    struct scan *s = arg;
    s->job = job;
    return add_task(s, fd, "") || ge_spool_each(s->q->r->conf, fd, ge_is_task, add_task, s);
}

static void find_tasks(struct scan *s)
{
    const struct conf *c = s->q->r->conf;
    AUTO_CLOSE int jobs = c->ge_spool ? ge_spool_active_jobs(c) : -1;
    if (jobs >= 0)
        (void)ge_spool_each(c, jobs, ge_is_job, add_tasks, s);
}

/* Is it in some task by its group? */
static void look_at_group(struct scan *s, pid_t pid)
{
    struct process p;
    struct proof proof;
    AUTO_FREE char *part = NULL;
    if (s->n == 0 || jobs_of_process(s->q->r->jobs, pid, &part) || process_open(pid, &p) < 0)
        return;
    for (size_t i = 0; i < s->n; i++)
        if (proof_by_group(s->q->r->conf, &s->task[i], &p, &proof, NULL) == 0) {
            s->moved += where(s->q, &p, &proof) == 0 && contain(s->q, &p, &proof, "group");
            break;
        }
    process_close(&p);
}

static size_t look_at_all(struct scan *s)
{
    AUTO_DIR DIR *d = opendir("/proc");
    struct dirent *e;
    int64_t pid;
    size_t n = 0;
    while (d && (e = readdir(d))) {
        if (number_parse(e->d_name, NULL, 1, INT32_MAX, &pid, NULL) < 0)
            continue;
        n++;
        int is = look_at(s->q, (pid_t)pid, "scan");
        if (is < 0)
            look_at_group(s, (pid_t)pid);
        else
            s->moved += (size_t)is;
    }
    return n;
}

static void scan_now(void *arg)
{
    struct quarantine *q = arg;
    struct scan s = {.q = q};
    const char *why = q->why;
    double begin = q->scanned = loop_now(); /* what it finds may ask for the next one */
    q->scans++;
    look_at_programs(q);
    find_tasks(&s);
    size_t processes = look_at_all(&s);
    q->scanned = loop_now();
    trace("scan number=%lu why=%s tasks=%zu processes=%zu moved=%zu ms=%.0f", q->scans, why, s.n,
          processes, s.moved, (q->scanned - begin) * 1000);
    free(s.task);
    if (s.moved > 0) /* until there is nobody left to move */
        schedule_scan(q, "moved");
}

/* At most one a second, and none while one is to come. */
static void schedule_scan(struct quarantine *q, const char *why)
{
    if (loop_timer_active(q->timer))
        return;
    double wait = q->scanned + SCAN_S - loop_now();
    q->why = why;
    loop_timer_start(q->timer, q->scans && wait > 0 ? wait : 0, 0);
}

/* ---- beginning --------------------------------------------------------------------------------
 */

static int take_rules(struct quarantine *q)
{
    const struct conf *c = q->r->conf;
    if (!(q->watched = calloc(c->nrules + 1, sizeof(*q->watched))))
        return -1;
    if (c->ge_spool)
        q->watched[q->n++] =
            (struct watched){.daemon = {.path = c->ge_execd}, .process = {.path = c->ge_shepherd}};
    for (size_t i = 0; i < c->nrules; i++)
        q->watched[q->n++] = (struct watched){.rule = &c->rule[i],
                                              .daemon = {.path = c->rule[i].daemon},
                                              .process = {.path = c->rule[i].process}};
    return 0;
}

static void begin_to_hear(struct quarantine *q)
{
    static const struct proc_events_calls execs = {.exec = on_exec, .lost = on_lost_execs};
    static const struct spool_watch_calls spool = {
        .task = on_task, .gone = on_gone, .lost = on_lost_spool};
    const struct conf *c = q->r->conf;
    struct error e;
    if (c->process_events &&
        !(q->events = proc_events_create(q->loop, (size_t)c->event_queue << 10, &execs, q, &e)))
        log_error("%s; going on without", e.text);
    if (c->watch_spool && c->ge_spool &&
        !(q->spool = spool_watch_create(q->loop, c, &spool, q, &e)))
        log_error("%s; going on without", e.text);
    trace("begin execs=%s spool=%s rules=%zu", q->events ? "yes" : "no", q->spool ? "yes" : "no",
          c->nrules);
}

struct quarantine *quarantine_create(struct loop *l, struct requests *r, struct error *err)
{
    struct quarantine *q = calloc(1, sizeof(*q));
    if (q) {
        q->loop = l;
        q->r = r;
        q->timer = loop_timer_create(l, scan_now, q);
    }
    if (!q || !q->timer || take_rules(q) < 0) {
        quarantine_destroy(q);
        error_errno(err, ENOMEM, "find jobs that do not ask");
        return NULL;
    }
    begin_to_hear(q);
    if (q->events || q->spool)
        schedule_scan(q, "begin");
    return q;
}

void quarantine_destroy(struct quarantine *q)
{
    if (!q)
        return;
    proc_events_destroy(q->events);
    spool_watch_destroy(q->spool);
    loop_timer_destroy(q->timer);
    free(q->watched);
    free(q);
}
