/* SPDX-License-Identifier: BSD-3-Clause */
/* orphans.c - touches only directories called mprun.* on a cgroup file system, whatever the caller
 * asks: a wrong path must not kill the machine. If the caller itself was moved into the step's
 * `starter`, this kills only the ranks, and moves the caller and its companions back first. */
#include "containment/step/orphans.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "common/processes/proc.h"
#include "containment/cgroup/kill.h"
#include "containment/tunables.h"
#include "containment/step/hierarchy.h"

struct swept {
    const char *path;
    int parent_fd, dir;
    const struct cgroup_driver *driver;
};

/* ---- opening --------------------------------------------------------------------------------- */

static void swept_close(struct swept *s)
{
    cleanup_close(&s->dir);
    cleanup_close(&s->parent_fd);
}

static const char *base_name(const struct swept *s)
{
    return strrchr(s->path, '/') + 1;
}

static bool is_ours(const char *path)
{
    const char *slash = strrchr(path, '/');
    return path[0] == '/' && slash &&
           !strncmp(slash + 1, CGROUP_STEP_PREFIX, strlen(CGROUP_STEP_PREFIX));
}

/* 1: open, 0: not there, -1 with err */
static int swept_open(struct swept *s, const char *path, struct error *err)
{
    struct statfs fs;
    *s = (struct swept){.path = path, .parent_fd = -1, .dir = -1};
    if (!is_ours(path))
        return error_set(err, EINVAL, "remove cgroup '%s': not the name of a step's cgroup", path);
    AUTO_FREE char *parent = must(strndup(path, (size_t)(strrchr(path, '/') - path)));
    s->parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    s->dir = s->parent_fd < 0 ? -1 : at_open((struct cgroup_at){s->parent_fd, base_name(s)});
    if (s->dir < 0 && (errno == ENOENT || errno == EACCES)) /* of an ended job, mprund removes it */
        return 0;
    if (s->dir < 0 || fstatfs(s->dir, &fs) < 0)
        return error_errno(err, errno, "open cgroup '%s'", path);
    if (fs.f_type == CGROUP2_SUPER_MAGIC)
        s->driver = &cgroup_driver_v2;
    else if (fs.f_type == CGROUP_SUPER_MAGIC)
        s->driver = &cgroup_driver_v1;
    else
        return error_set(err, EINVAL, "remove cgroup '%s': not on a cgroup file system", path);
    return 1;
}

static int am_inside(const struct swept *s)
{
    struct cgroup_at starter = {s->dir, "starter"};
    AUTO_FREE pid_t *pids = NULL;
    ssize_t n = at_pids(starter, &pids);
    return n > 0 && pids_have(pids, (size_t)n, getpid());
}

/* ---- killing --------------------------------------------------------------------------------- */

/* v2 tells by POLLPRI on cgroup.events; v1 has nothing to wait for but time. */
static void pause_for_change(const struct swept *s, struct cgroup_at d, int ms, int ladder_ms)
{
    char path[CGROUP_NAME_MAX + 32], text[256];
    struct pollfd p = {.fd = -1, .events = POLLPRI};
    if (s->driver->version == 2) {
        snprintf(path, sizeof(path), "%.63s/cgroup.events", d.name);
        p.fd = openat(d.fd, path, O_RDONLY | O_CLOEXEC);
    }
    if (p.fd >= 0) { /* a change after this read is told */
        ssize_t n = pread(p.fd, text, sizeof(text) - 1, 0);
        text[n > 0 ? n : 0] = 0;
        if (strstr(text, "populated 0"))
            ms = 0;
    }
    (void)poll(&p, 1, ms < ladder_ms ? ms : ladder_ms);
    cleanup_close(&p.fd);
}

