/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/link/heartbeat.h"

#include <stdlib.h>

#include "common/must.h"
#include "wire/link/link.h"
#include "wire/tunables.h"

enum { LOOKS_MAX = 1 << 29 };

struct pulse { /* of one peer: there may be thousands */
    uint32_t heard;
    unsigned looks : 30; /* looks in a row that found no sign of life */
    unsigned asked : 1;  /* a PING is not answered yet */
    unsigned told : 1;   /* the owner was told that the peer is silent */
};

struct heartbeat {
    const struct heartbeat_events *events;
    void *arg;
    struct loop_timer timer;
    double every, last;
    uint32_t npeers;
    struct pulse *pulses;
    uint32_t *silent; /* found by one look */
};

static void is_back(struct heartbeat *h, uint32_t peer)
{
    struct pulse *p = &h->pulses[peer];
    double seconds = p->looks * h->every + (loop_now() - h->last);
    p->told = p->looks = 0;
    h->events->back(h->arg, peer, seconds);
}

void heartbeat_heard(struct heartbeat *h, uint32_t peer)
{
    if (h && peer < h->npeers && h->pulses[peer].told)
        is_back(h, peer);
}

int heartbeat_answered(struct heartbeat *h, uint32_t peer)
{
    if (!h || peer >= h->npeers || !h->pulses[peer].asked)
        return -1;
    h->pulses[peer].asked = 0;
    return 0;
}

/* Returns 1 if the peer has become silent with this look. */
static int look_at(struct heartbeat *h, uint32_t peer)
{
    struct pulse *p = &h->pulses[peer];
    uint32_t heard, host = 0;
    struct link *l = h->events->link(h->arg, peer, &host);
    if (!l || !link_heard(l, &heard)) {
        p->looks = p->told ? p->looks : 0; /* a silent peer may be back with another connection */
        return 0;
    }
    if (heard != p->heard) {
        p->heard = heard;
        if (p->told)
            is_back(h, peer);
        p->looks = 0;
        return 0;
    }
    if (p->looks < LOOKS_MAX)
        p->looks++;
    if (!p->asked)
        link_relay(l, host, FRAME_PING, NULL, 0);
    p->asked = 1;
    if (p->told || p->looks < HEARTBEAT_LOOKS)
        return 0;
    p->told = 1;
    return 1;
}

/* Peers that are silent already were silent before this process was stopped, and stay so. */
static void begin_anew(struct heartbeat *h)
{
    for (uint32_t i = 0; i < h->npeers; i++)
        if (!h->pulses[i].told)
            h->pulses[i].looks = 0;
}

static void look(void *arg)
{
    struct heartbeat *h = arg;
    double now = loop_now(), passed = now - h->last;
    size_t n = 0;
    h->last = now;
    loop_timer_start(&h->timer, h->every, 0); /* a periodic timer would catch up on missed looks */
    if (passed >= 2 * h->every) {
        begin_anew(h);
        return;
    }
    for (uint32_t i = 0; i < h->npeers; i++)
        if (look_at(h, i))
            h->silent[n++] = i;
    if (n > 0)
        h->events->silent(h->arg, h->silent, n, HEARTBEAT_LOOKS * h->every);
}

struct heartbeat *heartbeat_create(struct loop *loop, uint32_t npeers, double seconds,
                                   const struct heartbeat_events *events, void *arg)
{
    struct heartbeat *h = must(calloc(1, sizeof(*h)));
    *h = (struct heartbeat){.events = events,
                            .arg = arg,
                            .every = seconds / HEARTBEAT_LOOKS,
                            .last = loop_now(),
                            .npeers = npeers};
    loop_timer_init(&h->timer, loop, look, h);
    h->pulses = must(calloc(npeers + 1, sizeof(*h->pulses)));
    h->silent = must(calloc(npeers + 1, sizeof(*h->silent)));
    loop_timer_start(&h->timer, h->every, 0);
    return h;
}

void heartbeat_destroy(struct heartbeat *h)
{
    if (!h)
        return;
    loop_timer_stop(&h->timer);
    free(h->pulses);
    free(h->silent);
    free(h);
}
