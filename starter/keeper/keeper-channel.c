/* SPDX-License-Identifier: BSD-3-Clause */
/* keeper-channel.c - see keeper-channel.h */
#include "starter/keeper/keeper-channel.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

void keeper_tell(int fd, enum keeper_message what, const char *text)
{
    char packet[KEEPER_PACKET];
    size_t n = strlen(text);
    if (n > sizeof(packet) - 2)
        return;
    packet[0] = (char)what;
    memcpy(packet + 1, text, n);
    while (send(fd, packet, n + 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

int keeper_send(int fd, const char *packet, size_t n, const int *fds, size_t nfds)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(KEEPER_FDS * sizeof(int))] = {0};
    struct iovec v = {(void *)(uintptr_t)packet, n};
    struct msghdr m = {.msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = CMSG_SPACE(nfds * sizeof(int))};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
    memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
    return sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -1;
}
