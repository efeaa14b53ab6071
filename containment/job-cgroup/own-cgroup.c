/* SPDX-License-Identifier: BSD-3-Clause */
/* own-cgroup.c - the cgroup in which the calling process already sits
 *
 * Root makes its subtree in its own cgroup and nowhere above. An ordinary user may own a subtree
 * (by systemd's Delegate=, or by an administrator's chown): the shell then often sits in a leaf of
 * it, and controllers can be enabled only further up. So for a user this goes up as long as the
 * cgroup above is delegated, too, and as long as it escapes nothing that was set: it never leaves a
 * cgroup with a limit, or one that systemd marks as the top of a delegation. */
#include "containment/job-cgroup/parents.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/processes/proc.h"
#include "containment/cgroup/dir.h"
#include "containment/cgroup/driver.h"
#include "containment/cgroup/mounts.h"
#include "containment/job-cgroup/systemd-scope.h"

/* ---- what a directory allows ----------------------------------------------------------------- */

static int open_cgroup(const char *path, int version)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct statfs fs;
    if (fd < 0 || fstatfs(fd, &fs) < 0)
        return -1;
    if (fs.f_type != (version == 2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC))
        return error_number(ENODEV); /* something else is mounted over it */
    return take_fd(&fd);
}

/* Returns whether this process can make cgroups here and put its own processes into them. */
static bool is_writable(int dir, int version)
{
    return faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) == 0 &&
           faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) == 0 &&
           (version == 1 || faccessat(dir, "cgroup.subtree_control", W_OK, AT_EACCESS) == 0);
}

/* The hierarchy's real root, which has no such file, may have both processes and controllers. */
static bool is_real_root(struct cgroup_at d)
{
    return !at_has_file(d, "cgroup.events");
}

static bool is_limited(struct cgroup_at d)
{
    static const char *const files[] = {"memory.max",       "memory.high", "memory.swap.max",
                                        "memory.swap.high", "pids.max",    "cpu.max",
                                        "cpuset.cpus",      "cpuset.mems"};
    char text[256];
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (at_read(d, files[i], text, sizeof(text)) > 0 && strncmp(text, "max", 3) != 0)
            return true;
    return false;
}

static bool is_delegation_top(int dir)
{
    char mark = 0;
    return fgetxattr(dir, "user.delegate", &mark, 1) == 1 && mark == '1';
}

/* A threaded cgroup cannot have children that hold processes. */
static bool is_threaded(struct cgroup_at d)
{
    char type[64];
    return at_read(d, "cgroup.type", type, sizeof(type)) > 0 && strcmp(type, "domain") != 0;
}

/* ---- cgroup2 --------------------------------------------------------------------------------- */

/* Returns whether systemd made this scope for the step: a user's instance does not mark it
 * delegated. */
static bool is_own_scope(const char *dir)
{
    return !strncmp(strrchr(dir, '/') + 1, SYSTEMD_SCOPE_PREFIX, strlen(SYSTEMD_SCOPE_PREFIX));
}

static bool is_parent_better(const char *dir, size_t root_len)
{
    AUTO_CLOSE int fd = open_cgroup(dir, 2);
    struct cgroup_at at = {fd, "."};
    return fd >= 0 && strlen(dir) > root_len && !is_delegation_top(fd) && !is_limited(at) &&
           !is_own_scope(dir);
}

/* Shortens path to the highest directory that will do. Returns 0; -1: there is none. */
static int climb(char *path, size_t root_len)
{
    size_t best = 0;
    AUTO_FREE char *at = must(strdup(path));
    for (;;) {
        AUTO_CLOSE int fd = open_cgroup(at, 2);
        int ok = fd >= 0 && is_writable(fd, 2);
        if (ok)
            best = strlen(at);
        else if (best)
            break; /* the cgroup above belongs to another user */
        if (!is_parent_better(at, root_len))
            break;
        *strrchr(at, '/') = 0;
        if (!*at)
            break;
    }
    if (!best)
        return -1;
    path[best] = 0;
    return 0;
}

/* The controllers of v2 that a step can use. */
enum { OF_STEPS = CGROUP_LIMITS | CGROUP_BIT(CGROUP_CPU) | CGROUP_BIT(CGROUP_CPUSET) };

static unsigned controllers_in_file(struct cgroup_at d, const char *file)
{
    char text[512];
    return at_read(d, file, text, sizeof(text)) < 0 ? 0 : cgroup_controllers_in(text, OF_STEPS);
}

