/* SPDX-License-Identifier: BSD-3-Clause */
/* control-socket.c - the step's control socket, where tools of the same user attach
 *
 * A Unix socket in the step's directory (mode 0700), frames without encryption; the kernel says who
 * the peer is. A tool that sends what its owner does not know is dropped. */
#include "launcher/tools/control-socket.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "wire/link/link.h"
#include "wire/transport/address.h"

static void drop_client(struct control_socket *c, struct link *l)
{
    for (int i = 0; i < CONTROL_CLIENTS; i++)
        if (c->clients[i] == l)
            c->clients[i] = NULL;
    c->events->gone(c->arg, l);
    link_destroy(l);
}

static void client_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p,
                         size_t n)
{
    struct control_socket *c = arg;
    if (c->events->request(c->arg, l, type, p, n))
        return;
    log_debug("dropped a tool: %s", frame_type_text(type));
    drop_client(c, l);
}

static void client_closed(void *arg, struct link *l, const struct error *why)
{
    if (why->code)
        log_debug("dropped a tool: %s", why->text);
    drop_client(arg, l);
}

static const struct link_events client_events = {.frame = client_frame, .closed = client_closed};

static bool is_allowed(int fd)
{
    return address_is_peer_of(fd, geteuid()) || address_is_peer_of(fd, 0);
}

static void acceptable(void *arg, int fd, unsigned events)
{
    struct control_socket *c = arg;
    struct link_options trusted = {.role = LINK_TRUSTED};
    struct error e;
    int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), at = 0;
    if (peer < 0 && (errno == EMFILE || errno == ENFILE)) {
        log_warn("no descriptors are left; tools can attach no more");
        loop_io_set(c->io, 0); /* rather than be told of it again and again */
    }
    if (peer < 0)
        return;
    while (at < CONTROL_CLIENTS && c->clients[at])
        at++;
    if (at == CONTROL_CLIENTS || !is_allowed(peer)) {
        close(peer);
        return;
    }
    c->clients[at] = link_create(c->loop, peer, peer, &trusted, "tool", &client_events, c, &e);
}

int control_socket_open(struct control_socket *c, struct loop *loop, const char *directory,
                        const struct control_events *events, void *arg, struct error *err)
{
    char path[300], address[ADDRESS_TEXT];
    *c = (struct control_socket){.loop = loop, .events = events, .arg = arg};
    snprintf(path, sizeof(path), "%s/control", directory);
    c->fd = address_listen_unix(path, address, err);
    if (c->fd < 0)
        return -1;
    c->io = loop_io_create(loop, c->fd, LOOP_READ, acceptable, c);
    return 0;
}

void control_socket_close(struct control_socket *c)
{
    if (!c->events)
        return;
    for (int i = 0; i < CONTROL_CLIENTS; i++)
        if (c->clients[i])
            drop_client(c, c->clients[i]);
    loop_io_destroy(c->io);
    cleanup_close(&c->fd);
}
