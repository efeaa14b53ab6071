/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence-gridengine.c - which job of Grid Engine a process is in
 *
 * The execd gives every task a supplementary group of its own, which a process cannot lay down or
 * take on, and writes its number with the job's owner into active_jobs/JOB.TASK[/N.HOST]/config in
 * its spool directory. A process is in the job if it has that group and that owner's uid. The name
 * of the job only says where to look.
 *
 * Everything is opened beneath the spool directory, part by part, without following a link, and
 * must belong to the manager's administrator (or root) and be writable to nobody else: in the
 * task's directory there are also files of the user's. */
#include "node-daemon/evidence.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "node-daemon/ge-config.h"

enum { CONFIG_MAX = 65536, ENTRIES_MAX = 4096, PASSWD_MAX = 16384 };

/* ---- opening ----------------------------------------------------------------------------------
 */

static int is_trusted(int fd, const struct conf *c)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return 0;
    if ((st.st_uid == 0 || st.st_uid == c->ge_admin) && !(st.st_mode & 022))
        return 1;
    errno = EPERM;
    return 0;
}

static int open_trusted(const struct conf *c, int dir, const char *name, int flags)
{
    AUTO_CLOSE int fd = openat(dir, name, flags | O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 || !is_trusted(fd, c) ? -1 : take_fd(&fd);
}

static int open_active_jobs(const struct conf *c)
{
    AUTO_CLOSE int spool = open_trusted(c, AT_FDCWD, c->ge_spool, O_DIRECTORY);
    return spool < 0 ? -1 : open_trusted(c, spool, "active_jobs", O_DIRECTORY);
}

static int open_job(const struct conf *c, const char *name)
{
    if (!ge_is_job(name)) {
        errno = EINVAL;
        return -1;
    }
    AUTO_CLOSE int jobs = open_active_jobs(c);
    return jobs < 0 ? -1 : open_trusted(c, jobs, name, O_DIRECTORY);
}

/* The config in an open directory; errno where there is none that can be trusted and read. */
static int read_config(const struct conf *c, int dir, struct ge_config *ret, struct error *err)
{
    char text[CONFIG_MAX];
    struct stat st;
    AUTO_CLOSE int fd = open_trusted(c, dir, "config", 0);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, errno, "read the task's config");
    if (!S_ISREG(st.st_mode) || st.st_size >= CONFIG_MAX)
        return error_set(err, EINVAL, "read the task's config: it is not a small file");
    ssize_t n = read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return error_errno(err, errno, "read the task's config");
    text[n] = 0;
    if (ge_config_parse(text, ret, err) < 0)
        return error_context(err, "read the task's config");
    return 0;
}

/* ---- owners -----------------------------------------------------------------------------------
 */

static int uid_of(const char *user, uid_t *ret)
{
    char buf[PASSWD_MAX];
    struct passwd pw, *found = NULL;
    if (getpwnam_r(user, &pw, buf, sizeof(buf), &found) != 0 || !found)
        return -1;
    *ret = pw.pw_uid;
    return 0;
}

static int fill(const struct ge_config *config, const char *name, struct evidence *ret,
                struct error *err)
{
    struct evidence e = {.limits = config->limits};
    if (uid_of(config->owner, &e.uid) < 0 || e.uid == 0)
        return error_set(err, EPERM, "job %s: its owner '%s' is no user of this host", name,
                         config->owner);
    snprintf(e.name, sizeof(e.name), "%s", name);
    *ret = e;
    return 0;
}

/* ---- the operations ---------------------------------------------------------------------------
 */

/* Call fn for each directory in `dir` whose name fits, opened, until it returns 1. */
static int each_directory(const struct conf *c, int dir, int (*fits)(const char *name),
                          int (*fn)(void *arg, int fd, const char *name), void *arg)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_DIR DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    if (!d) {
        cleanup_close(&fd);
        return 0;
    }
    for (int n = 0; n < ENTRIES_MAX && (e = readdir(d)); n++) {
        AUTO_CLOSE int one = fits(e->d_name) ? open_trusted(c, dir, e->d_name, O_DIRECTORY) : -1;
        if (one >= 0 && fn(arg, one, e->d_name))
            return 1;
    }
    return 0;
}

struct search {
    const struct conf *conf;
    const struct peer *peer;
    const char *job;
    struct evidence *ret;
};

/* The owner's uid is asked for last: only who is in the task can make us ask. */
static int task_proves(void *arg, int fd, const char *task)
{
    struct search *s = arg;
    struct ge_config config;
    return read_config(s->conf, fd, &config, NULL) == 0 && peer_has_group(s->peer, config.group) &&
           fill(&config, s->job, s->ret, NULL) == 0 && s->ret->uid == s->peer->uid;
}

/* The job script's own directory, and one for each slave task on this host. */
static int job_proves(void *arg, int fd, const char *job)
{
    struct search *s = arg;
    s->job = job;
    return task_proves(s, fd, "") || each_directory(s->conf, fd, ge_is_task, task_proves, s);
}

/* One sentence for every reason: who asks learns nothing of others' jobs. */
static int gridengine_prove(const struct conf *c, const struct peer *peer, struct evidence *ret,
                            struct error *err)
{
    struct search s = {.conf = c, .peer = peer, .ret = ret};
    AUTO_CLOSE int jobs = open_active_jobs(c);
    if (jobs >= 0 && each_directory(c, jobs, ge_is_job, job_proves, &s))
        return 0;
    return error_set(err, EPERM,
                     "nothing that Grid Engine's execd wrote on this host shows that this process "
                     "is in a job");
}

static int gridengine_look_up(const struct conf *c, const char *name, const char *task,
                              struct evidence *ret, struct error *err)
{
    struct ge_config config;
    if (!ge_is_job(name) || (*task && !ge_is_task(task)))
        return error_set(err, EINVAL, "look up job '%s', task '%s': not names of Grid Engine's",
                         name, task);
    AUTO_CLOSE int job = open_job(c, name);
    AUTO_CLOSE int dir = job < 0 ? -1 : open_trusted(c, job, *task ? task : ".", O_DIRECTORY);
    if (dir < 0)
        return error_errno(err, errno, "look up job %s in '%s/active_jobs'", name, c->ge_spool);
    if (read_config(c, dir, &config, err) < 0)
        return error_context(err, "look up job %s", name);
    return fill(&config, name, ret, err);
}

/* Only where the directory of all jobs can be read does the absence of one mean anything. */
static int gridengine_is_known(const struct conf *c, const char *name)
{
    struct stat st;
    AUTO_CLOSE int jobs = open_active_jobs(c);
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
    .is_known = gridengine_is_known,
};
