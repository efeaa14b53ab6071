/* SPDX-License-Identifier: BSD-3-Clause */
/* address.h - addresses as text: listen at an address, connect to one
 *
 * An address is "unix:PATH", "tcp:IPV4:PORT" or "tcp:[IPV6]:PORT". "home:PATH" among addresses
 * names the directory of mprun's sockets, which a starter removes when mprun has died. Blanks in a
 * PATH are written as %20 and so on. A path may be longer than a socket's name can be: the
 * functions then reach it through its directory's descriptor. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"

enum { ADDRESS_TEXT = 1024 };

/* Writes "KIND:PATH" into ret. -1: it is too long. */
int address_of_path(const char *kind, const char *path, char ret[ADDRESS_TEXT]);

/* Makes a listening socket (close-on-exec, non-blocking) and writes its address into ret. -1 with
 * err; so below. */
int address_listen_unix(const char *path, char ret[ADDRESS_TEXT], struct error *err);
struct port_range {
    unsigned low, high; /* both included; 0, 0: any port */
};
/* Does the same on a TCP port of the range (NULL: any). host: numeric address to listen on
 * ("127.0.0.1"); NULL: all addresses, IPv4 and IPv6. */
int address_listen(const char *host, const struct port_range *ports, unsigned *ret_port,
                   struct error *err);
/* Writes "tcp:IP:PORT" or "tcp:[IP]:PORT". */
void address_of_ip(const char *ip, unsigned port, char ret[ADDRESS_TEXT]);
/* Copies the first of several addresses, separated by blanks, into ret, and returns the rest; NULL:
 * there was none. */
const char *address_next(const char *addresses, char ret[ADDRESS_TEXT]);
/* Begins to connect, without waiting. Returns a socket, which is connected when it is writable and
 * its SO_ERROR is 0; -1 with errno. */
int address_begin(const char *address);

/* Writes the numeric address of this end of a TCP connection; "" for any other descriptor. */
void address_own(int fd, char *ret, size_t size);

/* Returns whether the kernel says that the other end of this Unix socket is of this user. */
bool address_is_peer_of(int fd, uid_t user);

/* Copies the path of "home:PATH" among addresses into ret. Returns 1; 0: none, or over size. */
int address_home(const char *addresses, char *ret, size_t size);
