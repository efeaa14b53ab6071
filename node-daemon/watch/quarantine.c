/* SPDX-License-Identifier: BSD-3-Clause */
/* quarantine.c - jobs that did not ask for their cgroup are found, and put into it
 *
 * Three ways lead to a process: an exec of a program that matters (proc-events.c), what an execd
 * writes (spool-watch.c), and a look at all of /proc: at the start, and whenever something may have
 * been missed, at most once a second. Each of them ends in a proof (proof.c) and, with one, in
 * contain(). A manager's process is moved first, so that what it starts from then on is born
 * inside; then what it had started, down to the last. What has lost its parent by then is known by
 * the task's group, in a look at everything. */
#include "node-daemon/watch/quarantine.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/number.h"
#include "common/proc.h"
#include "containment/cgroup/mounts.h"
#include "node-daemon/reader/ge-spool.h"
#include "node-daemon/watch/proc-events.h"
#include "node-daemon/watch/proof.h"
#include "node-daemon/front/sentinel.h"
#include "node-daemon/reader/spool-watch.h"
#include "node-daemon/lib/trace.h"

static const double SCAN_S = 1, PROGRAMS_S = 1, TELL_S = 1;
enum { BELOW_MAX = 1024, TURN = 128 /* processes between two looks at all else */, DAEMONS = 8 };

struct watched {                  /* a manager */
    const struct conf_rule *rule; /* NULL: Grid Engine */
    struct program daemon, process;
    struct {
        pid_t pid;
        unsigned long long starttime;
    } seen[DAEMONS]; /* the last ones, for which the ground was made ready */
    unsigned nseen;
    int warned; /* that it could not be */
};

struct throttle { /* users can cause as many lines as they like */
    double told;
    unsigned untold; /* since then */
};

/* A look at everything, TURN processes at a time. */
struct look {
    DIR *proc; /* NULL: none is under way */
    double begin;
    size_t tasks, processes, moved;
    const char *again; /* why there is to be another one after it; NULL: there is not */
};

struct quarantine {
    struct loop *loop;
    struct requests *r;
    struct watched *watched;
    size_t n;
    double looked; /* when the programs' files were found */
    struct proc_events *events;
    struct spool_watch *spool;
    struct loop_timer timer; /* of the next look at everything */
    const char *why;         /* it is to be */
    struct look look;
    double scanned;
    unsigned long scans;
    struct throttle refusals, failures;
};

/* How many lines were left out before this one; -1: it is left out itself. */
static int throttle(struct throttle *t)
{
    if (loop_now() - t->told < TELL_S) {
        t->untold++;
        return -1;
    }
    int before = (int)t->untold;
    *t = (struct throttle){.told = loop_now()};
    return before;
}

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

/* A user can be the cause, of one that has ended as well as of a job that cannot be made. */
static void tell_failed(struct quarantine *q, const struct process *p, const struct proof *proof,
                        const char *how, const struct error *why)
{
    int before = throttle(&q->failures);
    if (before < 0)
        return;
    trace("failed job=%s pid=%d how=%s before=%d", proof->evidence.name, p->peer.pid, how, before);
    log_error("put pid %d into job %s: %s", (int)p->peer.pid, proof->evidence.name, why->text);
    if (before > 0)
        log_error("%d other processes before it were put into no job", before);
}

/* Put a process that was proven into its job. 1: it was moved; -1: it cannot be. */
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
        if (job && errno == ESRCH)
            return 0;
        tell_failed(q, p, proof, how, &e);
        return -1;
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
    int before = throttle(&q->refusals);
    if (before < 0)
        return;
    trace("refused pid=%d uid=%u how=%s before=%d: %s", (int)p->peer.pid, (unsigned)p->real_uid,
          how, before, why->text);
    if (p->real_uid == 0)
        log_warn("pid %d, which looks like a manager's, is put into no job: %s", (int)p->peer.pid,
                 why->text);
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
        moved = contain(q, &p, &proof, how) > 0;
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

static int was_seen(const struct watched *w, const struct peer *p)
{
    for (size_t i = 0; i < DAEMONS; i++)
        if (w->seen[i].pid == p->pid && w->seen[i].starttime == p->starttime)
            return 1;
    return 0;
}

