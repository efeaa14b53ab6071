/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/reader/questions.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/text/number.h"
#include "node-daemon/reader/ge-spool.h"
#include "node-daemon/reader/evidence-sources.h"

/* ---- rules ----------------------------------------------------------------------------------- */

static int find_owner(const char *text, uid_t *ret, struct error *err)
{
    int64_t uid;
    if (owner_find(text, ret) == 0)
        return 0;
    if (number_parse(text, NULL, 1, UINT32_MAX - 1, &uid, NULL) < 0)
        return error_set(err, EPERM,
                         "the owner that its environment names is no user of this host");
    *ret = (uid_t)uid;
    return 0;
}

static int check_rule(const struct reader_request *q, struct task_evidence *ret, struct error *err)
{
    struct task_evidence t = {.grant = ""};
    if (!grant_is_job_name(q->job))
        return error_set(err, EINVAL, "what its environment says is no name of a job");
    snprintf(t.evidence.name, sizeof(t.evidence.name), "%s", q->job);
    if (find_owner(q->owner, &t.evidence.uid, err) < 0)
        return -1;
    *ret = t;
    return 0;
}

/* ---- Grid Engine ----------------------------------------------------------------------------- */

/* Where the process is says which directory may be meant; that it is this very one, opened as
 * things are that others can write near, is what counts. Where the execd was started again
 * meanwhile the shepherd is no child of it any more: then the number in the directory counts. */
static int check_shepherd(const struct conf *c, const struct reader_request *q, struct error *err)
{
    struct stat is;
    AUTO_CLOSE int dir = ge_spool_task(c, q->job, q->task);
    if (dir < 0 || fstat(dir, &is) < 0)
        return error_set(err, EPERM, "it is in no directory of a task's in '%s'", c->ge_spool);
    if (is.st_dev != q->dev || is.st_ino != q->ino)
        return error_set(err, EPERM, "it is in another directory than job %s's", q->job);
    if (q->shepherd && ge_spool_pid(c, dir) != q->shepherd)
        return error_set(err, EPERM, "it is no child of '%s'", c->ge_execd);
    return 0;
}

static int check_owner(const struct reader_request *q, const struct evidence *e, struct error *err)
{
    if (e->uid == 0 || /* nobody's */
        (q->real_uid != e->uid && q->uid != e->uid))
        return error_set(err, EPERM, "it is not of the job's owner");
    return 0;
}

static int check_task(const struct conf *c, const struct reader_request *q,
                      struct task_evidence *ret, struct error *err)
{
    struct task_evidence t;
    const struct evidence_source *s = evidence_of(c, GRANT_GRIDENGINE);
    if (!s)
        return error_set(err, ENOTSUP, "Grid Engine is not in mprund's configuration");
    if ((!q->by_group || q->ino) && check_shepherd(c, q, err) < 0)
        return -1;
    if (s->look_up(c, q->job, q->task, &t, err) < 0 ||
        (q->by_group && check_owner(q, &t.evidence, err) < 0))
        return -1;
    *ret = t;
    return 0;
}

int claim_check(const struct conf *c, const struct reader_request *q, struct task_evidence *ret,
                struct error *err)
{
    switch (q->manager) {
    case GRANT_SITE:
        return check_rule(q, ret, err);
    case GRANT_GRIDENGINE:
        return check_task(c, q, ret, err);
    default:
        return error_set(err, EINVAL, "it is claimed for a manager that is none");
    }
}
