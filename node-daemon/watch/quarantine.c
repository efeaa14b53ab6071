/* SPDX-License-Identifier: BSD-3-Clause */
/* quarantine.c - finds processes of jobs that did not ask for their cgroup, and has them put into
 * it
 *
 * Watch finds a process in three ways: by an exec of a manager's program (proc-events.c), by what
 * an execd writes (the reader tells), and by a look at all of /proc (look.c): at the start,
 * whenever it may have missed something, at most once a second, and once a minute. It then proves
 * from /proc which job the process is of (proof.c) and asks front about that: a claim. With front's
 * answer it has the process moved (contain.c): first the manager's process, so that all that it
 * starts from then on is born inside; then the processes that it had started, down to the last. A
 * look at everything finds those that have lost their parent by then, by the task's group. */
#include "node-daemon/watch/quarantine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/must.h"
#include "node-daemon/lib/trace.h"
#include "node-daemon/watch/proc-events.h"
#include "node-daemon/watch/proof.h"
#include "node-daemon/watch/quarantine-private.h"

static const double PROGRAMS_S = 1, TELL_S = 1, MINUTE_S = 60, ANSWER_S = 10, PATIENCE_S = 2;
enum { RECORDS_A_TURN = 64 };

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

/* ---- moving ---------------------------------------------------------------------------------- */

static void tell_moved(const struct reader_request *what, const struct process *p, size_t below,
                       const char *how)
{
    trace("enter job=%s task=%s pid=%d below=%zu how=%s", what->job, what->task, (int)p->pid, below,
          how);
    if (below == 0 && !strcmp(how, "exec"))
        return;
    log_note("job %s: pid %d%s was not in the job's cgroup, and is now (found by %s)", what->job,
             (int)p->pid, below ? ", with what it had started," : "", how);
}

/* A user can be the cause, of one that has ended as well as of a job that cannot be made. */
static void tell_failed(struct quarantine *q, const struct process *p,
                        const struct reader_request *what, const char *how, const char *why)
{
    int before = throttle(&q->failures);
    if (before < 0)
        return;
    trace("failed job=%s pid=%d how=%s before=%d", what->job, (int)p->pid, how, before);
    log_error("put pid %d into job %s: %s", (int)p->pid, what->job, why);
    if (before > 0)
        log_error("%d other processes before it were put into no job", before);
}

static void tell_entered(struct quarantine *q, const char *dir)
{
    struct watch_record r = {.code = 0};
    memcpy(r.dir, dir, strlen(dir) + 1);
    (void)quarantine_say(q, &r, WATCH_ENTERED, 0);
}

int quarantine_contain(struct quarantine *q, const struct process *p,
                       const struct reader_request *what, const char *dir, const char *how)
{
    struct error e;
    char in[CGROUP_NAME_MAX];
    int is = contain_where(&q->containment, p, in);
    if (!process_is_alive(p))
        return 0;
    if (is < 0 || (in[0] && strcmp(in, dir) != 0)) {
        trace("left job=%s pid=%d how=%s", what->job, (int)p->pid, how);
        return 0;
    }
    loop_defer_schedule(&q->renew); /* a new link may come while the mover is waited for */
    if (!in[0] && contain_enter(&q->containment, dir, p, &e) < 0) {
        if (e.code == ESRCH)
            return 0;
        tell_failed(q, p, what, how, e.text);
        return -1;
    }
    size_t below = contain_below(&q->containment, dir, p->pid);
    if (!in[0] || below > 0)
        tell_moved(what, p, below, how);
    else
        trace("inside job=%s task=%s pid=%d how=%s", what->job, what->task, (int)p->pid, how);
    tell_entered(q, dir);
    if (below > 0) /* others may have lost their parent */
        look_schedule(q, "late");
    return !in[0];
}

/* ---- claiming -------------------------------------------------------------------------------- */

