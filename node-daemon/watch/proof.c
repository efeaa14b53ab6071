/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/watch/proof.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static int is_roots(const struct process *p, struct error *err)
{
    return p->real_uid == 0 ? 0
                            : error_set(err, EPERM, "it was started by user %u and not by root",
                                        (unsigned)p->real_uid);
}

/* ---- rules ----------------------------------------------------------------------------------- */

int proof_by_rule(const struct conf_rule *rule, const struct program *daemon,
                  const struct process *p, struct reader_request *ret, struct error *err)
{
    char job[GRANT_JOB_MAX];
    struct reader_request claim = {.manager = GRANT_SITE};
    if (is_roots(p, err) < 0)
        return -1;
    if (!process_is_child_of(p, daemon))
        return error_set(err, EPERM, "it is no child of '%s'", daemon->path);
    if (process_environment(p, rule->job, job, sizeof(job)) < 0 ||
        process_environment(p, rule->owner, claim.owner, sizeof(claim.owner)) < 0)
        return error_set(err, ENOENT, "there is no %s or %s in its environment", rule->job,
                         rule->owner);
    int len = snprintf(claim.job, sizeof(claim.job), "%s.%s", rule->name, job);
    if (len >= (int)sizeof(claim.job) || !grant_is_job_name(claim.job))
        return error_set(err, EINVAL, "%s is no name of a job", rule->job);
    *ret = claim;
    return 0;
}

/* ---- Grid Engine ----------------------------------------------------------------------------- */

/* Cut the last part off a path, and return it; "": there is none. */
static const char *cut_last(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return "";
    *slash = 0;
    return slash + 1;
}

/* Where it is says which directory may be meant; that it is this very one is for the reader to see,
 * which opens it. */
static int take_directory(const struct process *p, struct reader_request *ret, struct error *err)
{
    char path[PATH_MAX];
    struct program is;
    if (process_directory(p, path, sizeof(path), &is) < 0)
        return error_errno(err, errno, "find its directory");
    const char *job = cut_last(path), *task = "", *above = strrchr(path, '/');
    if (!above || strcmp(above, "/active_jobs") != 0) {
        task = job;
        job = cut_last(path);
    }
    if ((size_t)snprintf(ret->job, sizeof(ret->job), "%s", job) >= sizeof(ret->job) ||
        (size_t)snprintf(ret->task, sizeof(ret->task), "%s", task) >= sizeof(ret->task))
        return error_set(err, EPERM, "it is in no directory of a task's");
    ret->dev = is.dev;
    ret->ino = is.ino;
    return 0;
}

int proof_of_shepherd(const struct program *execd, const struct process *p,
                      struct reader_request *ret, struct error *err)
{
    struct reader_request claim = {.manager = GRANT_GRIDENGINE};
    if (is_roots(p, err) < 0 || take_directory(p, &claim, err) < 0)
        return -1;
    claim.shepherd = process_is_child_of(p, execd) ? 0 : p->pid;
    *ret = claim;
    return 0;
}

void proof_by_group(const char *job, const char *task, const struct process *p,
                    struct reader_request *ret)
{
    *ret = (struct reader_request){
        .manager = GRANT_GRIDENGINE, .by_group = 1, .real_uid = p->real_uid, .uid = p->uid};
    snprintf(ret->job, sizeof(ret->job), "%s", job);
    snprintf(ret->task, sizeof(ret->task), "%s", task);
}
