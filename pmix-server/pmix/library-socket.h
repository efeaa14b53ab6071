/* SPDX-License-Identifier: BSD-3-Clause */
/* library-socket.h - the socket on which the PMIx library listens for ranks and tools */
#pragma once

/* Hands the library, which starts later, this socket to listen on; takes fd. Ranks may have
 * connected to it: the library accepts no connection before library_socket_open(). */
void library_socket_use(int fd);
/* The library knows the ranks: lets it accept their connections. */
void library_socket_open(void);
