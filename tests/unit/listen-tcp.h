/* SPDX-License-Identifier: BSD-3-Clause */
/* listen-tcp.h - a listening socket on an address of this machine, for tests */
#pragma once

#include "wire/transport/address.h"

/* On a port that the kernel chooses; the socket's address for others in ret. */
static inline int listen_tcp(const char *host, char ret[ADDRESS_TEXT], struct error *err)
{
    unsigned port;
    int fd = address_listen(host, NULL, &port, err);
    if (fd >= 0)
        address_of_ip(host, port, ret);
    return fd;
}
