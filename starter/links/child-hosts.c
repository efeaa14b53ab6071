/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/links/child-hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "model/rank-end.h"
#include "starter/links/uplink.h"
#include "starter/tunables.h"
#include "starter/services.h"
#include "starter/ending/step-end.h"
#include "wire/link/heartbeat.h"
#include "wire/link/listener.h"
#include "wire/messages/launch.h"
#include "wire/messages/values.h"
#include "wire/tree/tree.h"

/* ---- collectives ----------------------------------------------------------------------------- */

static int awaited(void *arg, uint32_t host)
{
    const struct child_hosts *c = arg;
    return host == c->self || tree_way(c->self, host, c->fanout) != TREE_LAUNCHER;
}

static void gathered(void *arg, const Mprun__Collect *m)
{
    struct child_hosts *c = arg;
    uplink_send(c->services->up, FRAME_COLLECT, &m->base);
}

static void collect(struct child_hosts *c, const uint8_t *p, size_t n, const char *whose)
{
    struct error e;
    char text[400];
    if (gather_add(c->gather, p, n, &e) == 0)
        return;
    snprintf(text, sizeof(text), "on %s: protocol error: %s: %.200s", c->services->hostname, whose,
             e.text);
    step_end_cannot_run(c->services->end, EXIT_CODE_MPRUN, text);
}

bool child_hosts_collect(struct child_hosts *c, const uint8_t *p, size_t n)
{
    if (!c->gather)
        return false;
    collect(c, p, n, "mppmi");
    return true;
}

void child_hosts_forget_world(struct child_hosts *c, uint32_t world)
{
    if (c->gather)
        gather_forget(c->gather, world);
}

/* ---- the children ---------------------------------------------------------------------------- */

static struct child *find_child(struct child_hosts *c, uint32_t host)
{
    return host >= c->first && host - c->first < c->nchildren ? &c->children[host - c->first]
                                                              : NULL;
}

static void maybe_all_gone(struct child_hosts *c)
{
    void (*gone)(void *arg) = c->gone;
    if (c->nlinked > 0 || !gone)
        return;
    c->gone = NULL;
    gone(c->gone_arg);
}

/* Returns a child's link for the heartbeat; NULL once children are to go. */
static struct link *watched(void *arg, uint32_t place, uint32_t *ret_host)
{
    struct child_hosts *c = arg;
    *ret_host = c->children[place].host;
    return c->gone ? NULL : c->children[place].link;
}

static void say_silent(void *arg, const uint32_t *places, size_t n, double seconds, int back)
{
    struct child_hosts *c = arg;
    Mprun__Silent m = MPRUN__SILENT__INIT;
    AUTO_FREE uint32_t *hosts = must(calloc(n + 1, sizeof(*hosts)));
    for (size_t i = 0; i < n; i++)
        hosts[i] = c->children[places[i]].host;
    m.hosts = hosts;
    m.n_hosts = n;
    m.seconds = seconds;
    m.back = back;
    uplink_send(c->services->up, FRAME_SILENT, &m.base);
}

static void child_silent(void *arg, const uint32_t *places, size_t n, double seconds)
{
    say_silent(arg, places, n, seconds, 0);
}

static void child_back(void *arg, uint32_t place, double seconds)
{
    say_silent(arg, &place, 1, seconds, 1);
}

static const struct heartbeat_events heartbeat_events = {
    .link = watched, .silent = child_silent, .back = child_back};

static void let_go(struct child *h)
{
    link_destroy(take_ptr(h->link));
    h->all->nlinked--;
}

static void child_closed(void *arg, struct link *l, const struct error *why)
{
    struct child *h = arg;
    struct child_hosts *c = h->all;
    Mprun__Lost m = MPRUN__LOST__INIT;
    m.host = h->host;
    m.text = (char *)(uintptr_t)why->text;
    m.silent = why->code == ETIMEDOUT;
    let_go(h);
    if (!c->gone)
        uplink_send(c->services->up, FRAME_LOST, &m.base);
    maybe_all_gone(c);
}

