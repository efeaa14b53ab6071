/* SPDX-License-Identifier: BSD-3-Clause */
/* look.c - a look at everything: managers' processes by what they run, and all others by the group
 * of a task
 *
 * Watch asks front for the tasks, then goes through /proc, TURN processes at a time. It claims what
 * it finds, several processes at once, but of a task's group one first: the others follow where
 * that one goes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "node-daemon/lib/trace.h"
#include "node-daemon/watch/proof.h"
#include "node-daemon/watch/quarantine-private.h"

static const double TICK_S = 0.02; /* of the kernel's time of a process's start, and some */
static const double SCAN_S = 1, TASKS_S = 5, AGAIN_S = 0.2 /* for the list of tasks */;
enum { TURN = 128 /* processes between two looks at all else */, CLAIMS_AT_ONCE = 16 };
enum { TASKS_MAX = 65536 };

/* ---- by the group ---------------------------------------------------------------------------- */

static bool is_owners(const struct task *t, const struct process *p)
{
    return t->uid != 0 && (p->real_uid == t->uid || p->uid == t->uid);
}

static void move_to(struct quarantine *q, struct task *t, const struct process *p)
{
    struct reader_request what;
    proof_by_group(t->job, t->task, p, &what);
    q->look.moved += quarantine_contain(q, p, &what, t->dir, "group") > 0;
}

/* Takes p. */
static void ask_for(struct quarantine *q, struct task *t, struct process *p)
{
    struct reader_request what;
    proof_by_group(t->job, t->task, p, &what);
    if (quarantine_claim(q, p, &what, "group", true) < 0)
        return;
    t->state = TASK_ASKED;
    q->look.asked = t;
}

/* The task that this process is in by its group, as far as is known. */
static struct task *task_of(struct quarantine *q, const struct process *p)
{
    for (size_t i = 0; i < q->look.tasks; i++) {
        struct task *t = &q->look.task[i];
        if (t->group != 0 && t->state != TASK_FAILED && process_has_group(p, t->group) &&
            ((t->state != TASK_KNOWN && !t->has_ended) || is_owners(t, p)) &&
            (!t->has_ended || process_start(p) < q->look.begin_up - TICK_S))
            return t;
    }
    return NULL;
}

static void look_at_group(struct quarantine *q, pid_t pid)
{
    char in[CGROUP_NAME_MAX];
    struct process p;
    if (q->look.tasks == 0 || claims_have(&q->claims, pid) || process_open(pid, &p) < 0)
        return;
    struct task *t = task_of(q, &p);
    bool is_out = t && contain_where(&q->containment, &p, in) == 0 && !in[0];
    if (is_out && t->state == TASK_NEW) {
        ask_for(q, t, &p);
        return;
    }
    if (is_out)
        move_to(q, t, &p);
    process_close(&p);
}

/* ---- one after the other --------------------------------------------------------------------- */

static void end_look(struct quarantine *q)
{
    struct look l = q->look;
    look_drop(q);
    q->scanned = loop_now();
    trace("scan number=%lu why=%s tasks=%zu processes=%zu moved=%zu ms=%.0f", q->scans, q->why,
          l.tasks, l.processes, l.moved, (q->scanned - l.begin) * 1000);
    if (l.again || l.moved > 0) /* until there is nobody left to move */
        look_schedule(q, l.again ? l.again : "moved");
}

static bool has_to_wait(const struct look *l)
{
    return l->asked || l->claims >= CLAIMS_AT_ONCE;
}

static void look_at_some(struct quarantine *q)
{
    struct look *l = &q->look;
    struct dirent *e = NULL;
    int64_t pid;
    for (int n = 0; n < TURN && !has_to_wait(l) && (e = readdir(l->proc));) {
        if (number_parse(e->d_name, NULL, 1, INT32_MAX, &pid, NULL) < 0)
            continue;
        n++;
        l->processes++;
        if (quarantine_look_at(q, (pid_t)pid, "scan", true) < 0)
            look_at_group(q, (pid_t)pid);
    }
    if (!e && !has_to_wait(l))
        l->state = LOOK_WAITS;
}

