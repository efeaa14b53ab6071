/* SPDX-License-Identifier: BSD-3-Clause */
/* tcp.h - what a link asks of a TCP socket: is there anybody's kernel at the other end?
 *
 * A stopped process has a kernel that answers: TCP_USER_TIMEOUT is no help, because it ends a
 * connection whose peer's window stays shut, however readily its kernel acknowledges the probes. So
 * keep-alive watches an idle connection, and tcp_unheard() one with data under way. */
#ifndef WIRE_TCP_H
#define WIRE_TCP_H

#include <stddef.h>

int tcp_is(int fd);
/* No delay; an idle peer whose kernel has not answered for about `seconds` (3 and more) is an error
 * of the socket, ETIMEDOUT. */
void tcp_prepare(int fd, double seconds);
/* Seconds since the peer's kernel was last heard of, when it owes an answer; else 0. */
double tcp_unheard(int fd);
/* The peer's numeric address, as "tcp:IP:PORT" into ret; "" when there is none. */
void tcp_peer(int fd, char *ret, size_t size);

#endif
