/* SPDX-License-Identifier: BSD-3-Clause */
/* library-socket.h - the socket on which the PMIx library listens for ranks and tools */
#pragma once

/* The library, which starts later, listens on this socket, and takes it. Ranks may have connected
 * to it: no connection is accepted before library_socket_open(). */
void library_socket_use(int fd);
/* The ranks are known to the library, and may come in. */
void library_socket_open(void);
