/* SPDX-License-Identifier: BSD-3-Clause */
/* identity.c - which process it is
 *
 * A connection's uid and groups are those of the moment of connect(), so a process that execs
 * another program, or hands its socket on, changes nothing. SO_PEERPIDFD (6.5) holds the very
 * process; before it the process of that number is opened, and must have the uid and the groups of
 * the connection. */
#include "node-daemon/mover/mover.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "containment/mprund-protocol.h"
#include "node-daemon/lib/proc-threads.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum { GROUPS_MAX = 65536, STATUS_MAX = 1 << 20 };

/* ---- /proc/PID ------------------------------------------------------------------------------- */

/* "Uid: real effective saved file-system" */
static int read_uids(const char *status, uid_t *ret_real, uid_t *ret_effective)
{
    const char *line = strstr(status, "\nUid:");
    return line && sscanf(line, "\nUid: %u %u", ret_real, ret_effective) == 2 ? 0 : -1;
}

void identity_close(struct identity *i)
{
    cleanup_close(&i->proc);
}

static int open_proc(pid_t pid)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The /proc of another process namespace has other processes under these numbers. */
static bool is_in_proc(int dir)
{
    struct stat is, proc;
    return fstat(dir, &is) == 0 && stat("/proc", &proc) == 0 && is.st_dev == proc.st_dev;
}

int identity_of_directory(int dir, struct identity *ret, struct error *err)
{
    char link[32], path[32];
    struct identity i = {.proc = -1};
    snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    path[n < 0 ? 0 : n] = 0;
    if (!is_in_proc(dir) || sscanf(path, "/proc/%d", &i.pid) != 1 || i.pid <= 1 ||
        strchr(path + 6, '/'))
        return error_set(err, EINVAL, "what is to be moved is no process");
    AUTO_FREE char *status = file_slurp_at(dir, "status", STATUS_MAX, NULL);
    if (!status || read_uids(status, &i.real_uid, &i.uid) < 0)
        return error_errno(err, ESRCH, "look at pid %d", (int)i.pid);
    i.proc = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    if (i.proc < 0)
        return error_errno(err, errno, "hold on to pid %d", (int)i.pid);
    *ret = i;
    return 0;
}

/* ---- before SO_PEERPIDFD --------------------------------------------------------------------- */

/* Are the numbers behind "Groups:" those of the connection? */
static bool has_groups(const char *status, const gid_t *want, size_t n)
{
    const char *line = strstr(status, "\nGroups:");
    char *end;
    if (!line)
        return false;
    line += strlen("\nGroups:");
    for (size_t i = 0; i < n; i++, line = end) {
        unsigned long is = strtoul(line, &end, 10);
        if (end == line || is != want[i])
            return false;
    }
    return *(line + strspn(line, " \t")) == '\n';
}

static bool looks_like_peer(int socket, const struct identity *i)
{
    socklen_t len = 0;
    uid_t real, effective;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) < 0 && errno != ERANGE)
        return false;
    AUTO_FREE gid_t *groups = len <= GROUPS_MAX * sizeof(gid_t) ? malloc(len + 1) : NULL;
    if (!groups || (len > 0 && getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0))
        return false;
    AUTO_FREE char *status = file_slurp_at(i->proc, "status", STATUS_MAX, NULL);
    return status && read_uids(status, &real, &effective) == 0 && effective == i->uid &&
           has_groups(status, groups, len / sizeof(gid_t));
}

/* ---- a connection ---------------------------------------------------------------------------- */

/* /proc/PID was opened before: it is the peer's if the peer lives now. */
static bool is_of_peer(int socket, const struct identity *i)
{
    AUTO_CLOSE int pidfd = -1;
    socklen_t len = sizeof(pidfd);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) < 0)
        return errno == ENOPROTOOPT && looks_like_peer(socket, i);
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    bool lives = poll(&end, 1, 0) == 0;
    return lives;
}

/* The peer of any other socket, a server's client say, did not ask. Nobody but root can give a
 * socket such a name: the directory is root's. */
static bool is_at_our_door(int socket)
{
    struct sockaddr_un at = {.sun_path = ""};
    socklen_t len = sizeof(at);
    return getsockname(socket, (struct sockaddr *)&at, &len) == 0 && at.sun_family == AF_UNIX &&
           (!strcmp(at.sun_path, GRANT_SOCKET) || !strcmp(at.sun_path, GRANT_ROOT_SOCKET));
}

int identity_of_socket(int socket, struct identity *ret, struct error *err)
{
    struct ucred who;
    socklen_t len = sizeof(who);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
        return error_errno(err, errno, "ask the kernel who connected");
    if (!is_at_our_door(socket))
        return error_set(err, EPERM, "pid %d has not connected to mprund", (int)who.pid);
    if (who.pid <= 1) /* it lives where the mover cannot see it */
        return error_set(err, ESRCH, "who connected is of another process namespace");
    struct identity i = {.pid = who.pid, .uid = who.uid, .real_uid = who.uid};
    i.proc = open_proc(i.pid);
    if (i.proc >= 0 && is_of_peer(socket, &i) && proc_is_alive(i.proc)) {
        *ret = i;
        return 0;
    }
    identity_close(&i);
    return error_set(err, ESRCH, "pid %d, which connected, has ended", (int)who.pid);
}
