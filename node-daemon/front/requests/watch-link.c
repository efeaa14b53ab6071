/* SPDX-License-Identifier: BSD-3-Clause */
/* watch-link.c - watch claims a process for a job; the reader proves it; the mover makes the job;
 * and watch hears where the process is to go */
#include "node-daemon/front/requests/watch-link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/must.h"
#include "node-daemon/front/jobs/grants.h"
#include "node-daemon/front/jobs/sentinel.h"
#include "node-daemon/lib/watch-protocol.h"

enum { CLAIMS_MAX = 1024 /* under way */, ROOM_MS = 200 };

/* So long after its end what has a job's group is still looked for: the next look at everything, in
 * a minute, is within it. */
static const double ENDED_S = 90;
static const double LOOK_S = 5; /* where jobs end all the time: a look costs some 10 ms */

struct claim {
    struct watch_link *w;
    struct watch_record record;
    unsigned link; /* by which it came */
    bool is_cut;   /* some of the tasks could not be said */
};

static void readable(void *arg, int fd, unsigned events);

static void drop_link(struct watch_link *w)
{
    loop_io_destroy(take_ptr(w->io));
    cleanup_close(&w->fd);
}

static void take_link(struct watch_link *w)
{
    w->fd = take_fd(&w->start->link[ROLE_WATCH]);
    if (w->fd < 0)
        return;
    (void)fd_set_nonblock(w->fd, 1);
    w->hangs = false;
    w->links++;
    w->io = loop_io_create(w->loop, w->fd, LOOP_READ, readable, w);
}

/* The link takes a hundred records, and a list may have thousands: watch gets a moment to read, but
 * one that hangs only once, until it says something. */
static bool has_room(struct watch_link *w)
{
    struct pollfd p = {.fd = w->fd, .events = POLLOUT};
    if (!w->hangs)
        w->hangs = poll(&p, 1, ROOM_MS) != 1;
    return !w->hangs;
}

/* -1: it is not said. */
static int say(struct watch_link *w, struct watch_record *r, enum watch_op what, uint64_t id)
{
    int rc = -1;
    r->head = record_head(what, id);
    if (w->fd < 0) /* a link may have come while another was waited for */
        take_link(w);
    if (w->fd < 0)
        return -1;
    do
        rc = record_send(w->fd, r, sizeof(*r), -1);
    while (rc < 0 && errno == EAGAIN && has_room(w));
    if (rc < 0)
        log_debug("tell watch: %s", strerror(errno));
    return rc;
}

/* ---- groups of tasks ------------------------------------------------------------------------- */

static bool has_just_ended(const struct watch_group *g)
{
    return g->group != 0 && g->ended > 0 && loop_now() - g->ended < ENDED_S;
}

/* A free one, or of a job that ended long ago; else that which was heard of first. */
static struct watch_group *place_for_group(struct watch_link *w)
{
    for (size_t i = 0; i < WATCH_GROUPS; i++)
        if (w->group[i].group == 0 || (w->group[i].ended > 0 && !has_just_ended(&w->group[i])))
            return &w->group[i];
    return &w->group[w->replaced++ % WATCH_GROUPS];
}

void watch_link_note(struct watch_link *w, const char *job, gid_t group)
{
    if (group == 0)
        return;
    for (size_t i = 0; i < WATCH_GROUPS; i++)
        if (w->group[i].group == group && !strcmp(w->group[i].job, job)) {
            w->group[i].ended = 0; /* it has a directory: mprund ended what was idle, no more */
            return;
        }
    struct watch_group *g = place_for_group(w);
    *g = (struct watch_group){.group = group};
    snprintf(g->job, sizeof(g->job), "%s", job);
}

static void look_for_ended(void *arg)
{
    struct watch_link *w = arg;
    struct watch_record r = {.ended = 1};
    w->looked = loop_now();
    (void)say(w, &r, WATCH_LOOK, 0);
}

void watch_link_ended(struct watch_link *w, const struct job *job)
{
    bool has_group = false;
    for (size_t i = 0; i < WATCH_GROUPS; i++) {
        struct watch_group *g = &w->group[i];
        if (g->group == 0 || g->ended > 0 || strcmp(g->job, job->name) != 0 || job->uid == 0)
            continue;
        g->ended = loop_now();
        g->uid = job->uid;
        has_group = true;
    }
    if (has_group && !loop_timer_is_active(&w->look)) {
        double wait = w->looked + LOOK_S - loop_now();
        loop_timer_start(&w->look, wait > 0 ? wait : 0, 0);
    }
}

