/* SPDX-License-Identifier: BSD-3-Clause */
/* systemd.c - a place for jobs that systemd leaves alone
 *
 * systemd is the one writer of the tree and may take controllers away from what it has not
 * delegated; and a unit whose cgroup has children with controllers cannot be started again, so jobs
 * cannot be below mprund.service. They are in a scope of their own, with Delegate=yes. A scope ends
 * with its last process, hence the holder, in a child of the scope so that the scope itself can
 * have controllers. If the holder is killed the jobs keep the scope, and the next daemon puts
 * another one in.
 *
 * systemd-run asks systemd for the scope, waits until it is there, and becomes the holder. */
#include "node-daemon/command/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "containment/cgroup/dir.h"
#include "containment/cgroup/mounts.h"

#define SCOPE  "mprund-jobs.scope"
#define HOLDER "holder"

enum { WAIT_MS = 30000, SCOPE_PATH_MAX = 1024 };

/* Where the scope's directory is, or will be: caller frees. NULL with err: cgroup v2 is not mounted
 * here, or only another part of it. */
static char *scope_path(struct error *err)
{
    AUTO(cgroup_mounts_free) struct cgroup_mounts mounts = {0};
    char *path = NULL;
    if (cgroup_mounts_read(&mounts, err) == 0)
        path = cgroup_directory(&mounts, 2, 0, SYSTEMD_SCOPE_CGROUP, NULL, err);
    return path;
}

int systemd_is_wanted(const struct conf *c)
{
    struct stat st;
    if (c->cgroup_version == 1)
        return 0;
    if (c->systemd != SYSTEMD_AUTO)
        return c->systemd != SYSTEMD_NO;
    AUTO_FREE char *path = scope_path(NULL); /* without cgroup v2, v1 does it all */
    return path && lstat("/run/systemd/system", &st) == 0 &&
           S_ISDIR(st.st_mode); /* as sd_booted(3) */
}

/* ---- the holder ------------------------------------------------------------------------------ */

int systemd_hold(void)
{
    pid_t self = getpid();
    setsid();
    prctl(PR_SET_NAME, "mprund-holder");
    if (chdir("/") < 0 || fd_write_all(STDOUT_FILENO, &self, sizeof(self)) < 0)
        return 1;
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    for (;;)
        pause();
}

/* In the child: nothing of the daemon's environment is passed on. */
static void exec_holder(int report, int in_scope, char *self)
{
    char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *env[] = {path, NULL};
    char *hold[] = {self, "hold", NULL};
    char *run[] = {"systemd-run",
                   "--scope",
                   "--quiet",
                   "--collect",
                   "--unit=" SCOPE,
                   "-p",
                   "Delegate=yes",
                   "-p",
                   "TasksMax=infinity",
                   "-p",
                   "Description=mprund: jobs",
                   "--",
                   self,
                   "hold",
                   NULL};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(report, STDOUT_FILENO) < 0)
        _exit(111);
    if (in_scope)
        execve(self, hold, env);
    else
        execve("/usr/bin/systemd-run", run, env);
    _exit(111);
}

static int hear_of_holder(int fd, pid_t *ret, struct error *err)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, WAIT_MS) != 1)
        return error_set(err, ETIMEDOUT, "start the holder of " SCOPE ": systemd does not answer");
    if (fd_read_all(fd, ret, sizeof(*ret)) < 0 || *ret <= 1)
        return error_set(err, EPROTO,
                         "start the holder of " SCOPE ": systemd-run failed; its reason is above");
    return 0;
}

/* Twice forked: it is to be nobody's child that would have to be waited for. in_scope: the scope is
 * there, and the process, which begins beside the daemon, is moved by its number. */
static int start_holder(int in_scope, pid_t *ret, struct error *err)
{
    char self[SCOPE_PATH_MAX];
    int p[2];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n < 0 || pipe2(p, O_CLOEXEC) < 0)
        return error_errno(err, errno, "start the holder of " SCOPE);
    self[n] = 0;
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0)
            exec_holder(p[1], in_scope, self);
        _exit(0);
    }
    close(p[1]);
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    int rc = child < 0 ? error_errno(err, errno, "start the holder of " SCOPE)
                       : hear_of_holder(p[0], ret, err);
    close(p[0]);
    return rc;
}

/* ---- the scope ------------------------------------------------------------------------------- */

/* 0 with *ret_fd the scope's directory, or -1 where it is not there; -1 with err. */
static int open_scope(int *ret_fd, struct error *err)
{
    AUTO_FREE char *path = scope_path(err);
    if (!path)
        return error_context(err, "find " SCOPE);
    *ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*ret_fd < 0 && errno != ENOENT)
        return error_errno(err, errno, "open the cgroup of " SCOPE);
    return 0;
}

/* A scope with a process in it, and not in a child of it, can have no controllers for its jobs. A
 * new holder begins there, and one whose daemon was killed before it seated it is there still. */
static int seat_holder(int scope, struct error *err)
{
    char pids[SCOPE_PATH_MAX], *save = NULL;
    struct cgroup_at top = {scope, "."}, holder = {scope, HOLDER};
    if ((mkdirat(scope, HOLDER, 0755) < 0 && errno != EEXIST) ||
        at_read(top, "cgroup.procs", pids, sizeof(pids)) < 0)
        return error_errno(err, errno, "put the holder into " SCOPE);
    for (char *pid = strtok_r(pids, "\n", &save); pid; pid = strtok_r(NULL, "\n", &save))
        if (at_write(holder, "cgroup.procs", pid) < 0 && errno != ESRCH)
            return error_errno(err, errno, "put the holder into " SCOPE);
    return 0;
}

/* The holder of a scope that is there already: one is started where it has none. */
static int keep_holder(int scope, struct error *err)
{
    pid_t pid = 0;
    struct cgroup_at holder = {scope, HOLDER};
    if (seat_holder(scope, err) < 0)
        return -1;
    if (at_has_processes(holder) > 0)
        return 0;
    if (start_holder(1, &pid, err) < 0)
        return -1;
    if (at_write_u64(holder, "cgroup.procs", (uint64_t)pid) < 0)
        return error_errno(err, errno, "put the holder into " SCOPE);
    return 0;
}

static int new_scope(struct error *err)
{
    pid_t pid = 0;
    AUTO_CLOSE int scope = -1;
    if (start_holder(0, &pid, err) < 0 || open_scope(&scope, err) < 0)
        return -1;
    if (scope < 0)
        return error_errno(err, ENOENT, "open the cgroup of " SCOPE);
    return seat_holder(scope, err);
}

int systemd_scope(const char **ret_cgroup, struct error *err)
{
    AUTO_CLOSE int scope = -1;
    if (open_scope(&scope, err) < 0)
        return -1;
    if ((scope >= 0 ? keep_holder(scope, err) : new_scope(err)) < 0)
        return -1;
    *ret_cgroup = SYSTEMD_SCOPE_CGROUP;
    return 0;
}
