/* SPDX-License-Identifier: BSD-3-Clause */
/* mprun-shepherd - born contained: what Grid Engine's execd starts instead of its shepherd
 *
 * Named as shepherd_cmd, it is run as root in the task's directory, active_jobs/JOB.TASK or, for a
 * slave task, active_jobs/JOB.TASK/N.HOST, before anything of the job's exists. It asks mprund to
 * put it into the job's cgroup, and becomes the shepherd: the same process, arguments and
 * environment. So all that the job ever starts is in the cgroup, whatever it does.
 *
 * Where mprund does not put it there, the task does not begin, and its job is in error; with `fail
 * = open` in mprund.conf it becomes the shepherd all the same. What it says is in the execd's
 * messages: standard error. Only the directory's name is used. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/loop.h"
#include "containment/mprund-protocol.h"
#include "node-daemon/conf/conf.h"
#include "node-daemon/reader/ge-config.h"

enum {
    CODE_FAILED = 1,
    /* A code of a shepherd ("before job in Grid Engine Helper Service") by which neither the queue
     * nor the host is in error, but the job, and Grid Engine tries it nowhere else. */
    CODE_JOB_IN_ERROR = 35,
    PAUSE_MS = 50,
};

/* Cut the last part off a path, and return it; NULL: there is none. */
static char *cut_last(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    *slash = 0;
    return slash + 1;
}

/* The task whose directory this is; 0, or -1 with err. */
static int fill_request(struct grant_request *q, struct error *err)
{
    char cwd[PATH_MAX], whole[PATH_MAX];
    if (!getcwd(cwd, sizeof(cwd)))
        return error_errno(err, errno, "find the task's directory");
    strcpy(whole, cwd);
    const char *task = "", *job = cut_last(cwd), *above = cut_last(cwd);
    if (above && strcmp(above, "active_jobs") != 0) {
        task = job;
        job = above;
        above = cut_last(cwd);
    }
    if (!above || strcmp(above, "active_jobs") != 0 || !ge_is_job(job) ||
        (*task && !ge_is_task(task)))
        return error_set(err, EINVAL, "'%s' is no directory of a task of Grid Engine's", whole);
    snprintf(q->job, sizeof(q->job), "%s", job);
    snprintf(q->task, sizeof(q->task), "%.*s", (int)sizeof(q->task) - 1, task);
    return 0;
}

/* 0, or -1 with err; EPERM: that was mprund's word, and is so the next time. */
static int ask(const struct grant_request *q, struct error *err)
{
    struct grant_answer a;
    AUTO_CLOSE int fd = grant_send_patiently(q, GRANT_ANSWER_S, err);
    if (fd < 0 || grant_receive(fd, GRANT_ANSWER_S, &a, err) < 0)
        return -1;
    if (a.result == GRANT_OK)
        return 0;
    return error_set(err, a.result == GRANT_BUSY ? EAGAIN : EPERM, "mprund says: %s", a.text);
}

/* A job is not to be in error because mprund is being started again, or hangs for a moment. */
static int enter_job(const struct grant_request *q, double seconds, struct error *err)
{
    double end = loop_now() + seconds;
    int rc;
    while ((rc = ask(q, err)) < 0 && err->code != EPERM && loop_now() < end)
        poll(NULL, 0, PAUSE_MS);
    return rc;
}

/* The execd starts its shepherd with its administrator's effective uid and root's real one. mprund
 * hears of the effective uid, and before Linux 6.5 looks at the process afterwards, so that is
 * root's until the answer has come. */
static int enter_job_as_root(const struct grant_request *q, double seconds, struct error *err)
{
    uid_t before = geteuid();
    if (before != 0 && seteuid(0) < 0)
        return error_errno(err, errno, "ask mprund as root");
    int rc = enter_job(q, seconds, err);
    if (before != 0 && seteuid(before) < 0)
        return error_errno(err, errno, "be user %u again", (unsigned)before);
    return rc;
}

/* Where the configuration cannot be read, the defaults hold. */
static void read_conf(struct conf *ret)
{
    struct error e;
    if (conf_read(CONF_PATH, 1, ret, &e) < 0) {
        log_error("%s", e.text);
        *ret = (struct conf){0};
    } else if (!ret->ge_shepherd) {
        log_error("there is no section gridengine in '" CONF_PATH "'");
    }
}

/* An execd gives "sge_shepherd-JOB -bg" to its own shepherd, and nothing to one that was named by
 * shepherd_cmd: then it is added here. Returns only on failure. */
static void become_shepherd(const char *path, const char *job, char **argv)
{
    char name[64], background[] = "-bg", *own[] = {name, background, NULL};
    snprintf(name, sizeof(name), "sge_shepherd-%.*s", (int)strcspn(job, "."), job);
    execv(path, argv[0] && argv[1] ? argv : own);
    log_error("exec '%s': %s", path, strerror(errno));
}

static void write_file(const char *name, const char *text)
{
    AUTO_CLOSE int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
        log_error("write '%s' in the task's directory: %s", name, strerror(errno));
}

/* In the two files that the execd reads when a shepherd has ended: the reason, which qstat -j
 * shows, and the code, without which it misses the shepherd's end. */
static int refuse(const struct error *why)
{
    char text[sizeof(why->text) + 256], code[8], host[64] = "?";
    gethostname(host, sizeof(host) - 1);
    snprintf(text, sizeof(text),
             "mprun-shepherd on %s: the task does not begin, as it would be in no cgroup: %s\n",
             host, why->text);
    snprintf(code, sizeof(code), "%d\n", CODE_JOB_IN_ERROR);
    write_file("error", text);
    write_file("exit_status", code);
    return CODE_JOB_IN_ERROR;
}

int main(int argc, char **argv)
{
    struct conf conf;
    struct error e;
    struct grant_request q;
    fd_open_standard();
    log_open("mprun-shepherd", LOG_NOTE);
    read_conf(&conf);
    grant_request_init(&q, GRANT_ENTER, GRANT_GRIDENGINE);
    if (fill_request(&q, &e) < 0 ||
        enter_job_as_root(&q, conf.fail_open ? 0 : GRANT_ANSWER_S, &e) < 0) {
        log_error("enter the job's cgroup: %s; the task %s", e.text,
                  conf.fail_open ? "begins without" : "does not begin");
        if (!conf.fail_open)
            return refuse(&e);
    }
    become_shepherd(conf.ge_shepherd ? conf.ge_shepherd : CONF_SHEPHERD, q.job, argv);
    return CODE_FAILED;
}