/* Users can cause as many of these as they like, by starting a manager's program. */
static void refuse(struct quarantine *q, const struct process *p, const char *why, const char *how)
{
    int before = throttle(&q->refusals);
    if (before < 0)
        return;
    trace("refused pid=%d uid=%u how=%s before=%d: %s", (int)p->pid, (unsigned)p->real_uid, how,
          before, why);
    if (p->real_uid == 0)
        log_warn("pid %d, which looks like a manager's, is put into no job: %s", (int)p->pid, why);
}

int quarantine_claim(struct quarantine *q, struct process *p, const struct reader_request *what,
                     const char *how, bool is_of_look)
{
    struct watch_record r = {.pid = p->pid, .claim = *what};
    struct claim *c = claims_add(&q->claims, p, what, how, is_of_look);
    if (!c) {
        process_close(p);
    } else if (quarantine_say(q, &r, WATCH_CLAIM, c->id) == 0) {
        q->look.claims += is_of_look;
        if (!loop_timer_is_active(&q->patience))
            loop_timer_start(&q->patience, PATIENCE_S, PATIENCE_S);
        return 0;
    } else {
        claims_end(&q->claims, c);
    }
    look_schedule(q, "busy");
    return -1;
}

static void end_claim(struct quarantine *q, struct claim *c, const struct watch_record *answer,
                      int moved)
{
    look_answered(q, c, answer, moved);
    claims_end(&q->claims, c);
    if (q->claims.n == 0)
        loop_timer_stop(&q->patience);
}

static void take_job(struct quarantine *q, const struct watch_record *r)
{
    struct claim *c = claims_find(&q->claims, r->head.id);
    int moved = 0;
    if (!c)
        return;
    if (r->code == 0)
        moved = quarantine_contain(q, &c->p, &c->what, r->dir, c->how);
    else if (!process_is_alive(&c->p) || (r->is_refused && c->what.by_group))
        moved = 0;
    else if (r->is_refused)
        refuse(q, &c->p, r->text, c->how);
    else
        tell_failed(q, &c->p, &c->what, c->how, r->text);
    end_claim(q, c, r, moved);
}

static void on_patience(void *arg)
{
    struct quarantine *q = arg;
    for (struct claim *c; (c = claims_old(&q->claims, ANSWER_S));) {
        tell_failed(q, &c->p, &c->what, c->how, "mprund does not say which cgroup it is");
        end_claim(q, c, NULL, 0);
    }
}

/* ---- proving --------------------------------------------------------------------------------- */

static int prove(const struct watched *w, const struct process *p, struct reader_request *ret,
                 struct error *err)
{
    if (!process_runs(p, &w->process))
        return error_set(err, EPERM, "it does not run '%s'", w->process.path);
    return w->rule ? proof_by_rule(w->rule, &w->daemon, p, ret, err)
                   : proof_of_shepherd(&w->daemon, p, ret, err);
}

/* Is this directory, of a job's, that of the claim's? As far as its name tells: "ge-23.1-NONCE". */
static bool is_of_job(const char *dir, const char *job)
{
    const char *name = strchr(dir, '-'), *nonce = strrchr(dir, '-');
    size_t len = strlen(job);
    return name && (size_t)(nonce - name) == len + 1 && !strncmp(name + 1, job, len);
}

static bool is_elsewhere(const struct quarantine *q, const struct process *p,
                         const struct reader_request *what)
{
    char in[CGROUP_NAME_MAX];
    return contain_where(&q->containment, p, in) < 0 || (in[0] && !is_of_job(in, what->job));
}

static void consider(struct quarantine *q, const struct watched *w, pid_t pid, const char *how,
                     bool is_of_look)
{
    struct error e;
    struct process p;
    struct reader_request what;
    if (claims_have(&q->claims, pid) || process_open(pid, &p) < 0)
        return;
    if (prove(w, &p, &what, &e) < 0) {
        if (process_is_alive(&p))
            refuse(q, &p, e.text, how);
    } else if (is_elsewhere(q, &p, &what)) {
        trace("left job=%s pid=%d how=%s", what.job, (int)pid, how);
    } else {
        (void)quarantine_claim(q, &p, &what, how, is_of_look);
        return;
    }
    process_close(&p);
}

