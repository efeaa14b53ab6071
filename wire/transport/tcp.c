/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/transport/tcp.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

#ifndef TCP_RTO_MAX_MS /* Linux 6.15 */
#define TCP_RTO_MAX_MS 44
#endif

union any_address {
    struct sockaddr sa;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

bool tcp_end_of(int fd, bool peer, struct tcp_end *ret)
{
    union any_address a = {.sa.sa_family = AF_UNSPEC};
    socklen_t len = sizeof(a);
    const struct in6_addr *in6 = &a.in6.sin6_addr;
    if ((peer ? getpeername : getsockname)(fd, &a.sa, &len) < 0)
        return false;
    if (a.sa.sa_family != AF_INET && a.sa.sa_family != AF_INET6)
        return false;
    const void *ip = &a.in.sin_addr;
    ret->is_ipv6 = a.sa.sa_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(in6);
    if (ret->is_ipv6)
        ip = in6;
    else if (a.sa.sa_family == AF_INET6)
        ip = &in6->s6_addr[12];
    ret->port = ntohs(a.in.sin_port); /* at the same place in both */
    return inet_ntop(ret->is_ipv6 ? AF_INET6 : AF_INET, ip, ret->ip, sizeof(ret->ip)) != NULL;
}

static void set(int fd, int option, int value)
{
    setsockopt(fd, IPPROTO_TCP, option, &value, sizeof(value));
}

void tcp_prepare(int fd, double seconds)
{
    int one = 1, third = seconds < 3 ? 1 : (int)(seconds / 3);
    set(fd, TCP_NODELAY, 1);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    set(fd, TCP_KEEPIDLE, third);
    set(fd, TCP_KEEPINTVL, third);
    set(fd, TCP_KEEPCNT, 2);
    /* so that a connection that was cut off goes on soon, and a shut window is probed often */
    set(fd, TCP_RTO_MAX_MS, third < 2 ? 1000 : third * 1000 / 2);
}

double tcp_unheard(int fd)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
        return 0;
    if (info.tcpi_unacked == 0 && info.tcpi_probes == 0)
        return 0;
    return info.tcpi_last_ack_recv / 1000.0;
}

void tcp_peer(int fd, char *ret, size_t size)
{
    struct tcp_end e;
    ret[0] = 0;
    if (tcp_end_of(fd, true, &e))
        snprintf(ret, size, e.is_ipv6 ? "tcp:[%s]:%u" : "tcp:%s:%u", e.ip, e.port);
}
