/* SPDX-License-Identifier: BSD-3-Clause */
/* unlinger.h - taking from a user's socket, and closing it, without waiting for what the user sent
 * along
 *
 * A packet can carry a descriptor, and whoever drops the last reference to that closes it. The
 * close of a TCP socket with SO_LINGER waits for as long as its owner likes. A signal ends that
 * wait, and the kernel goes on with the close by itself. (Linux 6.16 lets a socket refuse
 * descriptors; see command/resolve.c.) */
#pragma once

/* Between these two no close waits for longer than a moment. One pair at a time in a process, which
 * has no other use for SIGALRM. */
void unlinger_begin(void);
void unlinger_end(void);
/* Close *fd so, and set it to -1. */
void unlinger_close(int *fd);
