/* SPDX-License-Identifier: BSD-3-Clause */
/* simple-pmi-connect.c - a rank's connection to mppmi for PMI-1 and PMI-2; see pmi-private.h */
#include "starter/pmi/pmi-private.h"

#include <stdint.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "starter/tunables.h"
#include "wire/little-endian.h"

enum { SIMPLE_PMI_HELLO = 12 }; /* bytes: world, rank and incarnation, little endian */

/* The kernel completes the connection and holds these bytes, so this does not wait for mppmi. Only
 * a full queue makes connect() wait; the time limit for sending bounds that. The rank's own use of
 * the socket gets no time limit. */
static int connect_and_greet(int fd, const struct sockaddr_un *to, struct rank_name name)
{
    struct timeval limit = {.tv_sec = SIMPLE_PMI_CONNECT_SECONDS}, none = {0};
    uint8_t hello[SIMPLE_PMI_HELLO];
    put32(hello, name.world);
    put32(hello + 4, name.rank);
    put32(hello + 8, name.incarnation);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0 ||
        connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0 ||
        fd_write_all(fd, hello, sizeof(hello)) < 0)
        return -1;
    return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
}

int simple_pmi_connect(const struct sockaddr_un *server, struct rank_name rank)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && connect_and_greet(fd, server, rank) == 0 ? take_fd(&fd) : -1;
}
