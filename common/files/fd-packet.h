/* SPDX-License-Identifier: BSD-3-Clause */
/* fd-packet.h - packets with descriptors, on a Unix socket */
#pragma once

#include <stddef.h>
#include <sys/types.h>

enum { FD_PACKET_FDS = 3 }; /* of one packet, at most */

/* Send a packet with the first nfds of fds. 0, or -1 with errno. */
int fd_packet_send(int fd, const void *packet, size_t n, const int *fds, size_t nfds);
/* Take a packet without waiting, and into ret_fds its descriptors or -1, which the caller closes.
 * The packet's bytes; 0: the peer has gone; -1 with errno (EAGAIN: there is none now). */
ssize_t fd_packet_receive(int fd, void *packet, size_t size, int ret_fds[FD_PACKET_FDS]);
