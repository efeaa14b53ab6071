/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence-slurm.c - which job of Slurm a process is in, where Slurm itself makes no cgroups
 *
 * Every step has a slurmstepd of root's, an ancestor of all that the step starts. It listens at the
 * socket NODE_JOB.STEP in slurmd's spool directory, where only root can write (Slurm 22.05). So a
 * process is in the job if one of its ancestors listens at a socket of that job, and if the task
 * right below this ancestor has the uid of the process. Orphans, which have lost the ancestor, come
 * into the job's cgroup with their parent, before they are orphans.
 *
 * slurmd writes neither the job's limits nor its cores there. */
#include "node-daemon/reader/evidence-sources.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/cleanup.h"
#include "node-daemon/watch/process.h"

enum { ANCESTORS_MAX = 64, ENTRIES_MAX = 4096 };

/* ---- slurmd's spool directory ---------------------------------------------------------------- */

/* "n1_12.0", "n1_12.4294967291" or "n1_12.0.1": the job's number. */
static bool read_job(const char *entry, char ret[GRANT_JOB_MAX])
{
    const char *number = strrchr(entry, '_');
    size_t n = number ? strspn(++number, "0123456789") : 0;
    if (n == 0 || n > 10 || number[n] != '.' || strspn(number + n, ".0123456789") < 2)
        return false;
    snprintf(ret, GRANT_JOB_MAX, "%.*s", (int)n, number);
    return true;
}

typedef bool (*step_fn)(void *arg, int dir, const char *entry, const char *job);

static DIR *open_spool(const struct conf *c)
{
    struct stat st;
    DIR *dir = opendir(c->slurm_spool);
    if (dir && fstat(dirfd(dir), &st) == 0 && st.st_uid == 0 && !(st.st_mode & 022))
        return dir;
    if (dir) {
        closedir(dir);
        errno = EPERM;
    }
    return NULL;
}

/* 1: fn said that this step is the one that it looks for; 0: no step is; -1 with errno: the
 * directory cannot be read to its end, or others than root can write there. */
static int find_step(const struct conf *c, step_fn fn, void *arg)
{
    char job[GRANT_JOB_MAX];
    AUTO_DIR DIR *dir = open_spool(c);
    if (!dir)
        return -1;
    for (int i = 0; i < ENTRIES_MAX; i++) {
        errno = 0;
        const struct dirent *d = readdir(dir);
        if (!d)
            return errno ? -1 : 0;
        if (read_job(d->d_name, job) && fn(arg, dirfd(dir), d->d_name, job))
            return 1;
    }
    errno = E2BIG;
    return -1;
}

/* The process of root's that listens at a socket there; 0: none. */
static pid_t find_listener(int dir, const char *entry)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct ucred who;
    socklen_t len = sizeof(who);
    int n = snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", dir, entry);
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || n >= (int)sizeof(a.sun_path) || connect(fd, (void *)&a, sizeof(a)) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
        return 0;
    return who.uid == 0 ? who.pid : 0;
}

/* ---- whose a process is ---------------------------------------------------------------------- */

struct search {
    pid_t pid[ANCESTORS_MAX]; /* the process that asks, its parent, and so on */
    uid_t uid[ANCESTORS_MAX]; /* their real ones */
    size_t n;
    char job[GRANT_JOB_MAX];
};

static void find_ancestors(pid_t pid, struct search *ret)
{
    struct process p;
    ret->n = 0;
    while (pid > 1 && ret->n < ANCESTORS_MAX && process_open(pid, &p) == 0) {
        ret->pid[ret->n] = pid;
        ret->uid[ret->n++] = p.real_uid;
        pid = p.parent;
        process_close(&p);
    }
}

static bool is_its_step(void *arg, int dir, const char *entry, const char *job)
{
    struct search *s = arg;
    pid_t pid = find_listener(dir, entry);
    for (size_t i = 1; pid > 0 && i < s->n; i++) {
        if (s->pid[i] != pid || s->uid[i - 1] != s->uid[0])
            continue;
        snprintf(s->job, sizeof(s->job), "%s", job);
        return true;
    }
    return false;
}

static int slurm_prove(const struct conf *c, const struct asker *who, struct task_evidence *ret,
                       struct error *err)
{
    struct search s;
    find_ancestors(who->pid, &s);
    if (s.n == 0 || s.uid[0] != who->uid || find_step(c, is_its_step, &s) != 1)
        return error_set(err, EPERM,
                         "nothing that Slurm's slurmd wrote on this host shows that this process "
                         "is in a job");
    if (asker_has_cgroup(who, "/slurm", "/job_"))
        return error_set(err, ENOTSUP,
                         "Slurm has a cgroup for job %s; mprund gives none where it does", s.job);
    memset(ret, 0, sizeof(*ret));
    memcpy(ret->evidence.name, s.job, sizeof(s.job));
    ret->evidence.uid = who->uid;
    return 0;
}

/* ---- whether a job is here ------------------------------------------------------------------- */

static bool is_of_job(void *arg, int dir, const char *entry, const char *job)
{
    return strcmp(arg, job) == 0;
}

static int slurm_is_known(const struct conf *c, const char *name)
{
    return find_step(c, is_of_job, (void *)name);
}

static int slurm_is_configured(const struct conf *c)
{
    return c->slurm_spool != NULL;
}

const struct evidence_source evidence_slurm = {
    .manager = GRANT_SLURM,
    .is_configured = slurm_is_configured,
    .prove = slurm_prove,
    .is_known = slurm_is_known,
};
