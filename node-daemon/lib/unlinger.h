/* SPDX-License-Identifier: BSD-3-Clause */
/* unlinger.h - reads from and closes a user's socket without waiting on a descriptor that the user
 * has sent with it
 *
 * A packet can carry a descriptor, and the process that drops its last reference closes it. The
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
