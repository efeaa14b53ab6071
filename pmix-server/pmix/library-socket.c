/* SPDX-License-Identifier: BSD-3-Clause */
/* library-socket.c - the socket on which the PMIx library listens; see library-socket.h
 *
 * The library has no option for an existing socket, or for another kind of socket. So mppmi defines
 * bind() and accept() itself: a program's own functions go before the C library's.
 *
 * The library listens on TCP at 127.0.0.1, where every user of the host can connect, and reads the
 * first packet before it looks at any credential: it waits for a packet that does not come, and
 * wrong lengths make it read and write behind its buffers (4.2.2: a header of 16 bytes that
 * announces 128, and 128 random ones). So accept() asks the kernel which user has connected. */
#include "pmix-server/pmix/library-socket.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmix-server/pmix/peer-owner.h"
#include "common/error.h"

static int inherited = -1;
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool is_closed;
} gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};

void library_socket_use(int fd)
{
    inherited = fd;
    gate.is_closed = true;
}

void library_socket_open(void)
{
    pthread_mutex_lock(&gate.mutex);
    gate.is_closed = false;
    pthread_cond_broadcast(&gate.opened);
    pthread_mutex_unlock(&gate.mutex);
}

/* The library accepts in a thread that does nothing else. */
static void wait_until_open(void)
{
    pthread_mutex_lock(&gate.mutex);
    while (gate.is_closed)
        pthread_cond_wait(&gate.opened, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
}

/* bind(2), but the first IPv4 socket becomes the inherited one. */
__attribute__((visibility("default"))) int bind(int fd, const struct sockaddr *to, socklen_t n)
{
    if (inherited < 0 || to->sa_family != AF_INET)
        return (int)syscall(SYS_bind, fd, to, n);
    int rc = dup3(inherited, fd, O_CLOEXEC);
    close(inherited);
    inherited = -1;
    return rc < 0 ? -1 : 0;
}

static bool may_connect(int fd)
{
    uid_t uid;
    return peer_owner(fd, &uid) == 0 && (uid == geteuid() || uid == 0);
}

/* accept(2), but only for connections of this user and root. For others it returns the error of a
 * connection that the peer has given up, which all callers must expect. */
__attribute__((visibility("default"))) int accept(int fd, struct sockaddr *ret, socklen_t *n)
{
    wait_until_open();
    int connection = (int)syscall(SYS_accept4, fd, ret, n, 0);
    if (connection < 0 || may_connect(connection))
        return connection;
    close(connection);
    return error_number(ECONNABORTED);
}
