/* SPDX-License-Identifier: BSD-3-Clause */
/* peer-owner.h - whose process is at the other end of a TCP connection of this machine
 *
 * The kernel's word, not the peer's. A socket that its process has closed belongs to nobody: what
 * the kernel says of it then (0) is not its owner. */
#ifndef PMIX_SERVER_PEER_OWNER_H
#define PMIX_SERVER_PEER_OWNER_H

#include <sys/types.h>

/* The user of the peer of fd, a connected TCP socket. -1 with errno: ENOENT when no open socket of
 * this network namespace is at the other end, another one when the kernel cannot be asked. */
int peer_owner(int fd, uid_t *ret);

/* The two ways that peer_owner() goes, the second where the first fails: by a sock_diag netlink
 * socket (sock_diag(7)), which takes some microseconds however many sockets there are, but needs
 * the kernel's module tcp_diag, without which it says ENOENT, too; and by /proc/net/tcp and tcp6
 * (proc(5)). */
int peer_owner_by_diag(int fd, uid_t *ret);
int peer_owner_by_proc(int fd, uid_t *ret);

#endif
