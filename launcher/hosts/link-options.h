/* SPDX-License-Identifier: BSD-3-Clause */
/* link-options.h - what users say of the links between hosts */
#pragma once

#include <stdint.h>

#include "wire/link/link.h"
#include "wire/transport/address.h"

enum transport {
    TRANSPORT_AUTO, /* unix where all hosts are this machine, else tcp */
    TRANSPORT_UNIX,
    TRANSPORT_TCP,
    TRANSPORT_STDIO,
};

extern const char *const transport_words[]; /* by enum transport; NULL-terminated */

struct host_link_options {
    enum transport transport;
    enum link_security security; /* of links between hosts; Unix sockets have none */
    const char *interface;       /* NULL: all */
    struct port_range ports;     /* 0, 0: any */
    double grace;                /* seconds that an interrupted link is waited for; 0: it is not */
    double heartbeat;            /* seconds of silence after which a host is named; 0: none is */
    uint32_t fanout;             /* hosts that one passes on to; 0: none */
};
