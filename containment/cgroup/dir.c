/* SPDX-License-Identifier: BSD-3-Clause */
/* dir.c - opens everything beneath a descriptor that was taken when the directory was made: it
 * never builds a path from the root again, and follows no symbolic links (there are none). */
#include "containment/cgroup/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/text/number.h"
#include "common/processes/proc.h"
#include "containment/tunables.h"

enum {
    FILE_PATH_MAX = CGROUP_NAME_MAX + 256 + 64,
    PROCS_MAX = 64 << 20,
};

static const char *file_path(struct cgroup_at d, const char *file, char *buf)
{
    if (!strcmp(d.name, "."))
        return file;
    snprintf(buf, FILE_PATH_MAX, "%s/%s", d.name, file);
    return buf;
}

int at_make(struct cgroup_at d, mode_t mode)
{
    mode_t before = umask(0); /* fchmodat() afterwards would take a quarter as long as mkdirat() */
    int rc = mkdirat(d.fd, d.name, mode);
    umask(before);
    return rc;
}

int at_open(struct cgroup_at d)
{
    return openat(d.fd, d.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

ssize_t at_read(struct cgroup_at d, const char *file, char *buf, size_t n)
{
    char path[FILE_PATH_MAX];
    return file_read_at(d.fd, file_path(d, file, path), buf, n);
}

bool at_has_file(struct cgroup_at d, const char *file)
{
    char path[FILE_PATH_MAX];
    return faccessat(d.fd, file_path(d, file, path), F_OK, 0) == 0;
}

int at_write(struct cgroup_at d, const char *file, const char *text)
{
    char path[FILE_PATH_MAX];
    return file_write_at(d.fd, file_path(d, file, path), text);
}

int at_write_u64(struct cgroup_at d, const char *file, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu64, value);
    return at_write(d, file, text);
}

/* ---- notes ----------------------------------------------------------------------------------- */

int at_note(struct cgroup_at d, const char *name, const char *text)
{
    char full[64];
    AUTO_CLOSE int fd = at_open(d);
    snprintf(full, sizeof(full), "trusted.mprun.%s", name);
    return fd < 0 ? -1 : fsetxattr(fd, full, text, strlen(text), 0);
}

ssize_t at_read_note(struct cgroup_at d, const char *name, char *buf, size_t n)
{
    char full[64];
    AUTO_CLOSE int fd = at_open(d);
    snprintf(full, sizeof(full), "trusted.mprun.%s", name);
    ssize_t len = fd < 0 ? -1 : fgetxattr(fd, full, buf, n - 1);
    buf[len < 0 ? 0 : len] = 0;
    return len;
}

/* ---- numbers --------------------------------------------------------------------------------- */

int at_read_u64(struct cgroup_at d, const char *file, uint64_t *ret)
{
    char buf[64];
    if (at_read(d, file, buf, sizeof(buf)) < 0)
        return -1;
    return u64_parse(buf, ret);
}

/* ---- walking --------------------------------------------------------------------------------- */

/* Calls fn for each directory below, children first, and then for d, until fn returns non-0, which
 * walk() returns; -1: a directory cannot be read. depth: 0. */
static int walk(struct cgroup_at d, int depth, int (*fn)(struct cgroup_at d, void *arg), void *arg)
{
    struct stat st; /* the kernel counts directories below as links */
    if (fstatat(d.fd, d.name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink == 2)
        return fn(d, arg);
    AUTO_DIR DIR *dir = dir_take_fd(at_open(d));
    if (!dir)
        return -1;
    int rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(dir));) {
        if (e->d_type != DT_DIR || !strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        struct cgroup_at below = {dirfd(dir), e->d_name};
        rc = depth < POLICY_WALK_DEPTH ? walk(below, depth + 1, fn, arg) : 0;
        if (rc < 0 && errno == ENOENT) /* it went away meanwhile */
            rc = 0;
    }
    return rc ? rc : fn(d, arg);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Returns whether the cgroup was removed meanwhile, or is threaded: then the next cgroup above that
 * is not threaded lists its processes. */
static bool is_gone_or_threaded(void)
{
    return errno == ENOENT || errno == ENODEV || errno == EOPNOTSUPP;
}

/* v2 lists a process where its first thread is, or was when that thread ended. Only cgroup.threads
 * lists threads that were moved since; v1 has no such file. */
static char *slurp_pids(struct cgroup_at d, bool *ret_are_threads)
{
    char path[FILE_PATH_MAX];
    char *text = file_slurp_at(d.fd, file_path(d, "cgroup.procs", path), PROCS_MAX, NULL);
    *ret_are_threads = text && !*text && at_has_file(d, "cgroup.threads");
    if (!*ret_are_threads)
        return text;
    free(text);
    return file_slurp_at(d.fd, file_path(d, "cgroup.threads", path), PROCS_MAX, NULL);
}

static int add_pid(struct pid_list *l, pid_t pid, bool is_thread)
{
    if (is_thread)
        pid = pid_of_thread(pid);
    /* 0 stands for a process outside of this pid namespace */
    return pid <= 0 || (is_thread && pids_have(l->pids, l->n, pid)) ? 0 : pid_list_add(l, pid);
}

static int collect_pids(struct cgroup_at d, void *arg)
{
    bool are_threads;
    AUTO_FREE char *text = slurp_pids(d, &are_threads);
    if (!text)
        return is_gone_or_threaded() ? 0 : -1;
    for (char *p = text, *end; *p; p = end + (*end != 0)) {
        long pid = strtol(p, &end, 10);
        if (end == p || add_pid(arg, (pid_t)pid, are_threads) < 0)
            return -1;
    }
    return 0;
}

ssize_t at_pids(struct cgroup_at d, pid_t **ret)
{
    struct pid_list l = {0};
    if (walk(d, 0, collect_pids, &l) < 0) {
        free(l.pids);
        return -1;
    }
    *ret = l.pids;
    return (ssize_t)l.n;
}

void at_move_all(struct cgroup_at from, struct cgroup_at to)
{
    AUTO_FREE pid_t *pids = NULL;
    ssize_t n = at_pids(from, &pids);
    for (ssize_t i = 0; i < n; i++)
        (void)at_write_u64(to, "cgroup.procs", (uint64_t)pids[i]);
}

static int any_process(struct cgroup_at d, void *arg)
{
    char buf[32];
    ssize_t n = at_read(d, "cgroup.procs", buf, sizeof(buf));
    if (n == 0 && at_has_file(d, "cgroup.threads"))
        n = at_read(d, "cgroup.threads", buf, sizeof(buf));
    if (n < 0)
        return is_gone_or_threaded() ? 0 : -1;
    return n > 0;
}

int at_has_processes(struct cgroup_at d)
{
    int rc = walk(d, 0, any_process, NULL);
    return rc < 0 && errno == ENOENT ? 0 : rc;
}

/* ---- removing -------------------------------------------------------------------------------- */

struct removal {
    int first;          /* errno of the first failure */
    struct timespec by; /* CLOCK_MONOTONIC; zero: no time limit */
};

static bool is_over(const struct timespec *by)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return by->tv_sec != 0 &&
           (now.tv_sec > by->tv_sec || (now.tv_sec == by->tv_sec && now.tv_nsec > by->tv_nsec));
}

static int remove_one(struct cgroup_at d, void *arg)
{
    struct removal *r = arg;
    if (!strcmp(d.name, "."))
        return 0;
    if (unlinkat(d.fd, d.name, AT_REMOVEDIR) < 0 && errno != ENOENT && r->first == 0)
        r->first = errno;
    if (!is_over(&r->by))
        return 0; /* go on: what can go goes */
    if (r->first == 0)
        r->first = EAGAIN;
    return 1;
}

static int remove_all(struct cgroup_at d, struct removal *r)
{
    /* nearly always there is nothing below */
    if (strcmp(d.name, ".") != 0 && (unlinkat(d.fd, d.name, AT_REMOVEDIR) == 0 || errno == ENOENT))
        return 0;
    if (walk(d, 0, remove_one, r) < 0 && errno != ENOENT && r->first == 0)
        r->first = errno;
    errno = r->first;
    return r->first ? -1 : 0;
}

int at_remove(struct cgroup_at d)
{
    return remove_all(d, &(struct removal){.first = 0});
}

int at_remove_within(struct cgroup_at d, int ms)
{
    struct removal r = {.first = 0};
    clock_gettime(CLOCK_MONOTONIC, &r.by);
    r.by.tv_nsec += ms * 1000000L;
    r.by.tv_sec += r.by.tv_nsec / 1000000000L;
    r.by.tv_nsec %= 1000000000L;
    return remove_all(d, &r);
}
