/* SPDX-License-Identifier: BSD-3-Clause */
/* proof.c - of which job a manager's own process is, that did not say so */
#include "node-daemon/watch/proof.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "common/number.h"
#include "node-daemon/reader/ge-spool.h"
#include "node-daemon/reader/grants.h"

static int is_roots(const struct process *p, struct error *err)
{
    return p->real_uid == 0 ? 0
                            : error_set(err, EPERM, "it was started by user %u and not by root",
                                        (unsigned)p->real_uid);
}

/* ---- rules ------------------------------------------------------------------------------------
 */

static int find_owner(const char *text, uid_t *ret, struct error *err)
{
    struct passwd *pw = getpwnam(text);
    int64_t uid = pw ? (int64_t)pw->pw_uid : 0;
    if ((!pw && number_parse(text, NULL, 1, UINT32_MAX - 1, &uid, NULL) < 0) || uid == 0)
        return error_set(err, EPERM,
                         "the owner that its environment names is no user of this host");
    *ret = (uid_t)uid;
    return 0;
}

int proof_by_rule(const struct conf_rule *rule, const struct program *daemon,
                  const struct process *p, struct proof *ret, struct error *err)
{
    char job[GRANT_JOB_MAX], owner[64];
    struct proof proof = {.manager = GRANT_SITE};
    if (is_roots(p, err) < 0)
        return -1;
    if (!process_is_child_of(p, daemon))
        return error_set(err, EPERM, "it is no child of '%s'", daemon->path);
    if (process_environment(p, rule->job, job, sizeof(job)) < 0 ||
        process_environment(p, rule->owner, owner, sizeof(owner)) < 0)
        return error_set(err, ENOENT, "there is no %s or %s in its environment", rule->job,
                         rule->owner);
    int len = snprintf(proof.evidence.name, sizeof(proof.evidence.name), "%s.%s", rule->name, job);
    if (len >= (int)sizeof(proof.evidence.name) || !grant_is_job_name(proof.evidence.name))
        return error_set(err, EINVAL, "%s is no name of a job", rule->job);
    if (find_owner(owner, &proof.evidence.uid, err) < 0)
        return -1;
    *ret = proof;
    return 0;
}

/* ---- Grid Engine ------------------------------------------------------------------------------
 */

/* Cut the last part off a path, and return it; "": there is none. */
static const char *cut_last(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return "";
    *slash = 0;
    return slash + 1;
}

/* Where it is says which directory may be meant; that it is this very one, opened as things are
 * that others can write near, is what counts. A descriptor of it, or -1 with err. */
static int task_directory(const struct conf *c, const struct process *p, struct proof *ret,
                          struct error *err)
{
    char path[PATH_MAX];
    struct stat is, wanted;
    ssize_t n = readlinkat(p->dir, "cwd", path, sizeof(path) - 1);
    if (n < 0)
        return error_errno(err, errno, "find its directory");
    path[n] = 0;
    const char *job = cut_last(path), *task = "", *above = strrchr(path, '/');
    if (!above || strcmp(above, "/active_jobs") != 0) {
        task = job;
        job = cut_last(path);
    }
    AUTO_CLOSE int dir = ge_spool_task(c, job, task);
    if (dir < 0 || fstatat(p->dir, "cwd", &is, 0) < 0 || fstat(dir, &wanted) < 0)
        return error_set(err, EPERM, "it is in no directory of a task's in '%s'", c->ge_spool);
    if (is.st_dev != wanted.st_dev || is.st_ino != wanted.st_ino)
        return error_set(err, EPERM, "it is in another directory than job %s's", job);
    snprintf(ret->evidence.name, sizeof(ret->evidence.name), "%.*s", GRANT_JOB_MAX - 1, job);
    snprintf(ret->task, sizeof(ret->task), "%.*s", GRANT_JOB_MAX - 1, task);
    return take_fd(&dir);
}

static int look_up(const struct conf *c, struct proof *p, struct error *err)
{
    struct task_evidence t;
    if (evidence_gridengine.look_up(c, p->evidence.name, p->task, &t, err) < 0)
        return -1;
    grants_take(c, &t);
    p->evidence = t.evidence;
    return 0;
}

int proof_of_shepherd(const struct conf *c, const struct program *execd, const struct process *p,
                      struct proof *ret, struct error *err)
{
    struct proof proof = {.manager = GRANT_GRIDENGINE};
    if (is_roots(p, err) < 0)
        return -1;
    AUTO_CLOSE int dir = task_directory(c, p, &proof, err);
    if (dir < 0)
        return -1;
    if (!process_is_child_of(p, execd) && ge_spool_pid(c, dir) != p->peer.pid)
        return error_set(err, EPERM, "it is no child of '%s'", execd->path);
    if (look_up(c, &proof, err) < 0)
        return -1;
    *ret = proof;
    return 0;
}

int ge_task_read(const struct conf *c, const char *job, const char *task, struct ge_task *ret)
{
    AUTO_CLOSE int dir = ge_spool_task(c, job, task);
    if (dir < 0)
        return -1;
    struct ge_task t = {.shepherd = ge_spool_pid(c, dir), .group = ge_spool_group(c, dir)};
    snprintf(t.job, sizeof(t.job), "%.*s", GRANT_JOB_MAX - 1, job);
    snprintf(t.task, sizeof(t.task), "%.*s", GRANT_JOB_MAX - 1, task);
    *ret = t;
    return 0;
}

static int look_up_once(const struct conf *c, struct ge_task *t, struct error *err)
{
    struct task_evidence found;
    if (t->state == GE_TASK_NEW) {
        t->state = evidence_gridengine.look_up(c, t->job, t->task, &found, err) == 0
                       ? GE_TASK_KNOWN
                       : GE_TASK_FAILED;
        if (t->state == GE_TASK_KNOWN) {
            grants_take(c, &found);
            t->evidence = found.evidence;
        }
    }
    return t->state == GE_TASK_KNOWN ? 0 : error_set(err, ENOENT, "nothing is known of its task");
}

int proof_by_group(const struct conf *c, struct ge_task *t, const struct process *p,
                   struct proof *ret, struct error *err)
{
    if (t->group == 0 || !peer_has_group(&p->peer, t->group))
        return error_set(err, EPERM, "it has not the task's group");
    if (look_up_once(c, t, err) < 0)
        return -1;
    if (t->evidence.uid == 0 || /* nobody's */
        (p->real_uid != t->evidence.uid && p->peer.uid != t->evidence.uid))
        return error_set(err, EPERM, "it is not of the job's owner");
    *ret = (struct proof){.manager = GRANT_GRIDENGINE, .evidence = t->evidence};
    memcpy(ret->task, t->task, sizeof(ret->task));
    return 0;
}
