/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "starter/orphan.h"
#include "starter/preload.h"
#include "starter/uplink.h"
#include "starter/worker.h"
#include "wire/address.h"
#include "wire/gather.h"
#include "wire/heartbeat.h"
#include "wire/listen.h"
#include "wire/tree.h"

#define JOIN_SECONDS 5.0 /* to reach the host above */
#define END_SECONDS  5.0 /* for those below to go */

struct below {
    struct tree *tree;
    uint32_t host;
    struct link *link; /* NULL: not there, or gone */
};

struct tree {
    struct worker *worker;
    uint32_t self, fanout, nhosts, first;
    struct port_range ports; /* of the door */
    struct below *below;
    unsigned nbelow, nlinked;
    struct listener *door;
    struct gather_rules rules;
    struct gather *gather; /* of collectives; NULL where nobody is below */
    double heartbeat_seconds;
    struct heartbeat *heartbeat; /* of those below; NULL where it is not wanted */
    struct loop_timer *limit;
    void (*gone)(struct worker *w);
};

/* ---- collectives ----------------------------------------------------------------------------- */

static int awaited(void *arg, uint32_t host)
{
    const struct tree *t = arg;
    return host == t->self || tree_way(t->self, host, t->fanout) != TREE_LAUNCHER;
}

static void gathered(void *arg, const Mprun__Collect *m)
{
    struct tree *t = arg;
    if (t->worker->up)
        link_send(t->worker->up, FRAME_COLLECT, &m->base);
}

static void collect(struct tree *t, const uint8_t *p, size_t n, const char *whose)
{
    struct error e;
    char text[400];
    if (gather_add(t->gather, p, n, &e) == 0)
        return;
    snprintf(text, sizeof(text), "on %s: protocol error: %s: %.200s", t->worker->hostname, whose,
             e.text);
    worker_cannot_run(t->worker, EXIT_CODE_MPRUN, text);
}

void tree_collect(struct worker *w, const uint8_t *p, size_t n)
{
    if (w->tree && w->tree->gather)
        collect(w->tree, p, n, "mppmi");
    else if (w->up)
        link_send_bytes(w->up, FRAME_COLLECT, p, n);
}

/* ---- those below ----------------------------------------------------------------------------- */

static struct below *find_below(struct tree *t, uint32_t host)
{
    return host >= t->first && host - t->first < t->nbelow ? &t->below[host - t->first] : NULL;
}

static void maybe_all_gone(struct tree *t)
{
    void (*gone)(struct worker * w) = t->gone;
    if (t->nlinked > 0 || !gone)
        return;
    t->gone = NULL;
    gone(t->worker);
}

/* Which of them say nothing is for mprun to tell. */
static struct link *watched(void *arg, uint32_t place)
{
    struct tree *t = arg;
    struct link *l = t->gone ? NULL : t->below[place].link;
    if (l)
        link_address(l, t->below[place].host);
    return l;
}

static void say_silent(void *arg, const uint32_t *places, size_t n, double seconds, int back)
{
    struct tree *t = arg;
    Mprun__Silent m = MPRUN__SILENT__INIT;
    AUTO_FREE uint32_t *hosts = calloc(n, sizeof(*hosts));
    if (!hosts)
        return;
    for (size_t i = 0; i < n; i++)
        hosts[i] = t->below[places[i]].host;
    m.hosts = hosts;
    m.n_hosts = n;
    m.seconds = seconds;
    m.back = back;
    if (t->worker->up)
        link_send(t->worker->up, FRAME_SILENT, &m.base);
}

static void below_silent(void *arg, const uint32_t *places, size_t n, double seconds)
{
    say_silent(arg, places, n, seconds, 0);
}

static void below_back(void *arg, uint32_t place, double seconds)
{
    say_silent(arg, &place, 1, seconds, 1);
}

static const struct heartbeat_events heartbeat_events = {
    .link = watched, .silent = below_silent, .back = below_back};

static void let_go(struct below *b)
{
    link_destroy(b->link);
    b->link = NULL;
    b->tree->nlinked--;
}

static void below_closed(void *arg, struct link *l, const struct error *why)
{
    struct below *b = arg;
    struct tree *t = b->tree;
    Mprun__Lost m = MPRUN__LOST__INIT;
    m.host = b->host;
    m.text = (char *)(uintptr_t)why->text;
    m.silent = why->code == ETIMEDOUT;
    let_go(b);
    if (t->worker->up && !t->gone)
        link_send(t->worker->up, FRAME_LOST, &m.base);
    maybe_all_gone(t);
}

static void answer(struct below *b)
{
    link_address(b->link, b->host);
    link_send_bytes(b->link, FRAME_PONG, NULL, 0);
}