/* Is this process of a job that has just ended? */
static bool is_left_over(const struct watch_link *w, const struct reader_request *claim)
{
    for (size_t i = 0; i < WATCH_GROUPS; i++)
        if (claim->by_group && has_just_ended(&w->group[i]) &&
            !strcmp(w->group[i].job, claim->job) &&
            (w->group[i].uid == claim->real_uid || w->group[i].uid == claim->uid))
            return true;
    return false;
}

/* ---- claims ---------------------------------------------------------------------------------- */

/* The claim does not hold (is_refused), or it cannot be done. */
static void refuse(struct watch_link *w, uint64_t id, bool is_refused, const struct error *why)
{
    struct watch_record r = {.code = why->code ? why->code : EPERM, .is_refused = is_refused};
    snprintf(r.text, sizeof(r.text), "%.255s", why->text);
    (void)say(w, &r, WATCH_JOB, id);
}

static void make_job(struct watch_link *w, const struct watch_record *claimed,
                     const struct evidence *known)
{
    uint64_t id = claimed->head.id;
    struct error e;
    struct watch_record r = {.code = 0};
    const struct job *job =
        requests_job(w->r, (enum grant_manager)claimed->claim.manager, known, &e);
    if (!job) {
        refuse(w, id, false, &e);
        return;
    }
    r.uid = job->uid;
    snprintf(r.dir, sizeof(r.dir), "%s", job->dir);
    (void)say(w, &r, WATCH_JOB, id);
}

/* The job begins once more, without cores or limits of its own, and ends when it is next asked
 * whether its manager knows it: in some seconds, and with it who was put into it. */
static void make_job_again(struct watch_link *w, const struct watch_record *claimed)
{
    struct evidence known = {.uid = 0, .demand_known = 1};
    snprintf(known.name, sizeof(known.name), "%.*s", GRANT_JOB_MAX - 1, claimed->claim.job);
    for (size_t i = 0; i < WATCH_GROUPS; i++)
        if (has_just_ended(&w->group[i]) && !strcmp(w->group[i].job, known.name))
            known.uid = w->group[i].uid;
    make_job(w, claimed, &known);
}

/* The next watch counts its claims anew: one that has gone left no claim. */
static bool is_wanted(const struct claim *c)
{
    return c->link == c->w->links;
}

static void claim_answered(void *arg, const struct reader_answer *a)
{
    AUTO_FREE struct claim *c = arg;
    struct error e;
    c->w->claims--;
    if (!is_wanted(c))
        return;
    if (a && a->code == 0) {
        struct evidence known = a->evidence;
        grants_take(c->w->r->start, c->w->r->conf, a->grant, &known);
        make_job(c->w, &c->record, &known);
        return;
    }
    if (a && is_left_over(c->w, &c->record.claim)) {
        make_job_again(c->w, &c->record);
        return;
    }
    error_set(&e, a ? a->code : ETIMEDOUT, "%s",
              a ? a->text : "what the manager wrote on this host cannot be read in time");
    refuse(c->w, c->record.head.id, a != NULL, &e);
}

static struct claim *new_claim(struct watch_link *w, const struct watch_record *r)
{
    struct claim *c = must(malloc(sizeof(*c)));
    *c = (struct claim){.w = w, .record = *r, .link = w->links};
    return c;
}

static void take_claim(struct watch_link *w, const struct watch_record *r)
{
    struct error e;
    if (w->claims >= CLAIMS_MAX) {
        error_errno(&e, EBUSY, "look for the job of pid %d", (int)r->pid);
        refuse(w, r->head.id, false, &e);
        return;
    }
    AUTO_FREE struct claim *c = new_claim(w, r);
    if (reader_ask(w->r->reader, 0, READER_CLAIM, &c->record.claim, -1, claim_answered, c, NULL,
                   &e) < 0) {
        refuse(w, r->head.id, false, &e);
        return;
    }
    (void)take_ptr(c); /* claim_answered() frees it */
    w->claims++;
}

static void take_entered(struct watch_link *w, const struct watch_record *r)
{
    for (size_t i = 0; i < jobs_count(w->r->jobs); i++) {
        struct job *job = jobs_at(w->r->jobs, i);
        if (strncmp(job->dir, r->dir, sizeof(r->dir)) != 0 || job->state != GRANT_RUNNING)
            continue;
        if (job->awaited)
            jobs_come(w->r->jobs, job);
        sentinel_put(w->r->sentinels, job);
    }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static int say_ended(struct watch_link *w, uint64_t id)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < WATCH_GROUPS; i++) {
        const struct watch_group *g = &w->group[i];
        struct watch_record r = {.more = 1, .ended = 1, .group = g->group, .uid = g->uid};
        if (!has_just_ended(g))
            continue;
        memcpy(r.claim.job, g->job, sizeof(r.claim.job));
        rc = say(w, &r, WATCH_TASK, id);
    }
    return rc;
}

