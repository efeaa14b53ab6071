/* SPDX-License-Identifier: BSD-3-Clause */
/* ask-mprund.c - asks mprund, the node daemon, for a part of the job's cgroup
 *
 * If mprund does not run, that is known at once; this process goes on without an mprund that shows
 * no sign of life. mprund moves the calling process into the job's delegated part, so that the
 * process can move what it starts below that. */
#include "containment/job-cgroup/parents.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/idset.h"
#include "common/loop.h"
#include "containment/mprund-protocol.h"
#include "containment/tunables.h"

struct mprund_question {
    int fd;
    enum grant_op op;
    double since;
    struct loop_io *io;
    struct loop_timer timer;
    cgroup_daemon_fn fn;
    void *arg;
};

void cgroup_daemon_forget(struct mprund_question *a)
{
    if (!a)
        return;
    loop_io_destroy(a->io);
    loop_timer_stop(&a->timer);
    cleanup_close(&a->fd);
    free(a);
}

static void answered(struct mprund_question *a, const struct grant_answer *answer,
                     const struct error *why)
{
    cgroup_daemon_fn fn = a->fn;
    void *arg = a->arg;
    cgroup_daemon_forget(a);
    fn(arg, answer, why);
}

/* Returns true if there was an answer; a is freed then. */
static bool hear(struct mprund_question *a)
{
    struct grant_answer answer;
    struct error e;
    int rc = grant_receive(a->fd, 0, &answer, &e);
    if (rc < 0 && errno == EAGAIN)
        return false;
    if (rc == 0 && answer.result != GRANT_OK)
        rc = error_set(&e, EACCES, "mprund %s: %s",
                       a->op == GRANT_PLACE ? "gives no place" : "does not lend", answer.text);
    answered(a, rc < 0 ? NULL : &answer, rc < 0 ? &e : NULL);
    return true;
}

static void answer_ready(void *arg, int fd, unsigned events)
{
    (void)hear(arg);
}

/* The loop calls timers before descriptors: if this process itself did not run for that long, the
 * answer may be there already. */
static void time_over(void *arg)
{
    struct mprund_question *a = arg;
    struct error e;
    if (hear(a))
        return;
    double more = grant_patience(a->fd, a->since, GRANT_ANSWER_S, &e);
    if (more > 0)
        loop_timer_start(&a->timer, more, 0);
    else
        answered(a, NULL, &e);
}

static struct mprund_question *ask(struct loop *l, const struct grant_request *q,
                                   cgroup_daemon_fn fn, void *arg, struct error *err)
{
    double since = loop_now();
    int fd = grant_send(NULL, q, err);
    if (fd < 0)
        return NULL;
    struct mprund_question *a = must(malloc(sizeof(*a)));
    *a = (struct mprund_question){
        .op = (enum grant_op)q->op, .fn = fn, .arg = arg, .since = since, .fd = fd};
    loop_timer_init(&a->timer, l, time_over, a);
    a->io = loop_io_create(l, a->fd, LOOP_READ, answer_ready, a);
    loop_timer_start(&a->timer, GRANT_LEAST_S, 0);
    return a;
}

int cgroup_daemon_ask(struct loop *l, cgroup_daemon_fn fn, void *arg, struct error *err)
{
    struct grant_request q;
    grant_request_init(&q, GRANT_PLACE, GRANT_ANY);
    if (ask(l, &q, fn, arg, err))
        return 0;
    if (err->code == ENOENT)
        err->text[0] = 0; /* mprund is optional, and does not run here */
    return -1;
}

struct mprund_question *cgroup_daemon_suspended(struct loop *l, const char *cgroup,
                                                const struct idset *cpus, const char *gpus,
                                                cgroup_daemon_fn fn, void *arg, struct error *err)
{
    struct grant_request q;
    grant_request_init(&q, GRANT_SUSPENDED, GRANT_ANY);
    AUTO_FREE char *text = idset_format(cpus);
    if (strlen(text) >= sizeof(q.cpus) || strlen(cgroup) >= sizeof(q.cgroup) ||
        strlen(gpus) >= sizeof(q.ids)) {
        error_set(err, E2BIG, "lend hardware threads %s and GPUs %s: that is too long", text, gpus);
        return NULL;
    }
    strcpy(q.cpus, text);
    strcpy(q.cgroup, cgroup);
    strcpy(q.ids, gpus);
    return ask(l, &q, fn, arg, err);
}

int cgroup_daemon_hold_devices(const char *cgroup, const char *gpus, struct error *err)
{
    struct grant_request q;
    struct grant_answer answer;
    grant_request_init(&q, GRANT_DEVICES, GRANT_ANY);
    if (strlen(cgroup) >= sizeof(q.cgroup) || strlen(gpus) >= sizeof(q.ids))
        return error_set(err, E2BIG, "ask mprund to hold cgroup '%s' to GPUs %s: that is too long",
                         cgroup, gpus);
    strcpy(q.cgroup, cgroup);
    strcpy(q.ids, gpus);
    AUTO_CLOSE int fd = grant_send_patiently(&q, POLICY_DEVICES_S / 2, err);
    if (fd < 0 || grant_receive(fd, POLICY_DEVICES_S / 2, &answer, err) < 0)
        return -1;
    return answer.result == GRANT_OK
               ? 0
               : error_set(err, EACCES, "mprund does not hold it to GPUs %s: %s", gpus,
                           answer.text);
}

/* v1 delegates nothing; mprund's limits still hold for everything that this process starts. */
int cgroup_parents_granted(const struct grant_answer *answer, struct cgroup_parents *ret,
                           struct error *err)
{
    *ret = (struct cgroup_parents){0};
    if (!answer->v2[0])
        return error_set(err, ENOTSUP,
                         "mprund has put this process into the cgroup of job %s, but there is no "
                         "cgroup v2 here that it could give a part of",
                         answer->job);
    if (answer->v2[0] != '/')
        return error_set(err, EPROTO, "mprund gives a place that is none");
    ret->v2 = must(strdup(answer->v2));
    ret->v2_controllers = answer->controllers;
    return 0;
}