static void below_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct below *b = arg;
    struct tree *t = b->tree;
    uint32_t from = link_frame_host(l);
    if (from != b->host && tree_way(b->host, from, t->fanout) == TREE_LAUNCHER) {
        struct error why;
        error_set(&why, EPROTO, "protocol error: %s of a host that is not below it",
                  frame_type_text(type));
        below_closed(b, l, &why);
        return;
    }
    heartbeat_heard(t->heartbeat, b->host - t->first);
    if (type == FRAME_PONG && heartbeat_answered(t->heartbeat, b->host - t->first) == 0)
        return;
    if (type == FRAME_PING)
        answer(b);
    else if (type == FRAME_COLLECT)
        collect(t, p, n, "a host below");
    else if (type == FRAME_PRELOAD_WANTED || type == FRAME_PRELOAD_TAKEN)
        preload_from_below(t->worker, b->host - t->first, type, p, n);
    else if (t->worker->up)
        link_relay(t->worker->up, from, type, p, n);
}

static const char *name_of(const struct tree *t, uint32_t host, char *buf, size_t n)
{
    const struct launch *l = &t->worker->launch;
    if (t->worker->have_launch && host < l->nhosts)
        return l->hosts[host].host;
    snprintf(buf, n, "number %u", host);
    return buf;
}

static void below_lost(void *arg, struct link *l, const struct error *why)
{
    struct below *b = arg;
    char name[32];
    if (!b->tree->gone)
        log_warn("the connection to host %s is interrupted (%s); waiting for it for %u s at most "
                 "(--link-grace)",
                 name_of(b->tree, b->host, name, sizeof(name)), why->text,
                 b->tree->worker->start.link_grace);
}

static void below_resumed(void *arg, struct link *l, double seconds)
{
    struct below *b = arg;
    char name[32];
    log_note("the connection to host %s is back after %.1f s; nothing was lost",
             name_of(b->tree, b->host, name, sizeof(name)), seconds);
}

static const struct link_events below_events = {
    .frame = below_frame, .lost = below_lost, .resumed = below_resumed, .closed = below_closed};

static int arrived(void *arg, struct link *l, uint32_t host, struct error *why)
{
    struct tree *t = arg;
    struct below *b = find_below(t, host);
    if (!b)
        return error_set(why, EINVAL, "host %u is not below this one", host);
    if (b->link)
        return error_set(why, EBUSY, "host %u is here already", host);
    b->link = l;
    t->nlinked++;
    link_set_events(l, &below_events, b);
    return 0;
}

static void refused(void *arg, const char *peer, const struct error *why)
{
    log_debug("refused a peer (%s): %s", peer, why->text);
}

static struct link *returns(void *arg, uint32_t host)
{
    struct below *b = find_below(arg, host);
    return b ? b->link : NULL;
}

static const struct listen_events door_events = {
    .arrived = arrived, .returns = returns, .refused = refused};

/* Beside mprun's own socket, or at the address by which mprun was reached. */
static int listen_below(struct tree *t, char address[ADDRESS_TEXT], struct error *err)
{
    struct worker *w = t->worker;
    char home[PREAMBLE_ADDRESSES], path[PREAMBLE_ADDRESSES + 32];
    if (w->start.flags & PREAMBLE_STDIO)
        return error_set(err, EHOSTUNREACH, "it is itself linked by its start channel only");
    if (w->own_address[0]) {
        unsigned port = 0;
        int fd = address_listen(w->own_address, &t->ports, &port, err);
        address_of_ip(w->own_address, port, address);
        return fd;
    }
    if (!address_home(w->start.addresses, home, sizeof(home)))
        return error_set(err, ENOENT, "no directory for its socket");
    snprintf(path, sizeof(path), "%s/link.%u", home, t->self);
    return address_listen_unix(path, address, err);
}

static void open_door(struct tree *t)
{
    struct worker *w = t->worker;
    struct error e;
    char address[ADDRESS_TEXT];
    Mprun__Door m = MPRUN__DOOR__INIT;
    enum link_security security =
        w->own_address[0] ? preamble_security(w->start.flags) : LINK_PLAIN;
    int fd = listen_below(t, address, &e);
    if (fd >= 0)
        t->door = listener_create(w->loop, fd, w->start.key, security, &door_events, t, &e);
    if (t->door) {
        listener_resumable(t->door, &(struct link_options){.resume_seconds = w->start.link_grace});
        m.addresses = address;
        listener_expect(t->door, t->nbelow);
    } else {
        log_debug("on %s: no hosts below this one: %s", w->hostname, e.text);
    }
    link_send(w->up, FRAME_DOOR, &m.base);
}

/* ---- above ----------------------------------------------------------------------------------- */

static void say_joined(struct link *l, const char *why_not)
{
    Mprun__Joined m = MPRUN__JOINED__INIT;
    m.why_not = (char *)(uintptr_t)why_not;
    link_send(l, FRAME_JOINED, &m.base);
}

/* Only now: what those below send must not go by a link that is about to be left. */
static void place_taken(struct worker *w)
{
    if (w->tree->nbelow > 0)
        open_door(w->tree);
    sodium_memzero(w->start.key, sizeof(w->start.key)); /* links and door have what they need */
}

void tree_link_opened(struct worker *w)
{
    w->orphan = orphan_create(w, w->tree->heartbeat_seconds);
    if (!w->orphan)
        worker_cannot_run(w, EXIT_CODE_MPRUN, "out of memory");
    say_joined(w->first, "");
    say_joined(w->up, "");
    place_taken(w);
}