/* ---- execs ----------------------------------------------------------------------------------- */

void quarantine_look_at_programs(struct quarantine *q)
{
    q->looked = loop_now();
    for (size_t i = 0; i < q->n; i++) {
        program_look(&q->watched[i].daemon);
        program_look(&q->watched[i].process);
    }
}

static bool was_seen(const struct watched *w, const struct process *p)
{
    for (size_t i = 0; i < DAEMONS; i++)
        if (w->seen[i].pid == p->pid && process_is_alive(&w->seen[i]))
            return true;
    return false;
}

/* Takes p, to know it again. */
static void keep_seen(struct watched *w, const struct process *p)
{
    struct process *place = &w->seen[w->nseen];
    if (place->pid > 0)
        process_close(place);
    *place = *p;
    w->nseen = (w->nseen + 1) % DAEMONS;
}

/* A manager's daemon: what its jobs' cgroups are in has to be ready. Users can start it as well. */
static void daemon_runs(struct quarantine *q, struct watched *w, pid_t pid, const char *how)
{
    struct process p;
    struct watch_record r = {.pid = pid};
    if (process_open(pid, &p) < 0)
        return;
    if (p.real_uid != 0 || was_seen(w, &p) || quarantine_say(q, &r, WATCH_DAEMON, 0) < 0) {
        process_close(&p);
        return;
    }
    keep_seen(w, &p);
    trace("daemon manager=%s pid=%d how=%s ground=%s", w->rule ? w->rule->name : "gridengine",
          (int)pid, how, q->containment.ground.part[0].path);
}

int quarantine_look_at(struct quarantine *q, pid_t pid, const char *how, bool is_of_look)
{
    struct program runs;
    if (program_of(pid, &runs) < 0) /* its first thread or the file's server may be gone */
        return -1;
    for (size_t i = 0; i < q->n; i++) {
        struct watched *w = &q->watched[i];
        if (program_is(&runs, &w->process)) {
            consider(q, w, pid, how, is_of_look);
            return 0;
        }
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
        quarantine_look_at_programs(q);
    (void)quarantine_look_at(q, pid, "exec", false);
}

static void on_lost_execs(void *arg)
{
    trace("lost execs");
    look_schedule(arg, "lost-execs");
}

/* The reader has heard of this process in the spool directory. */
static void take_pid(struct quarantine *q, pid_t pid)
{
    if (!q->conf->ge_spool)
        return;
    quarantine_look_at_programs(q);
    consider(q, &q->watched[0], pid, "spool", false);
}

/* ---- front ----------------------------------------------------------------------------------- */

int quarantine_say(struct quarantine *q, struct watch_record *r, enum watch_op what, uint64_t id)
{
    r->head = record_head(what, id);
    return q->front < 0 ? -1 : record_send(q->front, r, sizeof(*r), -1);
}

/* Its answers are not those of the next one. */
static void drop_front(struct quarantine *q)
{
    loop_io_destroy(take_ptr(q->io));
    cleanup_close(&q->front);
    look_drop(q);
    claims_clear(&q->claims);
    loop_timer_stop(&q->patience);
}

static bool is_whole(const struct watch_record *r)
{
    return memchr(r->dir, 0, sizeof(r->dir)) && memchr(r->text, 0, sizeof(r->text)) &&
           memchr(r->claim.job, 0, sizeof(r->claim.job)) &&
           memchr(r->claim.task, 0, sizeof(r->claim.task));
}

static void tell_who(struct quarantine *q, const struct watch_record *asked)
{
    const struct ground *g = &q->containment.ground;
    struct watch_record r = *asked;
    if (r.part >= g->n || !ground_is_job(r.dir))
        return;
    at_describe(ground_at(g, r.part, r.dir), r.text, sizeof(r.text));
    (void)quarantine_say(q, &r, WATCH_WHO, r.head.id);
}

static void take_record(struct quarantine *q, const struct watch_record *r)
{
    if (r->head.what == WATCH_JOB)
        take_job(q, r);
    else if (r->head.what == WATCH_TASK)
        look_take_task(q, r);
    else if (r->head.what == WATCH_CONSIDER)
        take_pid(q, r->pid);
    else if (r->head.what == WATCH_LOOK)
        look_schedule(q, r->ended ? "ended" : "lost-spool");
    else if (r->head.what == WATCH_WHO)
        tell_who(q, r);
}

static void readable(void *arg, int fd, unsigned events)
{
    struct quarantine *q = arg;
    struct watch_record r;
    for (int i = 0; i < RECORDS_A_TURN && q->front == fd; i++) {
        AUTO_CLOSE int none = -1;
        int got = record_receive(fd, &r, sizeof(r), &none);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0 || !is_whole(&r)) {
            drop_front(q);
            return;
        }
        take_record(q, &r);
    }
}