static void child_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct child *h = arg;
    struct child_hosts *c = h->all;
    uint32_t from = link_frame_host(l);
    if (from != h->host && tree_way(h->host, from, c->fanout) == TREE_LAUNCHER) {
        struct error why;
        error_set(&why, EPROTO, "protocol error: %s of a host that is not below it",
                  frame_type_text(type));
        child_closed(h, l, &why);
        return;
    }
    heartbeat_heard(c->heartbeat, h->host - c->first);
    if (type == FRAME_PONG && heartbeat_answered(c->heartbeat, h->host - c->first) == 0)
        return;
    if (type == FRAME_PING)
        link_relay(h->link, h->host, FRAME_PONG, NULL, 0);
    else if (type == FRAME_COLLECT)
        collect(c, p, n, "a host below");
    else if (type == FRAME_PRELOAD_WANTED || type == FRAME_PRELOAD_TAKEN)
        c->preload(c->arg, h->host - c->first, type, p, n);
    else if (c->services->up->link)
        link_relay(c->services->up->link, from, type, p, n);
}

static const char *name_of(const struct child_hosts *c, uint32_t host, char *buf, size_t n)
{
    if (host < c->services->launch->nhosts)
        return c->services->launch->hosts[host].host;
    snprintf(buf, n, "number %u", host);
    return buf;
}

static void child_interrupted(void *arg, struct link *l, const struct error *why)
{
    struct child *h = arg;
    char name[32];
    if (!h->all->gone)
        log_warn("the connection to host %s is interrupted (%s); waiting for it for %u s at most "
                 "(--link-grace)",
                 name_of(h->all, h->host, name, sizeof(name)), why->text,
                 h->all->services->up->start.link_grace);
}

static void child_resumed(void *arg, struct link *l, double seconds)
{
    struct child *h = arg;
    char name[32];
    log_note("the connection to host %s is back after %.1f s; nothing was lost",
             name_of(h->all, h->host, name, sizeof(name)), seconds);
}

static const struct link_events child_events = {.frame = child_frame,
                                                .lost = child_interrupted,
                                                .resumed = child_resumed,
                                                .closed = child_closed};

static int arrived(void *arg, struct link *l, uint32_t host, struct error *why)
{
    struct child_hosts *c = arg;
    struct child *h = find_child(c, host);
    if (!h)
        return error_set(why, EINVAL, "host %u is not below this one", host);
    if (h->link)
        return error_set(why, EBUSY, "host %u is here already", host);
    h->link = l;
    c->nlinked++;
    link_set_events(l, &child_events, h);
    return 0;
}

static void refused(void *arg, const char *peer, const struct error *why)
{
    log_debug("refused a peer (%s): %s", peer, why->text);
}

static struct link *returns(void *arg, uint32_t host)
{
    struct child *h = find_child(arg, host);
    return h ? h->link : NULL;
}

static const struct listen_events door_events = {
    .arrived = arrived, .returns = returns, .refused = refused};

/* ---- the door -------------------------------------------------------------------------------- */

/* Listens beside mprun's own socket, or at the address by which this host has reached mprun. */
static int listen_for_children(struct child_hosts *c, char address[ADDRESS_TEXT], struct error *err)
{
    const struct uplink *up = c->services->up;
    char home[PREAMBLE_ADDRESSES], path[PREAMBLE_ADDRESSES + 32];
    if (up->is_start_channel)
        return error_set(err, EHOSTUNREACH, "it is itself linked by its start channel only");
    if (up->own_address[0]) {
        unsigned port = 0;
        int fd = address_listen(up->own_address, &c->ports, &port, err);
        address_of_ip(up->own_address, port, address);
        return fd;
    }
    if (!address_home(up->start.addresses, home, sizeof(home)))
        return error_set(err, ENOENT, "no directory for its socket");
    snprintf(path, sizeof(path), "%s/link.%u", home, c->self);
    return address_listen_unix(path, address, err);
}

