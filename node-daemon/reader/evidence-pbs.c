/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence-pbs.c - which job of PBS a process is in
 *
 * pbs_mom starts each task of a job in a session of its own, and writes the number of the session
 * into a file in mom_priv/jobs/JOB.TK before it serves the task; whose the job is, and what it has
 * of this host, is in JOB.JB. No process can enter a session that there is: only children of its
 * processes are in it. So a process is in the job if its session is that of one of the job's tasks
 * that run, and if it has the uid of the job's owner. A process that has made a session of its own
 * is in none, unless pbs_mom was told of that session (TM ATTACH). It comes into the job's cgroup
 * with its parent.
 *
 * The files are root's alone, so the reader has CAP_DAC_READ_SEARCH where this is configured. */
#include "node-daemon/reader/evidence-sources.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "node-daemon/reader/pbs-job-file.h"

enum { ENTRIES_MAX = 4096, JOB_FILE_MAX = 4 << 20, NAME_BUFFER = NAME_MAX + 1 };

/* ---- pbs_mom's directory --------------------------------------------------------------------- */

/* Open a file that is root's and that only root can write. */
static int open_roots(int dir, const char *name, int flags)
{
    struct stat st;
    AUTO_CLOSE int fd = openat(dir, name, flags | O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (st.st_uid == 0 && !(st.st_mode & 022) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
        return take_fd(&fd);
    errno = EPERM;
    return -1;
}

static int open_jobs(const struct conf *c)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/mom_priv/jobs", c->pbs_home);
    return n < (int)sizeof(path) ? open_roots(AT_FDCWD, path, O_DIRECTORY) : -1;
}

typedef bool (*entry_fn)(void *arg, int dir, const char *name);

/* 1: fn has said so of an entry of this directory, which is closed; 0: of none; -1 with errno: the
 * directory cannot be read to its end. */
static int find_entry(int dir, entry_fn fn, void *arg)
{
    AUTO_DIR DIR *d = dir_take_fd(dir);
    for (int i = 0; d && i < ENTRIES_MAX; i++) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e)
            return errno ? -1 : 0;
        if (fn(arg, dirfd(d), e->d_name))
            return 1;
    }
    if (d)
        errno = E2BIG;
    return -1;
}

/* ---- names of jobs --------------------------------------------------------------------------- */

/* A pbs_mom has one server, so its name is left out: "23.server" is the job 23 here, and
 * "23[4].server" 23.4. 0, or -1: this is no id. */
static int short_name(const char *id, char ret[GRANT_JOB_MAX])
{
    size_t n = strspn(id, "0123456789");
    size_t index = id[n] == '[' ? strspn(id + n + 1, "0123456789") : 0;
    const char *rest = id + n + (index ? index + 2 : 0);
    if (n == 0 || n > 12 || index > 12 || (index && rest[-1] != ']') || (*rest && *rest != '.'))
        return -1;
    snprintf(ret, GRANT_JOB_MAX, index ? "%.*s.%.*s" : "%.*s", (int)n, id, (int)index, id + n + 1);
    return 0;
}

/* The id in the name of a file, "23.server.TK". */
static bool read_id(const char *name, const char *suffix, char ret[NAME_BUFFER])
{
    size_t n = strlen(name), end = strlen(suffix);
    char job[GRANT_JOB_MAX];
    if (n <= end || n >= NAME_BUFFER || strcmp(name + n - end, suffix) != 0)
        return false;
    memcpy(ret, name, n - end);
    ret[n - end] = 0;
    return short_name(ret, job) == 0;
}

/* ---- a job ----------------------------------------------------------------------------------- */

/* The caller frees it. */
static char *read_whole(int dir, const char *name, size_t *ret_n)
{
    struct stat st;
    AUTO_CLOSE int fd = open_roots(dir, name, 0);
    bool is_file = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    return is_file ? fd_slurp(fd, JOB_FILE_MAX, ret_n) : NULL;
}

static void take_share(const struct pbs_job *job, struct evidence *e)
{
    char host[256] = "";
    (void)gethostname(host, sizeof(host) - 1);
    struct pbs_share s = pbs_job_share(job, host);
    e->cores = s.cores;
    e->gpus = s.gpus;
    if (s.memory) {
        e->limits.memory = (struct limit){.set = 1, .value = s.memory};
        e->limits.swap = (struct limit){.set = 1};
    }
}

/* 0, or -1: nothing is known of it, or not whose it is or what it has. */
static int read_job(int jobs, const char *id, struct evidence *ret)
{
    char name[NAME_BUFFER + 4];
    size_t n = 0;
    struct pbs_job job;
    struct evidence e = {.uid = 0};
    snprintf(name, sizeof(name), "%s.JB", id);
    AUTO_FREE char *bytes = read_whole(jobs, name, &n);
    if (!bytes || pbs_job_read(bytes, n, &job, NULL) < 0 || strcmp(job.id, id) != 0 || !job.owner ||
        !job.chunks || !job.of_hosts || owner_find(job.owner, &e.uid) < 0 ||
        short_name(id, e.name) < 0)
        return -1;
    take_share(&job, &e);
    *ret = e;
    return 0;
}

/* ---- in which job a process is --------------------------------------------------------------- */

struct search {
    pid_t session;
    uid_t uid;
    struct evidence e;
};

static bool is_task_of_session(void *arg, int dir, const char *name)
{
    const struct search *s = arg;
    char bytes[PBS_TASK_MAX + 1];
    AUTO_CLOSE int fd = isxdigit((unsigned char)*name) ? open_roots(dir, name, 0) : -1;
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
    return n > 0 && pbs_task_session(bytes, (size_t)n) == s->session;
}

/* The owner's name is asked for last: only who is in a session of a task's can make us ask. */
static bool is_its_job(void *arg, int dir, const char *name)
{
    struct search *s = arg;
    char id[NAME_BUFFER];
    return read_id(name, ".TK", id) &&
           find_entry(open_roots(dir, name, O_DIRECTORY), is_task_of_session, s) == 1 &&
           read_job(dir, id, &s->e) == 0 && s->e.uid == s->uid;
}

static int pbs_prove(const struct conf *c, const struct asker *who, struct task_evidence *ret,
                     struct error *err)
{
    struct search s = {.session = getsid(who->pid), .uid = who->uid};
    if (s.session <= 1 || find_entry(open_jobs(c), is_its_job, &s) != 1)
        return error_set(err, EPERM,
                         "nothing that pbs_mom wrote on this host shows that this process is in a "
                         "job");
    if (asker_has_cgroup(who, ".service/jobid", "/"))
        return error_set(err, ENOTSUP,
                         "PBS has a cgroup for job %s; mprund gives none where it does", s.e.name);
    memset(ret, 0, sizeof(*ret));
    ret->evidence = s.e;
    return 0;
}

/* ---- whether a job is here ------------------------------------------------------------------- */

static bool is_of_job(void *arg, int dir, const char *name)
{
    char id[NAME_BUFFER], job[GRANT_JOB_MAX];
    return read_id(name, ".JB", id) && short_name(id, job) == 0 && !strcmp(job, arg);
}

static int pbs_is_known(const struct conf *c, const char *name)
{
    return find_entry(open_jobs(c), is_of_job, (void *)name);
}

static int pbs_is_configured(const struct conf *c)
{
    return c->pbs_home != NULL;
}

const struct evidence_source evidence_pbs = {
    .manager = GRANT_PBS,
    .is_configured = pbs_is_configured,
    .prove = pbs_prove,
    .is_known = pbs_is_known,
};
