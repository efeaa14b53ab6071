/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/reader/questions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text/words.h"
#include "node-daemon/reader/ge-spool.h"

struct question {
    const struct conf *conf;
    const struct reader_request *q;
    int fd;
    reply_fn fn;
    void *arg;
    struct reader_answer a;
};

/* ---- answers --------------------------------------------------------------------------------- */

void reply_init(struct reader_answer *ret, enum reader_op what, uint64_t id)
{
    memset(ret, 0, sizeof(*ret));
    ret->head = record_head(what, id);
}

void reply_fail(struct reader_answer *a, const struct error *err)
{
    a->code = err->code ? err->code : EIO;
    snprintf(a->text, sizeof(a->text), "%.255s", err->text);
    text_make_printable(a->text, strlen(a->text));
}

static void put_evidence(struct reader_answer *a, const struct task_evidence *t)
{
    a->evidence = t->evidence;
    memcpy(a->grant, t->grant, sizeof(t->grant));
    text_make_printable(a->grant, strlen(a->grant));
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static int prove(struct question *x, struct error *err)
{
    struct asker who;
    struct task_evidence t;
    enum grant_manager manager;
    if (asker_read(x->fd, &who, err) < 0)
        return -1;
    int rc = evidence_prove(x->conf, &who, &t, &manager, err);
    asker_free(&who);
    if (rc < 0)
        return -1;
    x->a.manager = manager;
    put_evidence(&x->a, &t);
    return 0;
}

static const struct evidence_source *source_of(const struct question *x, struct error *err)
{
    const struct evidence_source *s = evidence_of(x->conf, (enum grant_manager)x->q->manager);
    if (!s)
        error_set(err, ENOTSUP, "the job's manager is not in mprund's configuration");
    return s;
}

static int look_up(struct question *x, struct error *err)
{
    struct task_evidence t;
    const struct evidence_source *s = source_of(x, err);
    if (!s || !s->look_up || s->look_up(x->conf, x->q->job, x->q->task, &t, err) < 0)
        return -1;
    put_evidence(&x->a, &t);
    return 0;
}

static int is_known(struct question *x, struct error *err)
{
    const struct evidence_source *s = source_of(x, NULL);
    x->a.known = s ? s->is_known(x->conf, x->q->job) : -1;
    return 0;
}

static int claim(struct question *x, struct error *err)
{
    struct task_evidence t;
    if (claim_check(x->conf, x->q, &t, err) < 0)
        return -1;
    put_evidence(&x->a, &t);
    return 0;
}

/* ---- the host -------------------------------------------------------------------------------- */

/* That the manager's daemon does not run here is no limit. */
static int own_limit(struct question *x, struct error *err)
{
    const struct evidence_source *s = source_of(x, err);
    if (!s)
        return -1;
    pid_t pid = s->daemon ? s->daemon(x->conf) : -1;
    if (pid > 0)
        x->a.own_limit = own_memory_limit(pid);
    return 0;
}

/* ---- several answers ------------------------------------------------------------------------- */

/* The answer in x->a is one of several. */
static void give_one(struct question *x)
{
    x->a.more = 1;
    x->fn(x->arg, &x->a);
    reply_init(&x->a, (enum reader_op)x->q->head.what, x->q->head.id);
}

/* Where it cannot be read there are none: the execds' own numbers are good for nearly all. */
static int hosts(struct question *x, struct error *err)
{
    size_t n = 0;
    AUTO_CLOSE int dir = x->conf->ge_spool ? ge_spool_task(x->conf, x->q->job, "") : -1;
    AUTO_FREE char *text = dir < 0 ? NULL : ge_spool_text(x->conf, dir, "pe_hostfile");
    AUTO_FREE struct ge_host *found = text ? ge_hosts_of_several(text, &n) : NULL;
    for (size_t i = 0; found && i < n; i++) {
        snprintf(x->a.host, sizeof(x->a.host), "%s", found[i].name);
        text_make_printable(x->a.host, strlen(x->a.host));
        x->a.slots = found[i].slots;
        give_one(x);
    }
    return 0;
}

struct tasks {
    struct question *x;
    const char *job;
};

static int give_task(void *arg, int fd, const char *task)
{
    const struct tasks *t = arg;
    struct reader_answer *a = &t->x->a;
    snprintf(a->job, sizeof(a->job), "%.*s", GRANT_JOB_MAX - 1, t->job);
    snprintf(a->task, sizeof(a->task), "%.*s", GRANT_JOB_MAX - 1, task);
    a->group = ge_spool_group(t->x->conf, fd);
    a->pid = ge_spool_pid(t->x->conf, fd);
    give_one(t->x);
    return 0;
}

static int give_tasks(void *arg, int fd, const char *job)
{
    struct tasks t = {.x = arg, .job = job};
    (void)give_task(&t, fd, "");
    return ge_spool_each(t.x->conf, fd, ge_is_task, give_task, &t);
}

static int tasks(struct question *x, struct error *err)
{
    AUTO_CLOSE int jobs = x->conf->ge_spool ? ge_spool_active_jobs(x->conf) : -1;
    if (jobs >= 0)
        (void)ge_spool_each(x->conf, jobs, ge_is_job, give_tasks, x);
    return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int (*const answers[])(struct question *x, struct error *err) = {
    [READER_PROVE] = prove, [READER_LOOK_UP] = look_up, [READER_IS_KNOWN] = is_known,
    [READER_HOSTS] = hosts, [READER_CLAIM] = claim,     [READER_OWN_LIMIT] = own_limit,
    [READER_TASKS] = tasks,
};
enum { ANSWERS = sizeof(answers) / sizeof(answers[0]) };

bool question_is_whole(const struct reader_request *q)
{
    return (q->head.what == READER_DEMAND || (q->head.what < ANSWERS && answers[q->head.what])) &&
           memchr(q->job, 0, sizeof(q->job)) && memchr(q->task, 0, sizeof(q->task)) &&
           memchr(q->owner, 0, sizeof(q->owner));
}

void question_answer(const struct conf *c, const struct reader_request *q, int fd, reply_fn fn,
                     void *arg)
{
    struct error e;
    struct question x = {.conf = c, .q = q, .fd = fd, .fn = fn, .arg = arg};
    reply_init(&x.a, (enum reader_op)q->head.what, q->head.id);
    if (answers[q->head.what](&x, &e) < 0)
        reply_fail(&x.a, &e);
    fn(arg, &x.a);
}
