/* SPDX-License-Identifier: BSD-3-Clause */
/* peer-owner.h - the user of the process at the other end of a TCP connection of this machine
 *
 * The kernel tells the user, not the peer. A socket that its process has closed has no owner: the 0
 * that the kernel reports then does not mean root. */
#pragma once

#include <sys/types.h>

/* Finds the user of the peer of fd, a connected TCP socket. -1 with errno: ENOENT when no open
 * socket of this network namespace is at the other end; else the kernel does not answer. */
int peer_owner(int fd, uid_t *ret);

/* The two ways of peer_owner(), which tries by_diag first. A sock_diag netlink socket
 * (sock_diag(7)) needs some microseconds, however many sockets there are, and the kernel module
 * tcp_diag; without the module the answer is ENOENT, too. /proc/net/tcp and tcp6 (proc(5)) are
 * always there. */
int peer_owner_by_diag(int fd, uid_t *ret);
int peer_owner_by_proc(int fd, uid_t *ret);
