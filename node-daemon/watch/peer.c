/* SPDX-License-Identifier: BSD-3-Clause */
/* peer.c - a connection's other end: uid, groups, and a hold on the process
 *
 * The uid and the groups are those of the moment of connect(), so a process that execs another
 * program, or hands its socket on, changes nothing. A pid is only a number: whoever uses it asks
 * peer_is_alive() afterwards. SO_PEERPIDFD (6.5) gives a hold on the very process; before it the
 * process of that number is opened, and must have the uid and the groups of the connection. */
#include "node-daemon/watch/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "common/proc.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum { NR_PIDFD_OPEN = 434, GROUPS_MAX = 65536, STATUS_MAX = 1 << 20 };

static int read_groups(int socket, struct peer *p)
{
    socklen_t len = 0;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) < 0 && errno != ERANGE)
        return -1;
    p->ngroups = len / sizeof(gid_t);
    if (p->ngroups == 0)
        return 0;
    if (p->ngroups > GROUPS_MAX || !(p->groups = malloc(len)))
        return -1;
    return getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, p->groups, &len);
}

/* ---- before SO_PEERPIDFD ----------------------------------------------------------------------
 */

/* The numbers behind `key` in the text of /proc/PID/status: does each equal want[i], and are there
 * n of them? */
static int line_equals(const char *status, const char *key, const gid_t *want, size_t n)
{
    const char *line = strstr(status, key);
    char *end;
    if (!line)
        return 0;
    line += strlen(key);
    for (size_t i = 0; i < n; i++, line = end) {
        unsigned long is = strtoul(line, &end, 10);
        if (end == line || is != want[i])
            return 0;
    }
    return *(line + strspn(line, " \t")) == '\n';
}

/* "Uid: real effective saved file-system" */
static int has_uid(const char *status, uid_t uid)
{
    unsigned ids[4];
    const char *line = strstr(status, "\nUid:");
    return line && sscanf(line, "\nUid: %u %u %u %u", ids, ids + 1, ids + 2, ids + 3) == 4 &&
           ids[1] == uid;
}

static int looks_like(const struct peer *p)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)p->pid);
    AUTO_FREE char *status = file_slurp_at(AT_FDCWD, path, STATUS_MAX, NULL);
    return status && has_uid(status, p->uid) &&
           line_equals(status, "\nGroups:", p->groups, p->ngroups);
}

static int hold_by_number(struct peer *p)
{
    struct proc_stat st;
    p->pidfd = (int)syscall(NR_PIDFD_OPEN, p->pid, 0);
    if (p->pidfd < 0 && errno != ENOSYS)
        return -1;
    if (proc_stat_read(p->pid, &st) < 0)
        return -1;
    p->starttime = st.starttime;
    if (looks_like(p) && peer_is_alive(p))
        return 0;
    errno = ESRCH;
    return -1;
}

/* ---- all together -----------------------------------------------------------------------------
 */

static int hold_process(int socket, struct peer *p)
{
    socklen_t len = sizeof(p->pidfd);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &p->pidfd, &len) == 0) {
        fcntl(p->pidfd, F_SETFD, FD_CLOEXEC);
        return 0;
    }
    p->pidfd = -1;
    return errno == ENOPROTOOPT || errno == EINVAL ? hold_by_number(p) : -1;
}

int peer_read(int socket, struct peer *ret, struct error *err)
{
    struct peer p = {.pidfd = -1};
    struct ucred who;
    socklen_t len = sizeof(who);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
        return error_errno(err, errno, "ask the kernel who connected");
    p.pid = who.pid;
    p.uid = who.uid;
    if (p.pid <= 0) /* it lives where this daemon cannot see it */
        return error_set(err, ESRCH, "who connected is of another process namespace");
    if (read_groups(socket, &p) < 0 || hold_process(socket, &p) < 0) {
        int saved = errno;
        peer_free(&p);
        return error_errno(err, saved, "hold on to pid %d, which connected", (int)who.pid);
    }
    *ret = p;
    return 0;
}

void peer_free(struct peer *p)
{
    cleanup_close(&p->pidfd);
    p->pidfd = -1;
    free(p->groups);
    p->groups = NULL;
    p->ngroups = 0;
}

int peer_is_alive(const struct peer *p)
{
    struct pollfd end = {.fd = p->pidfd, .events = POLLIN};
    struct proc_stat st;
    if (p->pidfd >= 0)
        return poll(&end, 1, 0) == 0; /* readable: it has ended */
    return proc_stat_read(p->pid, &st) == 0 && st.starttime == p->starttime && st.state != 'Z';
}

int peer_has_group(const struct peer *p, gid_t group)
{
    for (size_t i = 0; i < p->ngroups; i++)
        if (p->groups[i] == group)
            return 1;
    return 0;
}
