/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.c - through whom each host is reached
 *
 * Every starter comes to the launcher first. A host that is to be below another one waits here
 * until that one has opened its door, is sent there, and says through it that it has arrived; its
 * first link is given up then. One that cannot get there stays, and says why. */
#include "wire/tree.h"

#include <string.h>

#include "common/log.h"
#include "launcher/run.h"

struct host *host_above(const struct host *h)
{
    uint32_t above = tree_parent((uint32_t)h->launch_index, h->run->fanout);
    return above == TREE_LAUNCHER ? NULL : h->run->launched[above];
}

struct host *host_top(struct host *h)
{
    while (h && !h->link && !h->lost)
        h = host_above(h);
    return h && h->link ? h : NULL;
}

int host_is_behind(const struct host *h, int (*which)(const struct host *))
{
    while (h->below) {
        h = host_above(h);
        if (which(h))
            return 1;
    }
    return 0;
}

struct link *host_link(struct host *h)
{
    struct host *top = h->state < AGENT_GONE ? host_top(h) : NULL;
    if (!top)
        return NULL;
    link_address(top->link, (uint32_t)h->launch_index);
    return top->link;
}

struct host *hosts_sender(struct host *top, uint32_t id)
{
    struct run *r = top->run;
    struct host *h = id < r->nused ? r->launched[id] : NULL;
    while (h && h != top)
        h = host_above(h);
    return h ? r->launched[id] : NULL;
}

void hosts_broadcast_bytes(struct run *r, enum frame_type type, const void *p, size_t n)
{
    for (size_t i = 0; i < r->nused; i++) {
        struct link *l = r->launched[i]->link;
        if (l && link_is_open(l)) {
            link_address(l, FRAME_EVERY_HOST);
            link_send_bytes(l, type, p, n);
        }
    }
}

/* ---- finding its place ----------------------------------------------------------------------- */

static void send_place(struct host *h, const char *parent_addresses)
{
    struct run *r = h->run;
    struct link *l = host_link(h);
    Mprun__Place m = MPRUN__PLACE__INIT;
    m.stay = parent_addresses == NULL;
    if (parent_addresses)
        m.parent_addresses = (char *)(uintptr_t)parent_addresses;
    m.fanout = r->fanout;
    m.nhosts = (uint32_t)r->nused;
    m.port_low = r->cmd.ports.low;
    m.port_high = r->cmd.ports.high;
    m.heartbeat = r->cmd.heartbeat;
    if (l)
        link_send(l, FRAME_PLACE, &m.base);
}

void tree_place(struct host *h)
{
    struct host *above = host_above(h);
    if (above && !above->door)
        return; /* until it has opened its door */
    int stays = !above || !above->door[0];
    send_place(h, stays ? NULL : above->door);
    if (stays)
        agent_enter(h, AGENT_PLACED);
}

int tree_door(struct host *h, const uint8_t *p, size_t n)
{
    struct run *r = h->run;
    uint32_t self = (uint32_t)h->launch_index, nhosts = (uint32_t)r->nused;
    Mprun__Door *m = h->door ? NULL : mprun__door__unpack(NULL, n, p);
    if (!m)
        return -1;
    h->door = strdup(m->addresses);
    mprun__door__free_unpacked(m, NULL);
    uint32_t first = tree_first_child(self, r->fanout, nhosts);
    for (uint32_t i = 0; i < tree_children(self, r->fanout, nhosts); i++)
        if (r->launched[first + i]->state == AGENT_CONNECTED)
            tree_place(r->launched[first + i]);
    return 0;
}

static void is_placed(struct host *h)
{
    if (h->state == AGENT_CONNECTED)
        agent_enter(h, AGENT_PLACED);
}

/* The last word on a first link may come late. */
static int last_word(struct host *h)
{
    h->left_first = 1;
    return 0;
}

/* By either word: the other one may be lost with the host above. */
static void has_joined(struct host *h)
{
    h->below = 1;
    if (h->frame_link == h->link) {
        h->left_first = 1;
        return;
    }
    h->first = h->link;
    h->link = NULL;
    h->run->unsettled = 1; /* its start client may have ended already */
    is_placed(h);
}

/* A host that was on its way when the step was to end has been told so, and is further than that.
 */
static int may_join(const struct host *h)
{
    return h->state == AGENT_CONNECTED ||
           (h->run->killing && h->state > AGENT_CONNECTED && h->link && !h->first);
}

int tree_joined(struct host *h, const uint8_t *p, size_t n)
{
    if (h->first && h->frame_link == h->first)
        return last_word(h);
    Mprun__Joined *m = may_join(h) ? mprun__joined__unpack(NULL, n, p) : NULL;
    if (!m)
        return -1;
    if (m->why_not[0]) {
        log_debug("host %s stays linked to mprun itself: %s", h->name, m->why_not);
        is_placed(h);
    } else {
        has_joined(h);
    }
    mprun__joined__free_unpacked(m, NULL);
    return 0;
}

void tree_leave_first(struct host *h)
{
    if (!h->first || !h->left_first)
        return;
    link_destroy(h->first);
    h->first = NULL;
}

/* Its last words, or those of a host below it, have not come. */
static int is_awaited(struct host *lost)
{
    struct run *r = lost->run;
    for (size_t i = 0; i < r->nused; i++)
        if (r->launched[i]->state < AGENT_CLEANED && hosts_sender(lost, (uint32_t)i))
            return 1;
    return 0;
}

int tree_lost(struct host *h, const uint8_t *p, size_t n)
{
    struct run *r = h->run;
    Mprun__Lost *m = mprun__lost__unpack(NULL, n, p);
    if (!m)
        return -1;
    struct host *lost = m->host < r->nused ? r->launched[m->host] : NULL;
    int below = lost && host_above(lost) == h;
    if (below && is_awaited(lost)) {
        if (starters_has_client(lost) && lost->state < AGENT_CLEANED && !m->silent)
            run_kill(r, -1, "a starter died"); /* an exit status says more, and comes next */
        else
            host_fails(lost, m->silent, "its link to %s is gone: %s", h->name, m->text);
    }
    if (below && lost->state < AGENT_RELEASED)
        starters_lost(lost, m->silent);
    mprun__lost__free_unpacked(m, NULL);
    return below ? 0 : -1;
}