static void no_controllers(struct cgroup_parents *ret, const char *path, const char *why)
{
    free(ret->v2_why);
    must_do(asprintf(&ret->v2_why, "cgroup '%s' %s", path, why));
}

/* Names the process in the way. pid 0: it has no pid in this namespace, or there are too many. */
static void blame_stranger(struct cgroup_parents *ret, const char *path, pid_t pid)
{
    struct proc_stat st = {.comm = "?"};
    char why[256] = "holds other processes than mprun's";
    (void)proc_stat_read(pid, &st);
    if (pid > 0)
        snprintf(why, sizeof(why),
                 "holds another process than mprun's, pid %d (%s), and so cannot give controllers "
                 "to cgroups below it",
                 (int)pid, st.comm);
    no_controllers(ret, path, why);
}

/* The kernel refuses controllers to the children of a cgroup that holds processes itself: moves
 * mprun's own processes out of the way. */
static void make_room(struct cgroup_at d, const char *path, const pid_t *self, size_t nself,
                      unsigned available, struct cgroup_parents *ret)
{
    char text[4096]; /* many more than mprun's own */
    ssize_t len = at_read(d, "cgroup.procs", text, sizeof(text));
    if (len < 0 || (size_t)len >= sizeof(text) - 1) {
        blame_stranger(ret, path, 0);
        return;
    }
    AUTO_FREE pid_t *pids = must(calloc((size_t)len / 2 + 1, sizeof(*pids)));
    size_t n = 0;
    for (char *p = text; *p; p += *p != 0) {
        pid_t pid = (pid_t)strtol(p, &p, 10);
        if (pid <= 0 || !pids_have(self, nself, pid)) {
            blame_stranger(ret, path, pid);
            return;
        }
        pids[n++] = pid;
    }
    ret->v2_controllers = available;
    if (n > 0) {
        ret->v2_movers = take_ptr(pids);
        ret->nv2_movers = n;
    }
}

static void find_controllers(struct cgroup_at d, const char *path, const pid_t *self, size_t nself,
                             struct cgroup_parents *ret)
{
    unsigned available = controllers_in_file(d, "cgroup.controllers");
    unsigned enabled = controllers_in_file(d, "cgroup.subtree_control") & available;
    ret->v2_controllers = is_real_root(d) ? available : enabled;
    if ((available & CGROUP_LIMITS) != CGROUP_LIMITS)
        no_controllers(ret, path, "has not been given the controllers memory and pids");
    if (ret->v2_controllers != available)
        make_room(d, path, self, nself, available, ret);
}

/* A descriptor of a directory in which cgroups can be made; -1 with err. */
static int open_writable(const char *path, int version, struct error *err)
{
    AUTO_CLOSE int fd = open_cgroup(path, version);
    if (fd < 0)
        return error_errno(err, errno, "open cgroup '%s'", path);
    if (!is_writable(fd, version))
        return error_errno(err, errno, "cgroup '%s' is not writable", path);
    return take_fd(&fd);
}

static int find_v2(const struct cgroup_mounts *mounts, const struct cgroup_membership *own,
                   const pid_t *self, size_t nself, struct cgroup_parents *ret, struct error *err)
{
    size_t root_len;
    if (!own->v2)
        return error_set(err, ENOENT, "cgroup v2 is not mounted");
    AUTO_FREE char *path = cgroup_directory(mounts, 2, 0, own->v2, &root_len, err);
    if (!path)
        return -1;
    if (geteuid() != 0 && climb(path, root_len) < 0)
        return error_set(err, EACCES, "cgroup '%s' is not delegated to this user", path);
    AUTO_CLOSE int fd = open_writable(path, 2, err);
    if (fd < 0)
        return -1;
    struct cgroup_at d = {fd, "."};
    if (is_threaded(d))
        return error_set(err, EACCES,
                         "cgroup '%s' is threaded and cannot hold cgroups of processes", path);
    find_controllers(d, path, self, nself, ret);
    ret->v2 = take_ptr(path);
    return 0;
}

/* ---- v1 -------------------------------------------------------------------------------------- */

static int find_v1_controller(const struct cgroup_mounts *mounts,
                              const struct cgroup_membership *own, enum cgroup_controller c,
                              struct cgroup_parents *ret, struct error *err)
{
    AUTO_FREE char *path = cgroup_directory(mounts, 1, c, own->v1[c], NULL, err);
    if (!path)
        return -1;
    AUTO_CLOSE int fd = open_writable(path, 1, err);
    if (fd < 0)
        return -1;
    ret->v1[c] = take_ptr(path);
    return 0;
}