static int kill_all(const struct swept *s, struct cgroup_at d, double deadline, struct error *err)
{
    struct kill_ladder ladder;
    char who[256];
    int wait;
    kill_ladder_init(&ladder, d, s->driver);
    while ((wait = kill_ladder_step(&ladder)) > 0) {
        int left = (int)((deadline - loop_now()) * 1e3);
        if (left <= 0) {
            kill_ladder_stop(&ladder);
            at_describe(d, who, sizeof(who));
            return error_set(err, EBUSY, "end what is in cgroup '%s': %s was killed but stays",
                             s->path, who);
        }
        pause_for_change(s, d, left, wait);
    }
    if (wait < 0 && errno != ENOENT)
        return error_errno(err, errno, "end what is in cgroup '%s'", s->path);
    return 0;
}

/* ---- removing -------------------------------------------------------------------------------- */

static int sweep_one(const struct swept *s, double deadline, struct error *err)
{
    int inside = am_inside(s);
    struct cgroup_at all = {s->parent_fd, base_name(s)}, ranks = {s->dir, "ranks"};
    /* the worker may have left it frozen; on v1 thawing a cgroup above would not thaw it */
    (void)s->driver->freeze(ranks, 0);
    if (kill_all(s, inside ? ranks : all, deadline, err) < 0)
        return -1;
    if (inside) {
        (void)at_remove(ranks);
        /* where the parent has controllers it cannot take us back */
        at_move_all((struct cgroup_at){s->dir, "starter"}, (struct cgroup_at){s->parent_fd, "."});
    }
    return at_remove_or_tell(all, s->path, err);
}

/* cgroup2 and the freezer end forking processes for sure. Other v1 hierarchies hold the same
 * processes, so their turn is later. */
static int turn_of(const struct swept *s)
{
    if (s->driver->version == 2)
        return 0;
    return at_has_file((struct cgroup_at){s->dir, "."}, "freezer.state") ? 1 : 2;
}

int cgroup_sweep(const char *const *paths, size_t n, int timeout_ms, struct error *err)
{
    double deadline = loop_now() + timeout_ms / 1e3;
    int code = 0; /* of the first failure */
    for (int turn = 0; turn < 3; turn++)
        for (size_t i = 0; i < n; i++) {
            struct swept s;
            struct error e;
            int rc = swept_open(&s, paths[i], &e);
            if (rc > 0)
                rc = turn_of(&s) == turn ? sweep_one(&s, deadline, &e) : 0;
            swept_close(&s);
            if (rc == 0 || code)
                continue;
            code = e.code;
            if (err)
                *err = e;
        }
    errno = code ? code : errno;
    return code ? -1 : 0;
}

/* ---- without an owner ------------------------------------------------------------------------ */

/* If keeper and worker are killed at once, no process is left to remove what they made: the next
 * step of the same parent does it. A step's owner locks its directory, and the kernel releases the
 * lock however the owner ends; so a directory without a lock has no owner. It must also be old
 * enough, because a moment lies between making a directory and locking it. */
static bool has_no_owner(int dir, int min_age)
{
    struct stat st;
    if (fstat(dir, &st) < 0 || st.st_uid != geteuid() || time(NULL) - st.st_ctime < min_age)
        return false;
    return flock(dir, LOCK_EX | LOCK_NB) == 0;
}

static void sweep_entry(int parent_fd, const char *parent, const char *name, int min_age)
{
    char path[CGROUP_PATH_MAX];
    const char *const paths[] = {path};
    AUTO_CLOSE int dir = at_open((struct cgroup_at){parent_fd, name});
    if (dir < 0 || !has_no_owner(dir, min_age))
        return;
    if (snprintf(path, sizeof(path), "%s/%s", parent, name) < (int)sizeof(path))
        (void)cgroup_sweep(paths, 1, POLICY_STALE_WAIT_MS, NULL); /* the next step tries again */
}

void orphans_sweep(const char *parent, int min_age)
{
    AUTO_DIR DIR *dir = dir_take_fd(open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (!strncmp(e->d_name, CGROUP_STEP_PREFIX, strlen(CGROUP_STEP_PREFIX)))
            sweep_entry(dirfd(dir), parent, e->d_name, min_age);
}
