/* SPDX-License-Identifier: BSD-3-Clause */
/* accept-hosts.h - where mprun listens, the addresses that starters and other mpruns of the job
 * get, and which peers mprun takes as which hosts */
#pragma once

#include "common/error.h"
#include "launcher/hosts/host-table.h"
#include "launcher/tunables.h"
#include "wire/link/listener.h"

/* Private to accept-hosts.c, but for `addresses`, and the function of either kind with its arg,
 * which are set before. All else 0: closed. */
struct listeners {
    struct loop *loop;
    const struct step_plan *plan;
    const uint8_t *key; /* that peers prove */
    const struct listen_events *events;
    struct host_table *hosts;
    const struct link_events *links; /* of hosts' links; their arg is the host */
    /* Is l the link of the job's agent on that host? Then the callee has taken it. False: it is the
     * starter's link. */
    bool (*is_agents)(void *arg, const struct host *h, struct link *l);
    /* Takes the link of another mprun. */
    void (*take_mprun)(void *arg, struct link *l);
    void *arg;
    struct listener *all[LISTENERS_MAX];
    size_t n;
    uint64_t nrefused;    /* peers, so far */
    char addresses[1200]; /* separated by blanks; "": none */
};

/* directory: of the step's sockets. -1 with err. With --transport=stdio there is no listener. */
int listeners_open(struct listeners *l, struct loop *loop, struct host_table *hosts,
                   const struct link_events *links, const char *directory, struct error *err);
/* Listens by TCP for other mpruns, which prove `key`; it outlives the listeners. -1 with err. */
int listeners_open_to_mpruns(struct listeners *l, struct loop *loop, const struct step_plan *plan,
                             const uint8_t key[LINK_KEY], struct error *err);
void listeners_close(struct listeners *l);
