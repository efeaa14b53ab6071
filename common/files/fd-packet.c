/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/files/fd-packet.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

int fd_packet_send(int fd, const void *packet, size_t n, const int *fds, size_t nfds)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(FD_PACKET_FDS * sizeof(int))] = {0};
    struct iovec v = {(void *)(uintptr_t)packet, n};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    if (nfds > 0) {
        m.msg_control = control;
        m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
        memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
    }
    ssize_t sent;
    do
        sent = sendmsg(fd, &m, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

ssize_t fd_packet_receive(int fd, void *packet, size_t size, int ret_fds[FD_PACKET_FDS])
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(FD_PACKET_FDS * sizeof(int))];
    struct iovec v = {packet, size};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    for (int i = 0; i < FD_PACKET_FDS; i++)
        ret_fds[i] = -1;
    ssize_t n;
    do /* a peer that has left something unread: ECONNRESET comes once, before what it has sent */
        n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len <= CMSG_LEN(FD_PACKET_FDS * sizeof(int)))
        memcpy(ret_fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
    return n;
}
