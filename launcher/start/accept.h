/* SPDX-License-Identifier: BSD-3-Clause */
/* accept.h - peers that come to the launcher's listeners: which host each is, and who is refused */
#pragma once

#include <stdint.h>

#include "wire/link/listener.h"

struct host_table;

struct arrivals {
    struct host_table *hosts;
    const struct link_events *links; /* of hosts' links; their arg is the host */
    uint64_t nrefused;               /* peers, so far */
};

extern const struct listen_events arrival_events; /* arg is the arrivals */
