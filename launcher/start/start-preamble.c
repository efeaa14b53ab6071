/* SPDX-License-Identifier: BSD-3-Clause */
/* start-preamble.c - the preamble of a host is filled */
#include "launcher/start/start-preamble.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/hosts/host-table.h"
#include "wire/transport/address.h"

static uint32_t flags_of(const struct step_plan *plan)
{
    const struct cmdline *cmd = plan->cmd;
    uint32_t flags = 0;
    if (plan->transport == TRANSPORT_STDIO)
        flags |= PREAMBLE_STDIO;
    if (plan->transport == TRANSPORT_TCP && cmd->security == LINK_ENCRYPT)
        flags |= PREAMBLE_ENCRYPT;
    if (plan->transport == TRANSPORT_TCP && cmd->security == LINK_MAC)
        flags |= PREAMBLE_MAC;
    if (cmd->verbose)
        flags |= PREAMBLE_VERBOSE;
    if (cmd->explain)
        flags |= PREAMBLE_EXPLAIN;
    if (plan->step.pmi && !cmd->explain)
        flags |= PREAMBLE_PMI;
    return flags;
}

int start_preamble_pack(const struct step_plan *plan, const struct host *h, const char *directory,
                        const char *addresses, uint32_t more_flags, uint8_t ret[PREAMBLE_MAX],
                        struct error *err)
{
    char home[ADDRESS_TEXT] = "";
    struct preamble p = {.host_id = h->launch_index,
                         .launcher = (uint32_t)getpid(),
                         .flags = flags_of(plan) | more_flags};
    memcpy(p.key, plan->key, sizeof(p.key));
    if (plan->alloc.hosts[h->index].here && directory[0] &&
        address_of_path("home", directory, home) < 0)
        home[0] = 0;
    snprintf(p.addresses, sizeof(p.addresses), "%s%s%s", home, *home ? " " : "", addresses);
    if (plan->transport == TRANSPORT_TCP)
        p.link_grace = (uint32_t)(plan->cmd->link_grace + 0.999);
    int n = preamble_pack(&p, ret, err);
    explicit_bzero(&p, sizeof(p));
    return n;
}

bool start_preamble_allows_channel(const struct step_plan *plan)
{
    return plan->transport == TRANSPORT_TCP && plan->cmd->transport == TRANSPORT_AUTO &&
           plan->adapter->stdio_channel == STDIO_PER_HOST;
}
