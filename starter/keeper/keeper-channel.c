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

ssize_t keeper_receive(int fd, char packet[KEEPER_PACKET + 1], int fds[FD_PACKET_FDS])
{
    ssize_t n = fd_packet_receive(fd, packet, KEEPER_PACKET, fds);
    packet[n > 0 ? n : 0] = 0;
    return n;
}