/* An answer goes on where the look has to wait. */
static void go_on(struct quarantine *q)
{
    struct look *l = &q->look;
    quarantine_look_at_programs(q);
    if (l->state == LOOK_WALKS && !has_to_wait(l))
        look_at_some(q);
    if (l->state == LOOK_WALKS && !has_to_wait(l))
        loop_timer_start(&q->timer, 0, 0);
    else if (l->state == LOOK_WAITS && l->claims == 0)
        end_look(q);
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Until it is answered: without the reader no claim can be, either. */
static void ask_tasks(struct quarantine *q)
{
    struct watch_record r = {.code = 0};
    q->look.state = LOOK_ASKS;
    q->look.tasks = 0;
    q->look.question = ++q->questions;
    (void)quarantine_say(q, &r, WATCH_TASKS, q->look.question);
    loop_timer_start(&q->timer, TASKS_S, 0);
}

static void begin(struct quarantine *q)
{
    struct look *l = &q->look;
    if (q->front < 0) /* the next link is what it begins with */
        return;
    q->scans++;
    *l = (struct look){.proc = opendir("/proc"),
                       .begin = loop_now(),
                       .begin_up = host_up_seconds(),
                       .state = LOOK_WALKS};
    if (!l->proc) {
        log_error("look at all processes: open '/proc': %s", strerror(errno));
        return;
    }
    if (q->conf->ge_spool)
        ask_tasks(q);
    else
        loop_timer_start(&q->timer, 0, 0);
}

static void on_timer(void *arg)
{
    struct quarantine *q = arg;
    if (!q->look.proc)
        begin(q);
    else if (q->look.state == LOOK_ASKS)
        ask_tasks(q);
    else
        go_on(q);
}

static bool has_task_of(const struct look *l, gid_t group)
{
    for (size_t i = 0; i < l->tasks; i++)
        if (l->task[i].group == group && !l->task[i].has_ended)
            return true;
    return false;
}

void look_take_task(struct quarantine *q, const struct watch_record *r)
{
    struct look *l = &q->look;
    if (!l->proc || l->state != LOOK_ASKS || r->head.id != l->question)
        return;
    /* Grid Engine gave the group to another task: who has it is that one's */
    bool is_given_again = r->ended && has_task_of(l, r->group);
    if (r->more && !is_given_again && l->tasks < TASKS_MAX) {
        l->task = must(reallocarray(l->task, l->tasks + 1, sizeof(*l->task)));
        struct task *t = &l->task[l->tasks++];
        *t = (struct task){.group = r->group, .uid = r->uid, .has_ended = r->ended != 0};
        memcpy(t->job, r->claim.job, sizeof(t->job));
        memcpy(t->task, r->claim.task, sizeof(t->task));
    }
    if (r->more)
        return;
    if (r->code) {
        loop_timer_start(&q->timer, AGAIN_S, 0);
        return;
    }
    l->state = LOOK_WALKS;
    loop_timer_start(&q->timer, 0, 0);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* That one process cannot be moved, which its user can cause, says nothing of the others. */
static void learn(struct task *t, const struct watch_record *answer)
{
    bool is_refused = answer && answer->code && answer->is_refused;
    if (is_refused && answer->code == EPERM) { /* this process is not of it; the next one may be */
        t->state = TASK_NEW;
    } else if (!answer || answer->code) {
        t->state = TASK_FAILED;
    } else {
        t->state = TASK_KNOWN;
        t->uid = answer->uid;
        memcpy(t->dir, answer->dir, sizeof(t->dir));
    }
}

void look_answered(struct quarantine *q, const struct claim *c, const struct watch_record *answer,
                   int moved)
{
    struct look *l = &q->look;
    if (!c->is_of_look || !l->proc)
        return;
    l->claims--;
    l->moved += moved > 0;
    if (c->what.by_group && l->asked)
        learn(take_ptr(l->asked), answer);
    if (!loop_timer_is_active(&q->timer))
        loop_timer_start(&q->timer, 0, 0);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void look_schedule(struct quarantine *q, const char *why)
{
    if (q->look.proc && !q->look.again)
        q->look.again = why;
    if (q->look.proc || loop_timer_is_active(&q->timer))
        return;
    double wait = q->scanned + SCAN_S - loop_now();
    q->why = why;
    loop_timer_start(&q->timer, q->scans && wait > 0 ? wait : 0, 0);
}

void look_drop(struct quarantine *q)
{
    struct look *l = &q->look;
    loop_timer_stop(&q->timer);
    if (l->proc)
        (void)closedir(l->proc);
    free(l->task);
    *l = (struct look){.proc = NULL};
}

void look_init(struct quarantine *q)
{
    loop_timer_init(&q->timer, q->loop, on_timer, q);
}
