/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/orphan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "common/log.h"
#include "starter/uplink.h"
#include "starter/worker.h"
#include "wire/dial.h"
#include "wire/heartbeat.h"

#define WAIT_SECONDS   5.0 /* most interruptions are short */
#define SPREAD_SECONDS 5.0 /* many hosts may be below one switch */
#define DIAL_SECONDS   10.0

enum { INTERRUPTED = 1, SILENT = 2 };

struct orphan {
    struct worker *worker;
    uint8_t key[LINK_KEY];
    unsigned why;                /* 0: it is none */
    struct heartbeat *heartbeat; /* of the host above; NULL: not wanted */
    struct loop_timer *again;
    struct dial *dial;
    struct link *link; /* to mprun */
};

/* ---- the connection -------------------------------------------------------------------------- */

static void try_later(struct orphan *o)
{
    double spread = SPREAD_SECONDS * randombytes_uniform(1000) / 1000;
    if (o->why)
        loop_timer_start(o->again, WAIT_SECONDS + spread, 0);
}

static int side_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    return 0;
}

static void side_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct orphan *o = arg;
    Mprun__Kill *m = type == FRAME_KILL ? mprun__kill__unpack(NULL, n, p) : NULL;
    struct error why;
    if (!m)
        return;
    error_set(&why, EHOSTUNREACH, "the host above gives no answer, and mprun ends the step");
    uplink_give_up(o->worker, &why, 0, seconds_unpack(m->grace));
    mprun__kill__free_unpacked(m, NULL);
}

static void side_closed(void *arg, struct link *l, const struct error *why)
{
    struct orphan *o = arg;
    link_destroy(l);
    o->link = NULL;
    try_later(o);
}

static void dialed(void *arg, int fd, const struct error *why)
{
    static const struct link_events events = {
        .opened = side_opened, .frame = side_frame, .closed = side_closed};
    struct orphan *o = arg;
    struct worker *w = o->worker;
    struct error e = *why;
    struct link_options options = {.role = LINK_CONNECTOR,
                                   .key = o->key,
                                   .host_id = w->start.host_id,
                                   .security = preamble_security(w->start.flags)};
    dial_destroy(o->dial);
    o->dial = NULL;
    if (fd >= 0)
        o->link = link_create(w->loop, fd, fd, &options, "mprun", &events, o, &e);
    else if (e.code == ECONNREFUSED || e.code == ENOENT) /* of a Unix socket */
        uplink_give_up(w, &e, 1, ORPHAN_KILL_SECONDS);
    if (!o->link)
        try_later(o);
}

static void ask(void *arg)
{
    struct orphan *o = arg;
    if (!o->why || o->dial || o->link)
        return;
    o->dial =
        dial_create(o->worker->loop, o->worker->start.addresses, NULL, DIAL_SECONDS, dialed, o);
    if (!o->dial)
        try_later(o);
}

/* ---- is it one? ------------------------------------------------------------------------------ */

static void begin(struct orphan *o, unsigned why)
{
    if (!o->why && !o->link && !o->dial) {
        o->why = why;
        try_later(o);
    }
    o->why |= why;
}

static void end(struct orphan *o, unsigned why)
{
    o->why &= ~why;
    if (o->why || !o->worker->up) /* mprun may want to end it sooner than it has said */
        return;
    loop_timer_stop(o->again);
    dial_destroy(o->dial);
    link_destroy(o->link);
    o->dial = NULL;
    o->link = NULL;
}

void orphan_link_lost(struct orphan *o)
{
    if (o)
        begin(o, INTERRUPTED);
}

void orphan_link_back(struct orphan *o)
{
    if (o)
        end(o, INTERRUPTED);
}

static struct link *above(void *arg, uint32_t peer)
{
    struct orphan *o = arg;
    return o->worker->up;
}

static void above_silent(void *arg, const uint32_t *peers, size_t n, double seconds)
{
    begin(arg, SILENT);
}

static void above_back(void *arg, uint32_t peer, double seconds)
{
    end(arg, SILENT);
}

void orphan_heard(struct orphan *o)
{
    if (o)
        heartbeat_heard(o->heartbeat, 0);
}

int orphan_answered(struct orphan *o)
{
    return o ? heartbeat_answered(o->heartbeat, 0) : -1;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct orphan *orphan_create(struct worker *w, double heartbeat)
{
    static const struct heartbeat_events events = {
        .link = above, .silent = above_silent, .back = above_back};
    struct orphan *o = calloc(1, sizeof(*o));
    if (!o)
        return NULL;
    o->worker = w;
    memcpy(o->key, w->start.key, LINK_KEY);
    o->again = loop_timer_create(w->loop, ask, o);
    if (heartbeat > 0)
        o->heartbeat = heartbeat_create(w->loop, 1, heartbeat, &events, o);
    if (!o->again || (heartbeat > 0 && !o->heartbeat)) {
        orphan_destroy(o);
        return NULL;
    }
    return o;
}

void orphan_destroy(struct orphan *o)
{
    if (!o)
        return;
    heartbeat_destroy(o->heartbeat);
    loop_timer_destroy(o->again);
    dial_destroy(o->dial);
    link_destroy(o->link);
    sodium_memzero(o, sizeof(*o));
    free(o);
}
