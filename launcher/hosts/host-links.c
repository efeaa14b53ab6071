/* SPDX-License-Identifier: BSD-3-Clause */
/* host-links.c - finds each host's place in the tree, and the host through which mprun reaches it
 *
 * Every starter connects to mprun first. A host that belongs below another waits until that one has
 * sent DOOR, gets its address, connects there and sends JOINED through it; then mprun closes the
 * host's first link. A host that cannot connect there stays linked to mprun, and says why. */
#include "launcher/hosts/host-links.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "wire/link/link.h"
#include "wire/tree/tree.h"

/* ---- the tree -------------------------------------------------------------------------------- */

struct host *host_above(const struct host *h)
{
    uint32_t above = tree_parent(h->launch_index, h->table->plan->fanout);
    return above == TREE_LAUNCHER ? NULL : h->table->used[above];
}

struct host *host_top(struct host *h)
{
    while (h && !h->link && !h->lost)
        h = host_above(h);
    return h && h->link ? h : NULL;
}

bool host_is_behind(const struct host *h, host_question which, const void *arg)
{
    while (h->below) {
        h = host_above(h);
        if (which(arg, h))
            return true;
    }
    return false;
}

struct host *host_sender(struct host *top, uint32_t launch_index)
{
    struct host *sender = host_at(top->table, launch_index), *h = sender;
    while (h && h != top)
        h = host_above(h);
    return h ? sender : NULL;
}

/* ---- links of hosts -------------------------------------------------------------------------- */

void host_set_link(struct host *h, struct link *l)
{
    h->link = l;
}

bool host_drop_link(struct host *h, struct link *l)
{
    bool own = l != h->first;
    if (own)
        h->link = NULL;
    else
        h->first = NULL;
    return own;
}

void host_received(struct host *h, struct link *l)
{
    h->frame_link = l;
}

/* ---- links of hosts that get no answer of the host above ------------------------------------- */

/* These links say one thing: that the step ends. While it does not, the way through the host above
 * may come back. */
static void tell_end(struct host *h)
{
    Mprun__Kill m = MPRUN__KILL__INIT;
    m.grace = h->table->end_grace;
    link_send_to(h->side, h->launch_index, FRAME_KILL, &m.base);
    h->told = true;
}

static void side_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
}

static void side_closed(void *arg, struct link *l, const struct error *why)
{
    struct host *h = arg;
    if (h->side == l)
        h->side = NULL;
    link_destroy(l);
}

bool host_take_side_link(struct host *h, struct link *l)
{
    static const struct link_events events = {.frame = side_frame, .closed = side_closed};
    if (h->link || !h->below || h->state < AGENT_PLACED || h->state >= AGENT_GONE)
        return false;
    link_destroy(h->side); /* of an earlier try */
    h->side = l;
    link_set_events(l, &events, h);
    if (h->table->ending)
        tell_end(h);
    return true;
}

/* ---- sending --------------------------------------------------------------------------------- */

static struct link *way_to(const struct host *h)
{
    const struct host *top = h->state < AGENT_GONE ? host_top((struct host *)(uintptr_t)h) : NULL;
    return top ? top->link : NULL;
}

bool host_is_reachable(const struct host *h)
{
    return way_to(h) != NULL;
}

bool host_send(struct host *h, enum frame_type type, const ProtobufCMessage *m)
{
    struct link *l = way_to(h);
    if (l)
        link_send_to(l, h->launch_index, type, m);
    return l != NULL;
}

void host_send_bulk(struct host *h, enum frame_type type, const struct bulk_header *bh,
                    const void *data, size_t n)
{
    struct link *l = way_to(h);
    if (l)
        link_send_bulk_to(l, h->launch_index, type, bh, data, n);
}

void host_send_down(struct host *top, enum frame_type type, const void *p, size_t n)
{
    if (top->link)
        link_relay(top->link, FRAME_EVERY_HOST, type, p, n);
}

void hosts_broadcast_bytes(struct host_table *t, enum frame_type type, const void *p, size_t n)
{
    for (size_t i = 0; i < t->plan->nused; i++)
        if (t->used[i]->link && link_is_open(t->used[i]->link))
            host_send_down(t->used[i], type, p, n);
}

void hosts_broadcast(struct host_table *t, enum frame_type type, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    AUTO_FREE uint8_t *packed = must(malloc(n + 1));
    protobuf_c_message_pack(m, packed);
    hosts_broadcast_bytes(t, type, packed, n);
}

void hosts_signal(struct host_table *t, int signo, bool from_manager)
{
    Mprun__Signal m = MPRUN__SIGNAL__INIT;
    m.signo = (uint32_t)signo;
    m.manager = from_manager;
    hosts_broadcast(t, FRAME_SIGNAL, &m.base);
}

void hosts_end_ranks(struct host_table *t, double grace, const char *why)
{
    Mprun__Kill m = MPRUN__KILL__INIT;
    t->ending = true;
    t->end_grace = m.grace = grace;
    m.reason = (char *)(uintptr_t)why;
    hosts_broadcast(t, FRAME_KILL, &m.base);
    for (size_t i = 0; i < t->plan->nused; i++)
        if (t->used[i]->side)
            tell_end(t->used[i]);
}

void hosts_flush(struct host_table *t)
{
    for (size_t i = 0; i < t->plan->nused; i++)
        if (t->used[i]->link)
            link_flush(t->used[i]->link);
}

/* ---- finding the place in the tree ----------------------------------------------------------- */

static void send_place(struct host *h, const char *parent_addresses)
{
    const struct step_plan *plan = h->table->plan;
    Mprun__Place m = MPRUN__PLACE__INIT;
    m.stay = parent_addresses == NULL;
    if (parent_addresses)
        m.parent_addresses = (char *)(uintptr_t)parent_addresses;
    m.fanout = plan->fanout;
    m.nhosts = (uint32_t)plan->nused;
    m.port_low = plan->cmd->links.ports.low;
    m.port_high = plan->cmd->links.ports.high;
    m.heartbeat = plan->cmd->links.heartbeat;
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
    h->door = must(strdup(m->addresses));
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

/* A host that was on its way when the step was to end was told so, and is further than that. */
static bool may_join(const struct host *h)
{
    return h->state == AGENT_CONNECTED ||
           (h->table->ending && h->state > AGENT_CONNECTED && h->link && !h->first);
}

int host_place_joined(struct host *h, const Mprun__Joined *m)
{
    if (h->first && h->frame_link == h->first) { /* its last word, which may come late */
        h->left_first = true;
        return 0;
    }
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
    link_destroy(take_ptr(h->first));
}

bool host_place_is_awaited(struct host *h)
{
    const struct host_table *t = h->table;
    for (size_t i = 0; i < t->plan->nused; i++)
        if (t->used[i]->state < AGENT_CLEANED && host_sender(h, (uint32_t)i))
            return true;
    return false;
}
