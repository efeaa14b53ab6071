/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/keeper/keeper-channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "containment/job-cgroup/oom-kills.h"

static void tell(int fd, enum keeper_message what, const void *data, size_t n)
{
    char packet[KEEPER_PACKET];
    if (n > sizeof(packet) - 2)
        return;
    packet[0] = (char)what;
    memcpy(packet + 1, data, n);
    while (send(fd, packet, n + 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

void keeper_tell(int fd, enum keeper_message what, const char *text)
{
    tell(fd, what, text, strlen(text));
}

void keeper_tell_oom_kills(int fd, const struct oom_kills *kills)
{
    tell(fd, KEEPER_OOM_KILLS, kills, sizeof(*kills));
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

/* Takes the descriptors that came with a packet. */
static void take_fds(struct msghdr *m, int fds[KEEPER_FDS])
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    for (int i = 0; i < KEEPER_FDS; i++)
        fds[i] = -1;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len <= CMSG_LEN(KEEPER_FDS * sizeof(int)))
        memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
}

ssize_t keeper_receive(int fd, char packet[KEEPER_PACKET + 1], int fds[KEEPER_FDS])
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(KEEPER_FDS * sizeof(int))];
    struct iovec v = {packet, KEEPER_PACKET};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    ssize_t n;
    do /* a worker that has left an answer unread: ECONNRESET comes once, before what it has sent */
        n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n <= 0)
        return n;
    take_fds(&m, fds);
    packet[n] = 0;
    return n;
}
