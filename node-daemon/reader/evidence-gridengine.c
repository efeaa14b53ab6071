/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence-gridengine.c - which job of Grid Engine a process is in
 *
 * The execd gives every task a supplementary group of its own, which no process can take on (and
 * lay down only where its user has subordinate gids); its number and the job's owner stand in
 * active_jobs/JOB.TASK[/N.HOST]/ in its spool directory, in addgrpid and config. A process is in
 * the job if it has that group and that owner's uid. The name of the job only says where to look.
 *
 * A job whose owner is ambiguous is contained as one that is nobody's: no process can prove that it
 * is in it, and no user gets a place there. */
#include "node-daemon/reader/evidence-sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "node-daemon/reader/ge-spool.h"

/* ---- what is known --------------------------------------------------------------------------- */

/* Where the job's script is Grid Engine itself is asked; a slave task shows what was said there. */
static void take_grant(const struct conf *c, int dir, struct task_evidence *t)
{
    AUTO_FREE char *environment = ge_spool_text(c, dir, "environment");
    if (!environment || ge_grant_find(environment, t->grant) < 0)
        t->grant[0] = 0;
}

static int fill(const struct conf *c, int dir, const struct ge_config *config, const char *name,
                int is_master, struct task_evidence *ret, struct error *err)
{
    struct task_evidence t = {.grant = ""};
    struct evidence e = {.share = config->share, .cores = config->cores};
    snprintf(e.twice, sizeof(e.twice), "%s", config->twice ? config->twice : "");
    e.share.is_master = is_master;
    e.limits = share_limits(&e.share, NULL);
    if (config->owner[0] && owner_find(config->owner, &e.uid) < 0)
        return error_set(err, EPERM, "job %s: its owner '%s' is no user of this host", name,
                         config->owner);
    snprintf(e.name, sizeof(e.name), "%s", name);
    _Static_assert(sizeof(e.binding) == sizeof(config->binding), "the same text");
    memcpy(e.binding, config->binding, sizeof(e.binding));
    t.evidence = e;
    if (!is_master)
        take_grant(c, dir, &t);
    *ret = t;
    return 0;
}

/* ---- the operations -------------------------------------------------------------------------- */

/* The job script has its config in the job's directory; tasks have one each below that. */
static int is_master(const struct conf *c, int job)
{
    struct ge_config config;
    return ge_spool_config(c, job, &config, NULL) == 0;
}

struct search {
    const struct conf *conf;
    const struct asker *who;
    const char *job;
    int job_dir;
    struct task_evidence *ret;
};

/* The owner's uid is asked for last: only who is in the task can make us ask. */
static int task_proves(void *arg, int fd, const char *task)
{
    struct search *s = arg;
    struct ge_config config;
    gid_t group = ge_spool_group(s->conf, fd);
    return group != 0 && asker_has_group(s->who, group) &&
           ge_spool_config(s->conf, fd, &config, NULL) == 0 && config.owner[0] &&
           fill(s->conf, fd, &config, s->job, is_master(s->conf, s->job_dir), s->ret, NULL) == 0 &&
           s->ret->evidence.uid == s->who->uid;
}

/* The job script's own directory, and one for each slave task on this host. */
static int job_proves(void *arg, int fd, const char *job)
{
    struct search *s = arg;
    s->job = job;
    s->job_dir = fd;
    return task_proves(s, fd, "") || ge_spool_each(s->conf, fd, ge_is_task, task_proves, s);
}

/* The sentence is the same for every reason: who asks learns nothing of others' jobs. */
static int gridengine_prove(const struct conf *c, const struct asker *who,
                            struct task_evidence *ret, struct error *err)
{
    struct search s = {.conf = c, .who = who, .ret = ret};
    AUTO_CLOSE int jobs = ge_spool_active_jobs(c);
    if (jobs >= 0 && ge_spool_each(c, jobs, ge_is_job, job_proves, &s))
        return 0;
    return error_set(err, EPERM,
                     "nothing that Grid Engine's execd wrote on this host shows that this process "
                     "is in a job");
}

static int gridengine_look_up(const struct conf *c, const char *name, const char *task,
                              struct task_evidence *ret, struct error *err)
{
    struct ge_config config;
    if (!ge_is_job(name) || (*task && !ge_is_task(task)))
        return error_set(err, EINVAL, "look up job '%s', task '%s': not names of Grid Engine's",
                         name, task);
    AUTO_CLOSE int dir = ge_spool_task(c, name, task);
    if (dir < 0)
        return error_errno(err, errno, "look up job %s in '%s/active_jobs'", name, c->ge_spool);
    if (ge_spool_config(c, dir, &config, err) < 0)
        return error_context(err, "look up job %s", name);
    AUTO_CLOSE int own = ge_spool_task(c, name, "");
    return fill(c, dir, &config, name, own >= 0 && is_master(c, own), ret, err);
}

/* Only where the directory of all jobs can be read does the absence of one mean anything. */
static int gridengine_is_known(const struct conf *c, const char *name)
{
    struct stat st;
    AUTO_CLOSE int jobs = ge_is_job(name) ? ge_spool_active_jobs(c) : -1;
    if (jobs < 0)
        return -1;
    if (fstatat(jobs, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return 1;
    return errno == ENOENT ? 0 : -1;
}

static int gridengine_is_configured(const struct conf *c)
{
    return c->ge_spool != NULL;
}

const struct evidence_source evidence_gridengine = {
    .manager = GRANT_GRIDENGINE,
    .is_configured = gridengine_is_configured,
    .prove = gridengine_prove,
    .look_up = gridengine_look_up,
    .daemon = ge_spool_execd,
    .is_known = gridengine_is_known,
};
