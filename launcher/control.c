/* SPDX-License-Identifier: BSD-3-Clause */
/* control.c - the step's control socket, where tools of the same user attach
 *
 * A Unix socket in the step's directory (mode 0700), frames without encryption; the kernel says who
 * the peer is. STATUS_REQUEST is answered by STATUS_REPLY, another mprun's HAND by ERRAND_NEWS; a
 * tool that says anything else, or does not read its answers, is dropped. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "launcher/run.h"
#include "wire/address.h"

enum { CLIENTS = 16, UNREAD_MAX = 1024 * 1024 };

struct control {
    struct run *run;
    int fd;
    struct loop_io *io;
    struct link *clients[CLIENTS];
};

static const char *agent_state_text(enum agent_state s)
{
    static const char *const text[] = {
        [AGENT_UNUSED] = "unused",   [AGENT_WAITING] = "waiting",
        [AGENT_STARTED] = "started", [AGENT_CONNECTED] = "connected",
        [AGENT_PLACED] = "placed",   [AGENT_LAUNCHED] = "launched",
        [AGENT_READY] = "running",   [AGENT_REPORTED] = "reported",
        [AGENT_CLEANED] = "cleaned", [AGENT_RELEASED] = "released",
        [AGENT_GONE] = "gone",
    };
    return text[s];
}

static void send_status(struct run *r, struct link *to)
{
    Mprun__StatusReply m = MPRUN__STATUS_REPLY__INIT;
    AUTO_FREE Mprun__Placement *hosts = calloc(r->nhosts, sizeof(*hosts));
    AUTO_FREE Mprun__Placement **list = calloc(r->nhosts, sizeof(*list));
    AUTO_FREE char **states = calloc(r->nhosts, sizeof(*states));
    for (size_t i = 0; hosts && list && states && i < r->nhosts; i++) {
        mprun__placement__init(&hosts[i]);
        hosts[i].host = bytes_of(r->hosts[i].name);
        hosts[i].first_rank = r->hosts[i].first_rank;
        hosts[i].count = r->hosts[i].nranks;
        list[i] = &hosts[i];
        states[i] = (char *)(uintptr_t)agent_state_text(r->hosts[i].state);
        m.n_hosts = m.n_host_states = i + 1;
    }
    m.hosts = list;
    m.host_states = states;
    m.step_id = r->step.id;
    m.state = (char *)(uintptr_t)step_state_text(r->state);
    m.nranks = r->step.nranks;
    m.started = r->nstarted;
    m.ended = r->nended;
    m.seconds = loop_now() - r->start_time;
    link_send(to, FRAME_STATUS_REPLY, &m.base);
}

static void drop_client(struct control *c, struct link *l)
{
    for (int i = 0; i < CLIENTS; i++)
        if (c->clients[i] == l)
            c->clients[i] = NULL;
    guests_asker_gone(c->run, l);
    link_destroy(l);
}

static void client_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p,
                         size_t n)
{
    struct control *c = arg;
    if (type == FRAME_STATUS_REQUEST && link_pending(l) <= UNREAD_MAX) {
        send_status(c->run, l);
        return;
    }
    if (type == FRAME_HAND && link_pending(l) <= UNREAD_MAX && guests_hand(c->run, l, p, n) == 0)
        return;
    log_debug("dropped a tool: %s", link_pending(l) > UNREAD_MAX ? "it does not read its answers"
                                                                 : frame_type_text(type));
    drop_client(c, l);
}

static void client_closed(void *arg, struct link *l, const struct error *why)
{
    if (why->code)
        log_debug("dropped a tool: %s", why->text);
    drop_client(arg, l);
}

static const struct link_events client_events = {.frame = client_frame, .closed = client_closed};

static int is_own_user(int fd)
{
    struct ucred u;
    socklen_t len = sizeof(u);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &len) == 0 &&
           (u.uid == geteuid() || u.uid == 0);
}

static void acceptable(void *arg, int fd, unsigned events)
{
    struct control *c = arg;
    struct link_options trusted = {.role = LINK_TRUSTED};
    struct error e;
    int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), at = 0;
    if (peer < 0 && (errno == EMFILE || errno == ENFILE)) {
        log_warn("no descriptors are left; tools can attach no more");
        loop_io_set(c->io, 0); /* rather than be told of it again and again */
    }
    if (peer < 0)
        return;
    while (at < CLIENTS && c->clients[at])
        at++;
    if (at == CLIENTS || !is_own_user(peer)) {
        close(peer);
        return;
    }
    c->clients[at] = link_create(c->run->loop, peer, peer, &trusted, "tool", &client_events, c, &e);
}

struct control *control_create(struct run *r, struct error *err)
{
    char path[300], address[ADDRESS_TEXT];
    struct control *c = calloc(1, sizeof(*c));
    if (!c) {
        error_errno(err, ENOMEM, "open the step's control socket");
        return NULL;
    }
    c->run = r;
    snprintf(path, sizeof(path), "%s/control", r->directory);
    c->fd = address_listen_unix(path, address, err);
    if (c->fd >= 0 && !(c->io = loop_io_create(r->loop, c->fd, LOOP_READ, acceptable, c)))
        error_errno(err, ENOMEM, "open the step's control socket");
    if (!c->io) {
        control_destroy(c);
        return NULL;
    }
    return c;
}

void control_destroy(struct control *c)
{
    if (!c)
        return;
    for (int i = 0; i < CLIENTS; i++)
        if (c->clients[i])
            drop_client(c, c->clients[i]);
    loop_io_destroy(c->io);
    if (c->fd >= 0)
        close(c->fd);
    free(c);
}
