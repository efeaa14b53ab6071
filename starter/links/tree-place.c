/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/links/tree-place.h"

#include <errno.h>
#include <string.h>

#include <sodium.h>

#include "starter/links/uplink.h"
#include "starter/tunables.h"
#include "starter/services.h"
#include "wire/link/heartbeat.h"
#include "wire/messages/values.h"
#include "wire/transport/dial.h"
#include "common/cleanup.h"

enum { INTERRUPTED = 1, SILENT = 2 }; /* why the parent is out of reach */

/* ---- a connection to mprun, when the parent gives no answer ---------------------------------- */

static void try_later(struct tree_place *t)
{
    double spread = LOST_PARENT_SPREAD_SECONDS * randombytes_uniform(1000) / 1000;
    if (t->why)
        loop_timer_start(&t->again, LOST_PARENT_WAIT_SECONDS + spread, 0);
}

static int side_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    return 0;
}

static void side_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct tree_place *t = arg;
    Mprun__Kill *m = type == FRAME_KILL ? mprun__kill__unpack(NULL, n, p) : NULL;
    struct error why;
    if (!m)
        return;
    error_set(&why, EHOSTUNREACH, "the host above gives no answer, and mprun ends the step");
    t->events->parent_lost(t->arg, &why, false, seconds_unpack(m->grace));
    mprun__kill__free_unpacked(m, NULL);
}

static void side_closed(void *arg, struct link *l, const struct error *why)
{
    struct tree_place *t = arg;
    link_destroy(l);
    t->link = NULL;
    try_later(t);
}

static void dialed(void *arg, int fd, const struct error *why)
{
    static const struct link_events events = {
        .opened = side_opened, .frame = side_frame, .closed = side_closed};
    struct tree_place *t = arg;
    const struct preamble *p = &t->services->up->start;
    struct error e = *why;
    struct link_options options = {.role = LINK_CONNECTOR,
                                   .key = t->key,
                                   .host_id = p->host_id,
                                   .security = preamble_security(p->flags)};
    dial_destroy(take_ptr(t->dial));
    if (fd >= 0)
        t->link = link_create(t->services->loop, fd, fd, &options, "mprun", &events, t, &e);
    else if (e.code == ECONNREFUSED || e.code == ENOENT) /* of a Unix socket */
        t->events->parent_lost(t->arg, &e, true, LOST_MPRUN_GRACE_SECONDS);
    if (!t->link)
        try_later(t);
}

static void ask(void *arg)
{
    struct tree_place *t = arg;
    if (!t->why || t->dial || t->link)
        return;
    t->dial = dial_create(t->services->loop, t->services->up->start.addresses, NULL,
                          LOST_PARENT_DIAL_SECONDS, dialed, t);
}

/* ---- does the parent answer? ----------------------------------------------------------------- */

static void begin_asking(struct tree_place *t, unsigned why)
{
    if (!t->why && !t->link && !t->dial) {
        t->why = why;
        try_later(t);
    }
    t->why |= why;
}

static void end_asking(struct tree_place *t, unsigned why)
{
    t->why &= ~why;
    if (t->why || !t->services->up->link) /* mprun may bring KILL forward */
        return;
    loop_timer_stop(&t->again);
    dial_destroy(take_ptr(t->dial));
    link_destroy(take_ptr(t->link));
}

static void parent_interrupted(void *arg)
{
    struct tree_place *t = arg;
    if (t->has_parent)
        begin_asking(t, INTERRUPTED);
}

static void parent_resumed(void *arg)
{
    end_asking(arg, INTERRUPTED);
}

static struct link *parent_link(void *arg, uint32_t peer, uint32_t *ret_host)
{
    struct tree_place *t = arg;
    *ret_host = t->services->up->start.host_id;
    return t->services->up->link;
}

static void parent_silent(void *arg, const uint32_t *peers, size_t n, double seconds)
{
    begin_asking(arg, SILENT);
}

static void parent_back(void *arg, uint32_t peer, double seconds)
{
    end_asking(arg, SILENT);
}

static void watch_parent(struct tree_place *t)
{
    static const struct heartbeat_events events = {
        .link = parent_link, .silent = parent_silent, .back = parent_back};
    t->has_parent = true;
    memcpy(t->key, t->services->up->start.key, LINK_KEY);
    if (t->heartbeat_seconds > 0)
        t->heartbeat = heartbeat_create(t->services->loop, 1, t->heartbeat_seconds, &events, t);
}

/* ---- PLACE ----------------------------------------------------------------------------------- */

/* Lets children in only now: their frames must not go by a link that is about to be left. */
static void place_is_taken(struct tree_place *t)
{
    child_hosts_open_door(&t->children);
    uplink_forget_key(t->services->up); /* links and door have their copies */
}

static void parent_reached(void *arg)
{
    struct tree_place *t = arg;
    watch_parent(t);
    uplink_send_joined(t->services->up, "");
    place_is_taken(t);
}

static void parent_failed(void *arg, const char *why)
{
    struct tree_place *t = arg;
    uplink_send_joined(t->services->up, why);
    place_is_taken(t);
}

static void join(struct tree_place *t, const char *addresses)
{
    static const struct uplink_parent_events events = {.reached = parent_reached,
                                                       .failed = parent_failed,
                                                       .interrupted = parent_interrupted,
                                                       .resumed = parent_resumed};
    struct error e;
    if (uplink_connect_parent(t->services->up, addresses, &events, t, &e) < 0)
        parent_failed(t, e.text);
}

int tree_place_take(struct tree_place *t, const Mprun__Place *m)
{
    if (t->is_taken || m->fanout > m->nhosts || t->services->up->start.host_id >= m->nhosts)
        return -1;
    t->is_taken = true;
    t->heartbeat_seconds = seconds_unpack(m->heartbeat);
    child_hosts_init(&t->children, t->services, m, t->events->child_preload, t->arg);
    if (m->stay)
        place_is_taken(t);
    else
        join(t, m->parent_addresses);
    return 0;
}

bool tree_place_pass_down(struct tree_place *t, uint32_t host, enum frame_type type, const void *p,
                          size_t n)
{
    if (host == t->services->up->start.host_id)
        return true;
    child_hosts_pass_down(&t->children, host, type, p, n);
    return host == FRAME_EVERY_HOST;
}

/* ---- life ------------------------------------------------------------------------------------ */

void tree_place_init(struct tree_place *t, const struct starter_services *services,
                     const struct tree_place_events *events, void *arg)
{
    *t = (struct tree_place){.services = services, .events = events, .arg = arg};
    loop_timer_init(&t->again, services->loop, ask, t);
}

void tree_place_close(struct tree_place *t)
{
    heartbeat_destroy(t->heartbeat);
    loop_timer_stop(&t->again);
    dial_destroy(t->dial);
    link_destroy(t->link);
    sodium_memzero(t->key, sizeof(t->key));
    child_hosts_close(&t->children);
}