void child_hosts_open_door(struct child_hosts *c)
{
    struct uplink *up = c->services->up;
    const struct preamble *p = &up->start;
    struct error e;
    char address[ADDRESS_TEXT];
    Mprun__Door m = MPRUN__DOOR__INIT;
    enum link_security security = up->own_address[0] ? preamble_security(p->flags) : LINK_PLAIN;
    if (c->nchildren == 0)
        return;
    int fd = listen_for_children(c, address, &e);
    if (fd >= 0)
        c->door = listener_create(c->services->loop, fd, p->key, security, &door_events, c);
    if (c->door) {
        listener_resumable(c->door, &(struct link_options){.resume_seconds = p->link_grace});
        m.addresses = address;
        listener_expect(c->door, c->nchildren);
    } else {
        log_debug("on %s: no hosts below this one: %s", c->services->hostname, e.text);
    }
    uplink_send(up, FRAME_DOOR, &m.base);
}

/* ---- passing on ------------------------------------------------------------------------------ */

void child_hosts_send(struct child_hosts *c, unsigned place, enum frame_type type, const void *p,
                      size_t n)
{
    if (c->children[place].link)
        link_relay(c->children[place].link, FRAME_EVERY_HOST, type, p, n);
}

void child_hosts_pass_down(struct child_hosts *c, uint32_t host, enum frame_type type,
                           const void *p, size_t n)
{
    for (unsigned i = 0; host == FRAME_EVERY_HOST && i < c->nchildren; i++)
        child_hosts_send(c, i, type, p, n);
    if (host == FRAME_EVERY_HOST)
        return;
    struct child *h = c->nchildren ? find_child(c, tree_way(c->self, host, c->fanout)) : NULL;
    if (h && h->link)
        link_relay(h->link, host, type, p, n);
    else
        log_debug("%s for host %u, which is not below", frame_type_text(type), host);
}

/* ---- the end --------------------------------------------------------------------------------- */

void child_hosts_cut(struct child_hosts *c)
{
    listener_destroy(take_ptr(c->door));
    for (unsigned i = 0; c->children && i < c->nchildren; i++)
        if (c->children[i].link)
            let_go(&c->children[i]);
    maybe_all_gone(c);
}

static void waited_enough(void *arg)
{
    child_hosts_cut(arg);
}

void child_hosts_await_end(struct child_hosts *c, void (*gone)(void *arg), void *arg)
{
    if (c->nlinked == 0) {
        gone(arg);
        return;
    }
    c->gone = gone;
    c->gone_arg = arg;
    for (unsigned i = 0; i < c->nchildren; i++)
        if (c->children[i].link)
            link_peer_ends(c->children[i].link);
    loop_timer_stop(&c->limit);
    loop_timer_init(&c->limit, c->services->loop, waited_enough, c);
    loop_timer_start(&c->limit, CHILDREN_END_SECONDS, 0);
}

/* ---- life ------------------------------------------------------------------------------------ */

void child_hosts_init(struct child_hosts *c, const struct starter_services *services,
                      const Mprun__Place *place, child_preload_fn preload, void *arg)
{
    double heartbeat = seconds_unpack(place->heartbeat);
    uint32_t self = services->up->start.host_id;
    *c = (struct child_hosts){
        .services = services,
        .self = self,
        .fanout = place->fanout,
        .first = tree_first_child(self, place->fanout, place->nhosts),
        .nchildren = tree_children(self, place->fanout, place->nhosts),
        .ports = {.low = place->port_low, .high = place->port_high},
        .rules = {.nhosts = place->nhosts, .awaited = awaited, .complete = gathered},
        .preload = preload,
        .arg = arg,
    };
    if (c->nchildren == 0)
        return;
    c->children = must(calloc(c->nchildren, sizeof(*c->children)));
    c->gather = gather_create(&c->rules, c);
    if (heartbeat > 0)
        c->heartbeat =
            heartbeat_create(services->loop, c->nchildren, heartbeat, &heartbeat_events, c);
    for (unsigned i = 0; i < c->nchildren; i++)
        c->children[i] = (struct child){.all = c, .host = c->first + i};
}

void child_hosts_close(struct child_hosts *c)
{
    c->gone = NULL;
    child_hosts_cut(c);
    loop_timer_stop(&c->limit);
    heartbeat_destroy(c->heartbeat);
    gather_destroy(c->gather);
    free(c->children);
}
