/* SPDX-License-Identifier: BSD-3-Clause */
/* accept-guard.c - keeps connections of other users away from the PMIx library
 *
 * The library listens on TCP at 127.0.0.1, where every user of the host can connect, and reads the
 * first packet before it looks at any credential: it waits for one that does not come, and one with
 * wrong lengths makes it read and write behind its buffers (4.2.2: a header of 16 bytes that
 * announces 128, and 128 random ones). It has no option for another kind of socket. So its accept()
 * is this one: a program's own function goes before the C library's. */
#include <stdbool.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmix-server/pmix/peer-owner.h"

static bool may_connect(int fd)
{
    uid_t uid;
    return peer_owner(fd, &uid) == 0 && (uid == geteuid() || uid == 0);
}

/* accept(2) for connections of this user and of root alone. Others get the error of one that was
 * given up by its peer, which all callers must expect. */
__attribute__((visibility("default"))) int accept(int fd, struct sockaddr *ret, socklen_t *n)
{
    int connection = (int)syscall(SYS_accept4, fd, ret, n, 0);
    if (connection < 0 || may_connect(connection))
        return connection;
    close(connection);
    errno = ECONNABORTED;
    return -1;
}