/* Returns 0 if at least one controller can be used; else err has the last one's reason. */
static int find_v1(const struct cgroup_mounts *mounts, const struct cgroup_membership *own,
                   struct cgroup_parents *ret, struct error *err)
{
    static const enum cgroup_controller wanted[] = {CGROUP_MEMORY, CGROUP_CPUSET, CGROUP_CPU,
                                                    CGROUP_PIDS, CGROUP_FREEZER};
    bool has_one = false;
    *err = (struct error){.code = ENOENT, .text = "no v1 controller is in use"};
    for (size_t i = sizeof(wanted) / sizeof(wanted[0]); i-- > 0;)
        if (own->v1[wanted[i]] && find_v1_controller(mounts, own, wanted[i], ret, err) == 0)
            has_one = true;
    if (has_one && own->v1[CGROUP_DEVICES]) /* tracks and limits nothing */
        (void)find_v1_controller(mounts, own, CGROUP_DEVICES, ret, NULL);
    return has_one ? 0 : -1;
}

char *cgroup_of_process(pid_t pid, int *version, enum cgroup_controller c, size_t *ret_root_len,
                        struct error *err)
{
    const struct cgroup_mounts *mounts = cgroup_mounts_once(err);
    AUTO(cgroup_membership_free) struct cgroup_membership m = {0};
    char *dir = NULL;
    if (mounts && cgroup_membership_read(pid, &m, err) == 0) {
        if (*version == 0)
            *version = m.v1[c] ? 1 : 2;
        const char *cgroup = *version == 2 ? m.v2 : m.v1[c];
        if (cgroup)
            dir = cgroup_directory(mounts, *version, c, cgroup, ret_root_len, err);
        else
            error_set(err, ENOENT, "pid %d is in no cgroup of this hierarchy", (int)pid);
    }
    return dir;
}

void cgroup_parents_enable(void)
{
    size_t at = 0;
    int version = 2;
    AUTO_FREE char *path = cgroup_of_process(0, &version, 0, &at, NULL);
    for (char *end = path ? strchr(path + at, '/') : NULL; end; end = strchr(end + 1, '/')) {
        *end = 0;
        AUTO_CLOSE int fd = open_cgroup(path, 2);
        if (fd >= 0)
            (void)cgroup_driver_v2.enable((struct cgroup_at){fd, "."}, OF_STEPS);
        *end = '/';
    }
}

/* ---- both ------------------------------------------------------------------------------------ */

int cgroup_parents_own(const pid_t *self, size_t nself, struct cgroup_parents *ret,
                       struct error *err)
{
    const struct cgroup_mounts *mounts = cgroup_mounts_once(err);
    AUTO(cgroup_membership_free) struct cgroup_membership own = {0};
    struct error v2, v1;
    *ret = (struct cgroup_parents){0};
    if (!mounts || cgroup_membership_read(0, &own, err) < 0)
        return -1;
    bool has_v2 = find_v2(mounts, &own, self, nself, ret, &v2) == 0;
    bool has_v1 = find_v1(mounts, &own, ret, &v1) == 0;
    if (has_v2 || has_v1)
        return 0;
    return error_set(err, v2.code,
                     "find a cgroup of our own that is writable: %s; %s" CGROUP_ADVICE, v2.text,
                     v1.text);
}

static void free_v2(struct cgroup_parents *p)
{
    free(p->v2);
    free(p->v2_why);
    free(p->v2_movers);
    p->v2 = p->v2_why = NULL;
    p->v2_movers = NULL;
    p->nv2_movers = 0;
    p->v2_controllers = 0;
}

static void free_v1(struct cgroup_parents *p)
{
    for (size_t c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        free(take_ptr(p->v1[c]));
}

int cgroup_parents_keep(struct cgroup_parents *p, int version, struct error *err)
{
    bool is_left = version == 2 && p->v2;
    for (size_t c = 0; version == 1 && c < CGROUP_CONTROLLER_COUNT; c++)
        is_left |= p->v1[c] != NULL;
    if (version == 1 || !is_left)
        free_v2(p);
    if (version == 2 || !is_left)
        free_v1(p);
    return is_left ? 0
                   : error_set(err, ENOENT, "no cgroup of version %d may be used here", version);
}

void cgroup_parents_free(struct cgroup_parents *p)
{
    free_v2(p);
    free_v1(p);
}