void quarantine_renew(struct quarantine *q)
{
    int *new = &q->containment.start->link[ROLE_FRONT];
    if (*new < 0)
        return;
    drop_front(q);
    q->front = take_fd(new);
    (void)fd_set_nonblock(q->front, 1);
    q->io = loop_io_create(q->loop, q->front, LOOP_READ, readable, q);
    if (q->hears)
        look_schedule(q, q->scans ? "lost-front" : "begin");
}

/* ---- beginning ------------------------------------------------------------------------------- */

static void take_rules(struct quarantine *q)
{
    const struct conf *c = q->conf;
    q->watched = must(calloc(c->nrules + 1, sizeof(*q->watched)));
    if (c->ge_spool)
        q->watched[q->n++] =
            (struct watched){.daemon = {.path = c->ge_execd}, .process = {.path = c->ge_shepherd}};
    for (size_t i = 0; i < c->nrules; i++)
        q->watched[q->n++] = (struct watched){.rule = &c->rule[i],
                                              .daemon = {.path = c->rule[i].daemon},
                                              .process = {.path = c->rule[i].process}};
}

/* Processes may have left their job's cgroup since. */
static void on_minute(void *arg)
{
    look_schedule(arg, "minute");
}

static void begin_to_hear(struct quarantine *q)
{
    static const struct proc_events_calls execs = {.exec = on_exec, .lost = on_lost_execs};
    const struct conf *c = q->conf;
    bool spool = c->watch_spool && c->ge_spool;
    struct error e;
    if (c->process_events &&
        !(q->events = proc_events_create(q->loop, (size_t)c->event_queue << 10, &execs, q, &e)))
        log_error("%s; going on without", e.text);
    q->hears = q->events || spool;
    trace("begin execs=%s spool=%s rules=%zu", q->events ? "yes" : "no", spool ? "yes" : "no",
          c->nrules);
    if (q->hears)
        loop_timer_start(&q->minute, MINUTE_S, MINUTE_S);
}

static void on_renew(void *arg)
{
    quarantine_renew(arg);
}

struct quarantine *quarantine_create(struct loop *l, struct start *s, const struct conf *c)
{
    struct quarantine *q = must(calloc(1, sizeof(*q)));
    q->loop = l;
    q->conf = c;
    q->front = -1;
    q->containment.start = s;
    ground_of_start(s, &q->containment.ground);
    look_init(q);
    loop_timer_init(&q->patience, l, on_patience, q);
    loop_timer_init(&q->minute, l, on_minute, q);
    loop_defer_init(&q->renew, l, on_renew, q);
    take_rules(q);
    begin_to_hear(q);
    quarantine_renew(q);
    return q;
}

void quarantine_destroy(struct quarantine *q)
{
    if (!q)
        return;
    drop_front(q);
    proc_events_destroy(q->events);
    loop_timer_stop(&q->minute);
    loop_defer_stop(&q->renew);
    for (size_t i = 0; i < q->n * DAEMONS; i++)
        if (q->watched[i / DAEMONS].seen[i % DAEMONS].pid > 0)
            process_close(&q->watched[i / DAEMONS].seen[i % DAEMONS]);
    free(q->watched);
    free(q);
}
