/* SPDX-License-Identifier: BSD-3-Clause */
/* tree-place.c - see tree-place.h */
#include "starter/links/tree-place.h"

#include <stdlib.h>

#include "common/log.h"
#include "model/rank-end.h"
#include "starter/links/uplink.h"
#include "starter/step-end.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"
#include "wire/start-channel/preamble.h"

struct tree_place {
    struct loop *loop;
    struct uplink *up;
    struct step_end *end;
    const char *hostname;
    const struct tree_place_events *events;
    void *arg;
    double heartbeat;             /* seconds */
    struct child_hosts *children; /* NULL: no place yet */
    struct parent_watch *watch;   /* NULL: linked to mprun itself */
};

struct tree_place *tree_place_create(struct loop *loop, struct uplink *up, struct step_end *end,
                                     const char *hostname, const struct tree_place_events *events,
                                     void *arg)
{
    struct tree_place *t = calloc(1, sizeof(*t));
    if (t)
        *t = (struct tree_place){
            .loop = loop, .up = up, .end = end, .hostname = hostname, .events = events, .arg = arg};
    return t;
}

void tree_place_destroy(struct tree_place *t)
{
    if (!t)
        return;
    parent_watch_destroy(t->watch);
    child_hosts_destroy(t->children);
    free(t);
}

/* Children only now: what they send must not go by a link that is about to be left. */
static void place_is_taken(struct tree_place *t)
{
    child_hosts_open_door(t->children);
    uplink_forget_key(t->up); /* links and door have what they need */
}

static void parent_reached(void *arg)
{
    struct tree_place *t = arg;
    t->watch = parent_watch_create(t->loop, t->up, t->heartbeat, t->events->parent_lost, t->arg);
    if (!t->watch)
        step_end_cannot_run(t->end, EXIT_CODE_MPRUN, "out of memory");
    uplink_send_joined(t->up, "");
    place_is_taken(t);
}

static void parent_failed(void *arg, const char *why)
{
    struct tree_place *t = arg;
    uplink_send_joined(t->up, why);
    place_is_taken(t);
}

static void parent_interrupted(void *arg)
{
    struct tree_place *t = arg;
    parent_watch_interrupted(t->watch);
}

static void parent_resumed(void *arg)
{
    struct tree_place *t = arg;
    parent_watch_resumed(t->watch);
}

static void join(struct tree_place *t, const char *addresses)
{
    static const struct uplink_parent_events events = {.reached = parent_reached,
                                                       .failed = parent_failed,
                                                       .interrupted = parent_interrupted,
                                                       .resumed = parent_resumed};
    struct error e;
    if (uplink_connect_parent(t->up, addresses, &events, t, &e) < 0)
        parent_failed(t, e.text);
}

static int take(struct tree_place *t, const Mprun__Place *m)
{
    struct error e;
    if (t->children || m->fanout > m->nhosts || uplink_preamble(t->up)->host_id >= m->nhosts)
        return -1;
    t->heartbeat = seconds_unpack(m->heartbeat);
    t->children = child_hosts_create(t->loop, t->up, t->end, t->hostname, m,
                                     t->events->child_preload, t->arg, &e);
    if (!t->children)
        step_end_cannot_run(t->end, EXIT_CODE_MPRUN, e.text);
    else if (m->stay)
        place_is_taken(t);
    else
        join(t, m->parent_addresses);
    return 0;
}

int tree_place_take(struct tree_place *t, const uint8_t *p, size_t n)
{
    Mprun__Place *m = mprun__place__unpack(NULL, n, p);
    int rc = m ? take(t, m) : -1;
    mprun__place__free_unpacked(m, NULL);
    return rc;
}

bool tree_place_pass_down(struct tree_place *t, uint32_t host, enum frame_type type, const void *p,
                          size_t n)
{
    if (host == uplink_preamble(t->up)->host_id)
        return true;
    child_hosts_pass_down(t->children, host, type, p, n);
    return host == FRAME_EVERY_HOST;
}

struct child_hosts *tree_place_children(const struct tree_place *t)
{
    return t->children;
}

bool tree_place_has_parent(const struct tree_place *t)
{
    return t->watch != NULL;
}

void tree_place_heard(struct tree_place *t)
{
    parent_watch_heard(t->watch);
}

int tree_place_pong(struct tree_place *t)
{
    return parent_watch_pong(t->watch);
}
