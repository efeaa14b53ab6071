/* SPDX-License-Identifier: BSD-3-Clause */
/* accept-hosts.h - where mprun listens, the addresses that starters get, and which peers mprun
 * takes as which hosts */
#pragma once

#include "common/error.h"
#include "launcher/hosts/host-table.h"
#include "launcher/tunables.h"
#include "wire/link/listener.h"

/* Private to accept-hosts.c, but for `addresses`, and is_agents with its arg, which are set before.
 * All else 0: closed. */
struct listeners {
    struct loop *loop;
    struct host_table *hosts;
    const struct link_events *links; /* of hosts' links; their arg is the host */
    /* Is l the link of the job's agent on that host? Then the callee has taken it. False: it is the
     * starter's link. */
    bool (*is_agents)(void *arg, const struct host *h, struct link *l);
    void *arg;
    struct listener *all[LISTENERS_MAX];
    size_t n;
    uint64_t nrefused;    /* peers, so far */
    char addresses[1200]; /* separated by blanks; "": none */
};

/* directory: of the step's sockets. -1 with err. With --transport=stdio there is no listener. */
int listeners_open(struct listeners *l, struct loop *loop, struct host_table *hosts,
                   const struct link_events *links, const char *directory, struct error *err);
void listeners_close(struct listeners *l);
