/* SPDX-License-Identifier: BSD-3-Clause */
/* door.c - where the launcher listens, and the addresses that starters are given
 *
 * A Unix socket or loopback where all hosts are this machine. Else one socket for all addresses of
 * this machine, of which starters are told those of interfaces that are up; with --interface a
 * socket for each address that it names, and nothing else is open. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/interfaces.h"
#include "launcher/run.h"
#include "wire/address.h"

enum { ADDRESSES_MAX = 12 }; /* that starters are told: all are tried at once */

static void tell(struct run *r, const char *address)
{
    size_t n = strlen(r->addresses);
    if (n + strlen(address) + 2 < sizeof(r->addresses))
        snprintf(r->addresses + n, sizeof(r->addresses) - n, "%s%s", n ? " " : "", address);
}

/* Takes fd. */
static int add_listener(struct run *r, int fd, enum link_security security, struct error *err)
{
    if (fd < 0)
        return -1;
    struct listener *l = listener_create(r->loop, fd, r->key, security, &arrival_events, r, err);
    if (!l)
        return -1;
    listener_expect(l, r->nused);
    if (r->transport == TRANSPORT_TCP && r->cmd.link_grace > 0)
        listener_resumable(l, &(struct link_options){.resume_seconds = r->cmd.link_grace});
    r->listeners[r->nlisteners++] = l;
    return 0;
}

static int open_unix(struct run *r, struct error *err)
{
    char path[300], address[ADDRESS_TEXT];
    snprintf(path, sizeof(path), "%s/link", r->directory);
    if (add_listener(r, address_listen_unix(path, address, err), 0, err) < 0)
        return -1;
    tell(r, address);
    return 0;
}

/* On one address, or on all (NULL); told are the n of `ips`. */
static int open_tcp(struct run *r, const char *on, const struct interface *ips, size_t n,
                    struct error *err)
{
    char address[ADDRESS_TEXT];
    unsigned port;
    if (add_listener(r, address_listen(on, &r->cmd.ports, &port, err), r->cmd.security, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        address_of_ip(ips[i].address, port, address);
        tell(r, address);
    }
    return 0;
}

static int open_chosen(struct run *r, struct error *err)
{
    struct interface ips[ADDRESSES_MAX];
    int n = interfaces_choose(r->cmd.interface, ips, DOORS_MAX, err);
    if (n < 0)
        return error_context(err, "--interface");
    for (int i = 0; i < n; i++)
        if (open_tcp(r, ips[i].address, &ips[i], 1, err) < 0)
            return -1;
    return 0;
}

int door_open(struct run *r, struct error *err)
{
    static const struct interface loopback = {.name = "lo", .address = "127.0.0.1", .loopback = 1};
    struct interface ips[ADDRESSES_MAX];
    if (r->transport == TRANSPORT_STDIO)
        return 0;
    if (r->transport == TRANSPORT_UNIX)
        return open_unix(r, err);
    if (r->cmd.interface)
        return open_chosen(r, err);
    if (r->same_machine)
        return open_tcp(r, loopback.address, &loopback, 1, err);
    int n = interfaces_choose(NULL, ips, ADDRESSES_MAX, err);
    return n < 0 ? -1 : open_tcp(r, NULL, ips, (size_t)n, err);
}

void door_close(struct run *r)
{
    while (r->nlisteners > 0)
        listener_destroy(r->listeners[--r->nlisteners]);
}