static void prepare_for(struct quarantine *q, struct watched *w, const struct peer *p,
                        const char *how)
{
    struct error e;
    const char *name = w->rule ? w->rule->name : "gridengine";
    if (ground_prepare(q->r->ground, q->r->conf->cores == CORES_EXCLUSIVE, &e) < 0) {
        if (w->warned++)
            return;
        log_warn("%s", e.text);
        trace("daemon manager=%s pid=%d how=%s: %s", name, (int)p->pid, how, e.text);
        return;
    }
    w->warned = 0;
    w->seen[w->nseen].pid = p->pid;
    w->seen[w->nseen].starttime = p->starttime;
    w->nseen = (w->nseen + 1) % DAEMONS;
    trace("daemon manager=%s pid=%d how=%s ground=%s", name, (int)p->pid, how,
          q->r->ground->part[0].path);
}

/* A manager's daemon: what its jobs' cgroups are in has to be ready. Users can start it as well. */
static void daemon_runs(struct quarantine *q, struct watched *w, pid_t pid, const char *how)
{
    struct process p;
    if (process_open(pid, &p) < 0)
        return;
    if (p.real_uid == 0 && !was_seen(w, &p.peer))
        prepare_for(q, w, &p.peer, how);
    process_close(&p);
}

/* 1: it was moved; 0; -1: it runs nothing of a manager's. */
static int look_at(struct quarantine *q, pid_t pid, const char *how)
{
    struct program runs;
    if (program_of(pid, &runs) < 0)
        return 0;
    for (size_t i = 0; i < q->n; i++) {
        struct watched *w = &q->watched[i];
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
    if (ge_task_read(q->r->conf, job, task, &t) < 0 || t.shepherd < 0)
        return;
    look_at_programs(q);
    (void)consider(q, &q->watched[0], t.shepherd, "spool");
}

static void on_gone(void *arg, const char *name)
{
    struct quarantine *q = arg;
    struct job *job = jobs_find(q->r->jobs, GRANT_GRIDENGINE, name);
    if (job && job->awaited)
        jobs_come(q->r->jobs, job);
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
            int is = where(s->q, &p, &proof) == 0 ? contain(s->q, &p, &proof, "group") : 0;
            if (is < 0) /* nor can the next one of it be */
                s->task[i].state = GE_TASK_FAILED;
            s->moved += is > 0;
            break;
        }
    process_close(&p);
}

/* How many it were; less than TURN: there are no more. */
static size_t look_at_some(struct scan *s, DIR *d)
{
    struct dirent *e;
    int64_t pid;
    size_t n = 0;
    while (n < TURN && (e = readdir(d))) {
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

static void end_look(struct quarantine *q)
{
    struct look l = q->look;
    q->look = (struct look){.proc = NULL};
    (void)closedir(l.proc);
    q->scanned = loop_now();
    trace("scan number=%lu why=%s tasks=%zu processes=%zu moved=%zu ms=%.0f", q->scans, q->why,
          l.tasks, l.processes, l.moved, (q->scanned - l.begin) * 1000);
    if (l.again || l.moved > 0) /* until there is nobody left to move */
        schedule_scan(q, l.again ? l.again : "moved");
}

/* What is known of tasks is of this turn only: in the next one they may have ended. */
static void look_on(void *arg)
{
    struct quarantine *q = arg;
    struct scan s = {.q = q};
    struct look *l = &q->look;
    if (!l->proc) {
        q->scans++;
        *l = (struct look){.proc = opendir("/proc"), .begin = loop_now()};
        if (!l->proc) {
            log_error("look at all processes: open '/proc': %s", strerror(errno));
            return;
        }
    }
    look_at_programs(q);
    find_tasks(&s);
    size_t n = look_at_some(&s, l->proc);
    free(s.task);
    l->tasks = s.n;
    l->processes += n;
    l->moved += s.moved;
    if (n == TURN)
        loop_timer_start(&q->timer, 0, 0);
    else
        end_look(q);
}

/* At most one a second, and none while one is to come. */
static void schedule_scan(struct quarantine *q, const char *why)
{
    if (q->look.proc && !q->look.again)
        q->look.again = why;
    if (q->look.proc || loop_timer_is_active(&q->timer))
        return;
    double wait = q->scanned + SCAN_S - loop_now();
    q->why = why;
    loop_timer_start(&q->timer, q->scans && wait > 0 ? wait : 0, 0);
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
        loop_timer_init(&q->timer, l, look_on, q);
    }
    if (!q || take_rules(q) < 0) {
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
    loop_timer_stop(&q->timer);
    if (q->look.proc)
        (void)closedir(q->look.proc);
    free(q->watched);
    free(q);
}
