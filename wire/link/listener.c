/* SPDX-License-Identifier: BSD-3-Clause */
/* listener.c - while all places are taken, the listener accepts no peer until a place is free or
 * its peer has had its time; new peers wait in the kernel's queue. So starters that come all at
 * once do not turn each other away, and silent peers delay them only a little. */
#include "wire/link/listener.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sodium.h>

#include "common/must.h"
#include "wire/tunables.h"
#include "wire/transport/tcp.h"

struct pending {
    struct listener *listener;
    struct link *link;
    unsigned since;            /* the listener's ticks */
    TAILQ_ENTRY(pending) list; /* oldest first */
};

struct listener {
    struct loop *loop;
    int fd;
    struct loop_io *io;
    struct loop_timer tick; /* runs while the listener accepts no peer, because it has no room */
    unsigned ticks;
    uint8_t key[LINK_KEY];
    struct link_options options; /* of the links */
    const struct listen_events *events;
    void *arg;
    TAILQ_HEAD(, pending) pending;
    size_t npending, places;
};

/* Counts ticks, not time: a tick that comes late, because this process was busy, counts as one. */
static void tick(void *arg)
{
    struct listener *l = arg;
    l->ticks++;
    loop_io_set(l->io, LOOP_READ);
}

static void accept_later(struct listener *l)
{
    loop_io_set(l->io, 0);
    if (!loop_timer_is_active(&l->tick))
        loop_timer_start(&l->tick, LISTEN_PATIENCE / LISTEN_TICKS, 0);
}

static void pending_remove(struct pending *p)
{
    struct listener *l = p->listener;
    TAILQ_REMOVE(&l->pending, p, list);
    l->npending--;
    loop_io_set(l->io, LOOP_READ);
    free(p);
}

/* Gives the connection to the link that waits for it. */
static int go_on(struct pending *p, struct link *link, uint32_t host_id, struct error *why)
{
    struct listener *l = p->listener;
    struct link *old = l->events->returns ? l->events->returns(l->arg, host_id) : NULL;
    if (!old)
        return error_set(why, ESTALE, "host %u has no link here to go on with", host_id);
    if (link_adopt(old, link, why) < 0)
        return -1;
    pending_remove(p);
    return 0;
}

static int pending_opened(void *arg, struct link *link, uint32_t host_id, struct error *why)
{
    struct pending *p = arg;
    struct listener *l = p->listener;
    if (link_claims(link))
        return go_on(p, link, host_id, why);
    if (l->events->arrived(l->arg, link, host_id, why) < 0)
        return -1; /* the link closes, and says so through pending_closed() */
    pending_remove(p);
    return 0;
}

static void pending_frame(void *arg, struct link *link, enum frame_type type, const uint8_t *p,
                          size_t n)
{
}

static void pending_closed(void *arg, struct link *link, const struct error *why)
{
    struct pending *p = arg;
    struct listener *l = p->listener;
    l->events->refused(l->arg, link_name(link), why);
    pending_remove(p);
    link_destroy(link);
}

static const struct link_events pending_events = {
    .opened = pending_opened,
    .frame = pending_frame,
    .closed = pending_closed,
};

static void evict_oldest(struct listener *l)
{
    struct pending *p = TAILQ_FIRST(&l->pending);
    struct error e;
    error_set(&e, EBUSY, "%zu peers are at the door; this one has proved nothing for the longest",
              l->npending);
    l->events->refused(l->arg, link_name(p->link), &e);
    link_destroy(p->link);
    pending_remove(p);
}

/* Makes a name for messages; -1 with why when the peer may not even try. */
static int check_peer(int fd, char *name, size_t n, struct error *why)
{
    struct sockaddr_storage any;
    struct tcp_end peer;
    struct ucred c;
    socklen_t len = sizeof(any);
    if (getpeername(fd, (struct sockaddr *)&any, &len) < 0)
        return error_errno(why, errno, "peer");
    if (tcp_end_of(fd, true, &peer)) {
        snprintf(name, n, "%s port %u", peer.ip, peer.port);
        return 0;
    }
    len = sizeof(c);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) < 0)
        return error_errno(why, errno, "peer");
    snprintf(name, n, "pid %d of user %u", (int)c.pid, c.uid);
    if (c.uid != geteuid() && c.uid != 0)
        return error_set(why, EACCES, "another user's process");
    return 0;
}

static void admit(struct listener *l, int fd)
{
    char name[128] = "peer";
    struct error why;
    if (check_peer(fd, name, sizeof(name), &why) < 0) {
        l->events->refused(l->arg, name, &why);
        close(fd);
        return;
    }
    struct pending *p = must(calloc(1, sizeof(*p)));
    p->listener = l;
    p->link = link_create(l->loop, fd, fd, &l->options, name, &pending_events, p, &why);
    if (!p->link) {
        l->events->refused(l->arg, name, &why);
        free(p);
        return;
    }
    p->since = l->ticks;
    TAILQ_INSERT_TAIL(&l->pending, p, list);
    l->npending++;
}

/* Frees a place. Returns 0: not yet. */
static int make_room(struct listener *l)
{
    if (l->npending < l->places)
        return 1;
    if (l->ticks - TAILQ_FIRST(&l->pending)->since < LISTEN_TICKS) {
        accept_later(l);
        return 0;
    }
    evict_oldest(l);
    return 1;
}

static void acceptable(void *arg, int fd, unsigned events)
{
    struct listener *l = arg;
    for (int i = 0; i < LISTEN_PENDING && make_room(l); i++) {
        int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (peer >= 0) {
            admit(l, peer);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            accept_later(l); /* else the loop would call this again and again */
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

struct listener *listener_create(struct loop *loop, int fd, const uint8_t key[LINK_KEY],
                                 enum link_security security, const struct listen_events *events,
                                 void *arg)
{
    struct listener *l = must(calloc(1, sizeof(*l)));
    l->io = loop_io_create(loop, fd, LOOP_READ, acceptable, l);
    loop_timer_init(&l->tick, loop, tick, l);
    TAILQ_INIT(&l->pending);
    l->places = LISTEN_PENDING;
    l->loop = loop;
    l->fd = fd;
    l->events = events;
    l->arg = arg;
    memcpy(l->key, key, LINK_KEY);
    l->options = (struct link_options){.role = LINK_ACCEPTOR, .key = l->key, .security = security};
    return l;
}

void listener_expect(struct listener *l, size_t peers)
{
    if (peers > l->places)
        l->places = peers < LISTEN_PENDING_MAX ? peers : LISTEN_PENDING_MAX;
}

void listener_resumable(struct listener *l, const struct link_options *o)
{
    l->options.resume_seconds = o->resume_seconds;
    l->options.resume_patience = o->resume_patience;
    l->options.resume_bytes = o->resume_bytes;
    l->options.dead_seconds = o->dead_seconds;
}

void listener_destroy(struct listener *l)
{
    if (!l)
        return;
    while (!TAILQ_EMPTY(&l->pending)) {
        struct pending *p = TAILQ_FIRST(&l->pending);
        link_destroy(p->link);
        pending_remove(p);
    }
    loop_io_destroy(l->io);
    loop_timer_stop(&l->tick);
    close(l->fd);
    sodium_memzero(l->key, sizeof(l->key));
    free(l);
}
