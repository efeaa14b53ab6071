/* SPDX-License-Identifier: BSD-3-Clause */
/* tcp.h - options of TCP sockets, and whether the peer's kernel still answers
 *
 * The kernel of a stopped process still answers, so its connection must stay. TCP_USER_TIMEOUT
 * would end it: the peer's window stays shut, although its kernel acknowledges every probe. So
 * keep-alive watches an idle connection, and tcp_unheard() a connection with data under way. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <netinet/in.h>

struct tcp_end {
    bool is_ipv6; /* false also for an IPv4 address on a socket for both families */
    char ip[INET6_ADDRSTRLEN];
    unsigned port;
};

/* Writes the peer's end of a TCP connection, or our own. false: fd is no TCP connection. */
bool tcp_end_of(int fd, bool peer, struct tcp_end *ret);
/* Sends without delay, and makes an idle connection fail with ETIMEDOUT when the peer's kernel has
 * not answered for about `seconds` (at least 3). */
void tcp_prepare(int fd, double seconds);
/* Returns the seconds since the peer's kernel last answered; 0: it owes no answer. */
double tcp_unheard(int fd);
/* Writes the peer's numeric address into ret as "tcp:IP:PORT"; "" when there is none. */
void tcp_peer(int fd, char *ret, size_t size);
