/* SPDX-License-Identifier: BSD-3-Clause */
/* ge-spool.c - an execd's directories and files, opened as things that others can write near */
#include "node-daemon/reader/ge-spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/text/number.h"
#include "common/processes/proc.h"

enum { TEXT_MAX = 1 << 20, ENTRIES_MAX = 4096, COMM_MAX = 15 /* the kernel cuts names off */ };

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

int ge_spool_active_jobs(const struct conf *c)
{
    AUTO_CLOSE int spool = open_trusted(c, AT_FDCWD, c->ge_spool, O_DIRECTORY);
    return spool < 0 ? -1 : open_trusted(c, spool, "active_jobs", O_DIRECTORY);
}

int ge_spool_task(const struct conf *c, const char *job, const char *task)
{
    if (!ge_is_job(job) || (*task && !ge_is_task(task))) {
        errno = EINVAL;
        return -1;
    }
    AUTO_CLOSE int jobs = ge_spool_active_jobs(c);
    AUTO_CLOSE int dir = jobs < 0 ? -1 : open_trusted(c, jobs, job, O_DIRECTORY);
    if (dir < 0 || !*task)
        return take_fd(&dir);
    return open_trusted(c, dir, task, O_DIRECTORY);
}

/* The number that a file consists of; -1: none, or not to be trusted. */
static int64_t read_number(const struct conf *c, int dir, const char *name, int64_t min)
{
    char text[32];
    int64_t number;
    AUTO_CLOSE int fd = open_trusted(c, dir, name, 0);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return -1;
    text[n] = 0;
    text[strcspn(text, "\n")] = 0;
    return number_parse(text, NULL, min, INT32_MAX, &number, NULL) < 0 ? -1 : number;
}

/* Is this process root's, or the administrator's, as whom an execd acts? */
static int is_managers(pid_t pid, const struct conf *c)
{
    char path[32];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return stat(path, &st) == 0 &&
           (st.st_uid == 0 || st.st_uid == c->ge_admin || st.st_uid == geteuid());
}

/* A number may be another process's by now. Which file root's process runs only root can see. */
pid_t ge_spool_execd(const struct conf *c)
{
    struct proc_stat st;
    const char *name = c->ge_execd ? strrchr(c->ge_execd, '/') : NULL;
    AUTO_CLOSE int spool = open_trusted(c, AT_FDCWD, c->ge_spool, O_DIRECTORY);
    pid_t pid = spool < 0 ? -1 : (pid_t)read_number(c, spool, "execd.pid", 2);
    return pid > 0 && name && proc_stat_read(pid, &st) == 0 && is_managers(pid, c) &&
                   !strncmp(st.comm, name + 1, COMM_MAX)
               ? pid
               : -1;
}

int ge_spool_config(const struct conf *c, int dir, struct ge_config *ret, struct error *err)
{
    char bytes[16384];
    ssize_t n;
    struct stat st;
    struct ge_config_reader r = {.len = 0};
    AUTO_CLOSE int fd = open_trusted(c, dir, "config", 0);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, errno, "read the task's config");
    if (!S_ISREG(st.st_mode))
        return error_set(err, EINVAL, "read the task's config: it is no file");
    while ((n = read(fd, bytes, sizeof(bytes))) > 0)
        ge_config_feed(&r, bytes, (size_t)n);
    if (n < 0)
        return error_errno(err, errno, "read the task's config");
    if (ge_config_finish(&r, ret, err) < 0)
        return error_context(err, "read the task's config");
    return 0;
}

pid_t ge_spool_pid(const struct conf *c, int dir)
{
    return (pid_t)read_number(c, dir, "pid", 2);
}

gid_t ge_spool_group(const struct conf *c, int dir)
{
    int64_t group = read_number(c, dir, "addgrpid", 1);
    return group > 0 ? (gid_t)group : 0;
}

char *ge_spool_text(const struct conf *c, int dir, const char *name)
{
    struct stat st;
    AUTO_CLOSE int fd = open_trusted(c, dir, name, 0);
    if (fd < 0 || fstat(fd, &st) < 0)
        return NULL;
    errno = EINVAL;
    return S_ISREG(st.st_mode) ? fd_slurp(fd, TEXT_MAX, NULL) : NULL;
}

int ge_spool_each(const struct conf *c, int dir, int (*fits)(const char *name),
                  int (*fn)(void *arg, int fd, const char *name), void *arg)
{
    AUTO_DIR DIR *d = dir_take_fd(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct dirent *e;
    for (int n = 0; d && n < ENTRIES_MAX && (e = readdir(d)); n++) {
        AUTO_CLOSE int one = fits(e->d_name) ? open_trusted(c, dir, e->d_name, O_DIRECTORY) : -1;
        if (one >= 0 && fn(arg, one, e->d_name))
            return 1;
    }
    return 0;
}
