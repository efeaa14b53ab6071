/* SPDX-License-Identifier: BSD-3-Clause */
/* cut-off-hosts.c - hosts that get no answer of the host above have connected to mprun itself
 *
 * These connections say one thing: that the step ends. While it does not, the way through the host
 * above may come back. */
#include "launcher/hosts/cut-off-hosts.h"

#include "wire/link/link.h"
#include "wire/messages/values.h"

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
    m.grace = h->table->end_grace;
    link_send_to(h->side, h->launch_index, FRAME_KILL, &m.base);
    h->told = true;
}

bool cut_off_host_arrived(struct host *h, struct link *l)
{
    static const struct link_events events = {.frame = frame, .closed = closed};
    if (h->link || h->state < AGENT_PLACED || h->state >= AGENT_GONE)
        return false;
    link_destroy(h->side); /* of an earlier try */
    h->side = l;
    link_set_events(l, &events, h);
    if (h->table->ending)
        tell(h);
    return true;
}

void cut_off_hosts_end(struct host_table *t)
{
    for (size_t i = 0; i < t->plan->nused; i++)
        if (t->used[i]->side)
            tell(t->used[i]);
}