static void task_answered(void *arg, const struct reader_answer *a)
{
    AUTO_FREE struct claim *c = arg;
    struct watch_record r = {.code = a ? a->code : ETIMEDOUT};
    c->is_cut |= !is_wanted(c);
    if (a) {
        r.more = a->more;
        r.group = a->group;
        memcpy(r.claim.job, a->job, sizeof(r.claim.job));
        memcpy(r.claim.task, a->task, sizeof(r.claim.task));
    }
    if (a && a->more)
        watch_link_note(c->w, a->job, (gid_t)a->group);
    else if (a && !a->code && !c->is_cut && say_ended(c->w, c->record.head.id) < 0)
        c->is_cut = true;
    if (!c->is_cut) /* a list without an end is asked for again */
        c->is_cut = say(c->w, &r, WATCH_TASK, c->record.head.id) < 0;
    if (r.more)
        (void)take_ptr(c); /* for the next answer */
}

static void ask_tasks(struct watch_link *w, const struct watch_record *r)
{
    struct reader_request q = {.manager = GRANT_GRIDENGINE};
    struct watch_record none = {.code = EIO};
    AUTO_FREE struct claim *c = new_claim(w, r);
    if (w->r->conf->ge_spool &&
        reader_ask(w->r->reader, 0, READER_TASKS, &q, -1, task_answered, c, NULL, NULL) == 0)
        (void)take_ptr(c); /* task_answered() frees it */
    else
        (void)say(w, &none, WATCH_TASK, r->head.id);
}

/* ---- the link -------------------------------------------------------------------------------- */

static void take_daemon(struct watch_link *w)
{
    struct mover_request q = {.exclusive = w->r->conf->cores == CORES_EXCLUSIVE};
    struct mover_answer a;
    struct error e;
    if (mover_ask(w->start, &q, MOVER_PREPARE, -1, &a, &e) < 0)
        log_warn("%s", e.text);
}

static void readable(void *arg, int fd, unsigned events)
{
    struct watch_link *w = arg;
    struct watch_record r;
    AUTO_CLOSE int none = -1;
    w->hangs = false;
    if (record_receive(fd, &r, sizeof(r), &none) <= 0) {
        drop_link(w); /* the supervisor starts the next one, or has done so */
        take_link(w);
    } else if (r.head.what == WATCH_CLAIM) {
        take_claim(w, &r);
    } else if (r.head.what == WATCH_TASKS) {
        ask_tasks(w, &r);
    } else if (r.head.what == WATCH_ENTERED) {
        take_entered(w, &r);
    } else if (r.head.what == WATCH_DAEMON) {
        take_daemon(w);
    } else if (r.head.what == WATCH_WHO) {
        r.dir[sizeof(r.dir) - 1] = r.text[sizeof(r.text) - 1] = 0;
        jobs_take_stuck(w->r->jobs, r.dir, r.part, r.text);
    }
}

void watch_link_renew(struct watch_link *w)
{
    drop_link(w);
    take_link(w);
}

void watch_link_consider(struct watch_link *w, pid_t pid)
{
    struct watch_record r = {.pid = pid};
    (void)say(w, &r, WATCH_CONSIDER, 0);
}

void watch_link_look(struct watch_link *w)
{
    struct watch_record r = {.pid = 0};
    (void)say(w, &r, WATCH_LOOK, 0);
}

void watch_link_stuck(struct watch_link *w, const struct job *job, size_t part)
{
    struct watch_record r = {.part = (uint32_t)part};
    memcpy(r.dir, job->dir, sizeof(r.dir));
    (void)say(w, &r, WATCH_WHO, 0);
}

void watch_link_init(struct watch_link *w, struct loop *l, struct start *start, struct requests *r)
{
    *w = (struct watch_link){.loop = l, .start = start, .r = r, .fd = -1, .looked = -LOOK_S};
    loop_timer_init(&w->look, l, look_for_ended, w);
    take_link(w);
}

void watch_link_close(struct watch_link *w)
{
    loop_timer_stop(&w->look);
    if (w->loop)
        drop_link(w);
}
