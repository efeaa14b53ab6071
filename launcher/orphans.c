/* SPDX-License-Identifier: BSD-3-Clause */
/* orphans.c - hosts that get no answer of the host above have connected to mprun itself
 *
 * These connections say one thing: that the step ends. While it does not, the way through the host
 * above may come back. */
#include "launcher/run.h"

static void frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
}

static void closed(void *arg, struct link *l, const struct error *why)
{
    struct host *h = arg;
    if (h->side == l)
        h->side = NULL;
    link_destroy(l);
}

static void tell(struct host *h)
{
    Mprun__Kill m = MPRUN__KILL__INIT;
    m.grace = h->run->grace;
    link_address(h->side, (uint32_t)h->launch_index);
    link_send(h->side, FRAME_KILL, &m.base);
    h->told = 1;
}

int orphan_arrived(struct host *h, struct link *l)
{
    static const struct link_events events = {.frame = frame, .closed = closed};
    if (h->link || h->state < AGENT_PLACED || h->state >= AGENT_GONE)
        return 0;
    link_destroy(h->side); /* of an earlier try */
    h->side = l;
    link_set_events(l, &events, h);
    if (h->run->killing)
        tell(h);
    return 1;
}

void orphans_kill(struct run *r)
{
    for (size_t i = 0; i < r->nused; i++)
        if (r->launched[i]->side)
            tell(r->launched[i]);
}

void orphan_leave(struct host *h)
{
    link_destroy(h->side);
    h->side = NULL;
}
