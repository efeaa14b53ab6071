/* SPDX-License-Identifier: BSD-3-Clause */
/* host-places.c - how each host finds its place in the tree
 *
 * Every starter comes to the launcher first. A host that is to be below another one waits here
 * until that one has opened its door, is sent there, and says through it that it has arrived; its
 * first link is given up then. A host that cannot get there stays, and says why. */
#include "launcher/hosts/host-links.h"

#include <string.h>

#include "common/log.h"
#include "wire/link/link.h"
#include "wire/tree/tree.h"

static void send_place(struct host *h, const char *parent_addresses)
{
    const struct step_plan *plan = h->table->plan;
    Mprun__Place m = MPRUN__PLACE__INIT;
    m.stay = parent_addresses == NULL;
    if (parent_addresses)
        m.parent_addresses = (char *)(uintptr_t)parent_addresses;
    m.fanout = plan->fanout;
    m.nhosts = (uint32_t)plan->nused;
    m.port_low = plan->cmd->ports.low;
    m.port_high = plan->cmd->ports.high;
    m.heartbeat = plan->cmd->heartbeat;
    host_send(h, FRAME_PLACE, &m.base);
}

void host_place(struct host *h)
{
    struct host *above = host_above(h);
    if (above && !above->door)
        return; /* until it has opened its door */
    int stays = !above || !above->door[0];
    send_place(h, stays ? NULL : above->door);
    if (stays)
        host_enter(h, AGENT_PLACED);
}

int host_place_door(struct host *h, const Mprun__Door *m)
{
    const struct step_plan *plan = h->table->plan;
    uint32_t self = h->launch_index, nhosts = (uint32_t)plan->nused;
    if (h->door)
        return -1;
    h->door = strdup(m->addresses);
    uint32_t first = tree_first_child(self, plan->fanout, nhosts);
    for (uint32_t i = 0; i < tree_children(self, plan->fanout, nhosts); i++)
        if (h->table->used[first + i]->state == AGENT_CONNECTED)
            host_place(h->table->used[first + i]);
    return 0;
}

static void is_placed(struct host *h)
{
    if (h->state == AGENT_CONNECTED)
        host_enter(h, AGENT_PLACED);
}

/* The last word on a first link may come late. */
static int last_word(struct host *h)
{
    h->left_first = true;
    return 0;
}

/* By either word: the other one may be lost with the host above. */
static void has_joined(struct host *h)
{
    h->below = true;
    if (h->frame_link == h->link) {
        h->left_first = true;
        return;
    }
    h->first = h->link;
    h->link = NULL;
    is_placed(h);
}

/* A host that was on its way when the step was to end has been told so, and is further than that.
 */
static int may_join(const struct host *h)
{
    return h->state == AGENT_CONNECTED ||
           (h->table->ending && h->state > AGENT_CONNECTED && h->link && !h->first);
}

int host_place_joined(struct host *h, const Mprun__Joined *m)
{
    if (h->first && h->frame_link == h->first)
        return last_word(h);
    if (!may_join(h))
        return -1;
    if (m->why_not[0]) {
        log_debug("host %s stays linked to mprun itself: %s", h->name, m->why_not);
        is_placed(h);
    } else {
        has_joined(h);
    }
    return 0;
}

void host_place_leave_first(struct host *h)
{
    if (!h->first || !h->left_first)
        return;
    link_destroy(h->first);
    h->first = NULL;
}

bool host_place_is_awaited(struct host *h)
{
    const struct host_table *t = h->table;
    for (size_t i = 0; i < t->plan->nused; i++)
        if (t->used[i]->state < AGENT_CLEANED && host_sender(h, (uint32_t)i))
            return true;
    return false;
}
