/* SPDX-License-Identifier: BSD-3-Clause */
/* parent-watch.c - see parent-watch.h */
#include "starter/links/parent-watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "common/log.h"
#include "starter/links/uplink.h"
#include "starter/policy.h"
#include "wire/link/heartbeat.h"
#include "wire/link/link.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"
#include "wire/start-channel/preamble.h"
#include "wire/transport/dial.h"

enum { INTERRUPTED = 1, SILENT = 2 };

struct parent_watch {
    struct loop *loop;
    struct uplink *up;
    uint8_t key[LINK_KEY];
    unsigned why;                /* INTERRUPTED, SILENT; 0: the parent is there */
    struct heartbeat *heartbeat; /* of the parent; NULL: not wanted */
    struct loop_timer again;
    struct dial *dial;
    struct link *link; /* to mprun */
    parent_lost_fn lost;
    void *arg;
};

/* ---- the connection -------------------------------------------------------------------------- */

static void try_later(struct parent_watch *w)
{
    double spread = LOST_PARENT_SPREAD_SECONDS * randombytes_uniform(1000) / 1000;
    if (w->why)
        loop_timer_start(&w->again, LOST_PARENT_WAIT_SECONDS + spread, 0);
}

static int side_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    return 0;
}

static void side_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct parent_watch *w = arg;
    Mprun__Kill *m = type == FRAME_KILL ? mprun__kill__unpack(NULL, n, p) : NULL;
    struct error why;
    if (!m)
        return;
    error_set(&why, EHOSTUNREACH, "the host above gives no answer, and mprun ends the step");
    w->lost(w->arg, &why, false, seconds_unpack(m->grace));
    mprun__kill__free_unpacked(m, NULL);
}

static void side_closed(void *arg, struct link *l, const struct error *why)
{
    struct parent_watch *w = arg;
    link_destroy(l);
    w->link = NULL;
    try_later(w);
}

static void dialed(void *arg, int fd, const struct error *why)
{
    static const struct link_events events = {
        .opened = side_opened, .frame = side_frame, .closed = side_closed};
    struct parent_watch *w = arg;
    const struct preamble *p = uplink_preamble(w->up);
    struct error e = *why;
    struct link_options options = {.role = LINK_CONNECTOR,
                                   .key = w->key,
                                   .host_id = p->host_id,
                                   .security = preamble_security(p->flags)};
    dial_destroy(w->dial);
    w->dial = NULL;
    if (fd >= 0)
        w->link = link_create(w->loop, fd, fd, &options, "mprun", &events, w, &e);
    else if (e.code == ECONNREFUSED || e.code == ENOENT) /* of a Unix socket */
        w->lost(w->arg, &e, true, LOST_MPRUN_GRACE_SECONDS);
    if (!w->link)
        try_later(w);
}

static void ask(void *arg)
{
    struct parent_watch *w = arg;
    if (!w->why || w->dial || w->link)
        return;
    w->dial = dial_create(w->loop, uplink_preamble(w->up)->addresses, NULL,
                          LOST_PARENT_DIAL_SECONDS, dialed, w);
    if (!w->dial)
        try_later(w);
}

/* ---- does the parent answer? ----------------------------------------------------------------- */

static void begin(struct parent_watch *w, unsigned why)
{
    if (!w->why && !w->link && !w->dial) {
        w->why = why;
        try_later(w);
    }
    w->why |= why;
}

static void end(struct parent_watch *w, unsigned why)
{
    w->why &= ~why;
    if (w->why || !uplink_is_there(w->up)) /* mprun may want KILL to come sooner */
        return;
    loop_timer_stop(&w->again);
    dial_destroy(w->dial);
    link_destroy(w->link);
    w->dial = NULL;
    w->link = NULL;
}

void parent_watch_interrupted(struct parent_watch *w)
{
    if (w)
        begin(w, INTERRUPTED);
}

void parent_watch_resumed(struct parent_watch *w)
{
    if (w)
        end(w, INTERRUPTED);
}

static struct link *parent_link(void *arg, uint32_t peer, uint32_t *ret_host)
{
    struct parent_watch *w = arg;
    *ret_host = uplink_preamble(w->up)->host_id;
    return uplink_link(w->up);
}

static void parent_silent(void *arg, const uint32_t *peers, size_t n, double seconds)
{
    begin(arg, SILENT);
}

static void parent_back(void *arg, uint32_t peer, double seconds)
{
    end(arg, SILENT);
}

void parent_watch_heard(struct parent_watch *w)
{
    if (w)
        heartbeat_heard(w->heartbeat, 0);
}

int parent_watch_pong(struct parent_watch *w)
{
    return w ? heartbeat_answered(w->heartbeat, 0) : -1;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct parent_watch *parent_watch_create(struct loop *loop, struct uplink *up, double heartbeat,
                                         parent_lost_fn lost, void *arg)
{
    static const struct heartbeat_events events = {
        .link = parent_link, .silent = parent_silent, .back = parent_back};
    struct parent_watch *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    *w = (struct parent_watch){.loop = loop, .up = up, .lost = lost, .arg = arg};
    memcpy(w->key, uplink_preamble(up)->key, LINK_KEY);
    loop_timer_init(&w->again, loop, ask, w);
    if (heartbeat > 0)
        w->heartbeat = heartbeat_create(loop, 1, heartbeat, &events, w);
    if (heartbeat > 0 && !w->heartbeat) {
        parent_watch_destroy(w);
        return NULL;
    }
    return w;
}

void parent_watch_destroy(struct parent_watch *w)
{
    if (!w)
        return;
    heartbeat_destroy(w->heartbeat);
    loop_timer_stop(&w->again);
    dial_destroy(w->dial);
    link_destroy(w->link);
    sodium_memzero(w, sizeof(*w));
    free(w);
}
