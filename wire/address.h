/* SPDX-License-Identifier: BSD-3-Clause */
/* address.h - where a launcher listens and how a starter gets there
 *
 * Written "unix:PATH" or "tcp:IPV4:PORT", "tcp:[IPV6]:PORT"; "home:PATH" is no address but the
 * directory of the launcher's sockets, for who has to remove it after the launcher's death. Blanks
 * in a PATH are written %20 and so on. A path longer than a socket name can be is reached through
 * its directory's descriptor, so its length does not matter. */
#ifndef WIRE_ADDRESS_H
#define WIRE_ADDRESS_H

#include <stddef.h>

#include "common/error.h"

enum { ADDRESS_TEXT = 1024 };

/* "KIND:PATH" into ret. -1: too long. */
int address_of_path(const char *kind, const char *path, char ret[ADDRESS_TEXT]);

/* A listening socket (close-on-exec, non-blocking), and its address for others in ret. */
int address_listen_unix(const char *path, char ret[ADDRESS_TEXT], struct error *err);
/* host: numeric address to listen on ("127.0.0.1"); the kernel chooses the port. */
int address_listen_tcp(const char *host, char ret[ADDRESS_TEXT], struct error *err);
/* The same on a port of a range (NULL: any); host NULL: on all addresses, IPv4 and IPv6. */
struct port_range {
    unsigned low, high; /* both in it; 0, 0: any */
};
int address_listen(const char *host, const struct port_range *ports, unsigned *ret_port,
                   struct error *err);
/* "tcp:IP:PORT", or with brackets */
void address_of_ip(const char *ip, unsigned port, char ret[ADDRESS_TEXT]);
/* Connect to the first of several addresses (separated by blanks) that answers within timeout
 * seconds; all are tried at once. A connected descriptor, or -1 with what each said. */
int address_connect(const char *addresses, double timeout, struct error *err);
/* For who waits otherwise (dial.h): the first of these addresses into ret, and where the list goes
 * on, NULL when there was none; and begin to connect to one: a socket that is connected when it is
 * writable and its SO_ERROR is 0, -1 with errno. */
const char *address_next(const char *addresses, char ret[ADDRESS_TEXT]);
int address_begin(const char *address);

/* The numeric address by which this end of a TCP connection goes; "" for any other. */
void address_own(int fd, char *ret, size_t size);

/* The numeric address by which this end of a TCP connection goes; "" for any other. */
void address_own(int fd, char *ret, size_t size);

/* The path of "home:PATH" among addresses into ret. 1, or 0: none, or it is longer than size. */
int address_home(const char *addresses, char *ret, size_t size);

#endif