void tree_link_failed(struct worker *w, const char *why)
{
    say_joined(w->up, why);
    place_taken(w);
}

static void join(struct worker *w, const char *addresses)
{
    struct error e;
    if (uplink_connect_above(w, addresses, JOIN_SECONDS, &e) < 0)
        tree_link_failed(w, e.text);
}

/* ---- its place ------------------------------------------------------------------------------- */

static int prepare(struct tree *t, struct worker *w, const Mprun__Place *m, struct error *err)
{
    t->worker = w;
    t->self = w->start.host_id;
    t->fanout = m->fanout;
    t->nhosts = m->nhosts;
    t->heartbeat_seconds = seconds_unpack(m->heartbeat);
    t->ports = (struct port_range){.low = m->port_low, .high = m->port_high};
    t->first = tree_first_child(t->self, t->fanout, t->nhosts);
    t->nbelow = tree_children(t->self, t->fanout, t->nhosts);
    if (t->nbelow == 0)
        return 0;
    t->below = calloc(t->nbelow, sizeof(*t->below));
    t->rules = (struct gather_rules){.nhosts = t->nhosts, .awaited = awaited, .complete = gathered};
    t->gather = gather_create(&t->rules, t);
    if (t->heartbeat_seconds > 0)
        t->heartbeat =
            heartbeat_create(w->loop, t->nbelow, t->heartbeat_seconds, &heartbeat_events, t);
    if (!t->below || !t->gather || (t->heartbeat_seconds > 0 && !t->heartbeat))
        return error_errno(err, ENOMEM, "make room for the hosts below");
    for (unsigned i = 0; i < t->nbelow; i++)
        t->below[i] = (struct below){.tree = t, .host = t->first + i};
    return 0;
}

static int take_place(struct worker *w, const Mprun__Place *m)
{
    struct error e;
    if (w->tree || m->fanout > m->nhosts || w->start.host_id >= m->nhosts)
        return -1;
    w->tree = calloc(1, sizeof(*w->tree));
    if (!w->tree || prepare(w->tree, w, m, &e) < 0)
        worker_cannot_run(w, EXIT_CODE_MPRUN, w->tree ? e.text : "out of memory");
    else if (m->stay)
        place_taken(w);
    else
        join(w, m->parent_addresses);
    return 0;
}

int tree_take_place(struct worker *w, const uint8_t *p, size_t n)
{
    Mprun__Place *m = mprun__place__unpack(NULL, n, p);
    int rc = m ? take_place(w, m) : -1;
    mprun__place__free_unpacked(m, NULL);
    return rc;
}

/* ---- passing on ------------------------------------------------------------------------------ */

int tree_pass_down(struct worker *w, uint32_t host, enum frame_type type, const void *p, size_t n)
{
    struct tree *t = w->tree;
    if (host == w->start.host_id)
        return 1;
    if (host == FRAME_EVERY_HOST) {
        for (unsigned i = 0; t && i < t->nbelow; i++)
            if (t->below[i].link)
                link_relay(t->below[i].link, host, type, p, n);
        return 1;
    }
    struct below *b = t ? find_below(t, tree_way(t->self, host, t->fanout)) : NULL;
    if (b && b->link)
        link_relay(b->link, host, type, p, n);
    else
        log_debug("%s for host %u, which is not below", frame_type_text(type), host);
    return 0;
}

unsigned tree_places_below(const struct worker *w)
{
    return w->tree ? w->tree->nbelow : 0;
}

struct link *tree_link_below(const struct worker *w, unsigned place)
{
    return place < tree_places_below(w) ? w->tree->below[place].link : NULL;
}

unsigned tree_below(const struct worker *w)
{
    return w->tree ? w->tree->nlinked : 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

void tree_cut(struct worker *w)
{
    struct tree *t = w->tree;
    if (!t)
        return;
    listener_destroy(t->door);
    t->door = NULL;
    for (unsigned i = 0; i < t->nbelow; i++)
        if (t->below[i].link)
            let_go(&t->below[i]);
    maybe_all_gone(t);
}

static void waited_enough(void *arg)
{
    struct tree *t = arg;
    tree_cut(t->worker);
}

void tree_await_end(struct worker *w, void (*gone)(struct worker *w))
{
    struct tree *t = w->tree;
    if (!t || t->nlinked == 0) {
        gone(w);
        return;
    }
    t->gone = gone;
    for (unsigned i = 0; i < t->nbelow; i++)
        if (t->below[i].link)
            link_peer_ends(t->below[i].link);
    if (!t->limit)
        t->limit = loop_timer_create(w->loop, waited_enough, t);
    if (t->limit)
        loop_timer_start(t->limit, END_SECONDS, 0);
    else
        tree_cut(w);
}

void tree_destroy(struct worker *w)
{
    struct tree *t = w->tree;
    if (!t)
        return;
    t->gone = NULL;
    tree_cut(w);
    loop_timer_destroy(t->limit);
    heartbeat_destroy(t->heartbeat);
    gather_destroy(t->gather);
    free(t->below);
    free(t);
    w->tree = NULL;
}
