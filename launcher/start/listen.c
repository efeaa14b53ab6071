/* SPDX-License-Identifier: BSD-3-Clause */
/* listen.c - where the launcher listens
 *
 * A Unix socket or loopback where all hosts are this machine. Else one socket for all addresses of
 * this machine, of which starters are told those of interfaces that are up; with --interface a
 * socket for each address that it names, and nothing else is open. */
#include "launcher/start/listen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/interfaces.h"
#include "launcher/policy.h"
#include "launcher/step-plan.h"
#include "wire/transport/address.h"

struct listeners {
    struct loop *loop;
    const struct step_plan *plan;
    const struct listen_events *events;
    void *arg;
    struct listener *all[LISTENERS_MAX];
    size_t n;
    char addresses[1200];
};

static void tell(struct listeners *l, const char *address)
{
    size_t n = strlen(l->addresses);
    if (n + strlen(address) + 2 < sizeof(l->addresses))
        snprintf(l->addresses + n, sizeof(l->addresses) - n, "%s%s", n ? " " : "", address);
}

/* Takes fd. */
static int add_listener(struct listeners *l, int fd, enum link_security security, struct error *err)
{
    if (fd < 0)
        return -1;
    struct listener *one =
        listener_create(l->loop, fd, l->plan->key, security, l->events, l->arg, err);
    if (!one)
        return -1;
    listener_expect(one, l->plan->nused);
    if (l->plan->transport == TRANSPORT_TCP && l->plan->cmd->link_grace > 0)
        listener_resumable(one, &(struct link_options){.resume_seconds = l->plan->cmd->link_grace});
    l->all[l->n++] = one;
    return 0;
}

static int open_unix(struct listeners *l, const char *directory, struct error *err)
{
    char path[300], address[ADDRESS_TEXT];
    snprintf(path, sizeof(path), "%s/link", directory);
    if (add_listener(l, address_listen_unix(path, address, err), 0, err) < 0)
        return -1;
    tell(l, address);
    return 0;
}

/* On one address, or on all (NULL); told are the n of `ips`. */
static int open_tcp(struct listeners *l, const char *on, const struct interface *ips, size_t n,
                    struct error *err)
{
    char address[ADDRESS_TEXT];
    unsigned port;
    if (add_listener(l, address_listen(on, &l->plan->cmd->ports, &port, err),
                     l->plan->cmd->security, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        address_of_ip(ips[i].address, port, address);
        tell(l, address);
    }
    return 0;
}

static int open_chosen(struct listeners *l, struct error *err)
{
    struct interface ips[ADDRESSES_MAX];
    int n = interfaces_choose(l->plan->cmd->interface, ips, LISTENERS_MAX, err);
    if (n < 0)
        return error_context(err, "--interface");
    for (int i = 0; i < n; i++)
        if (open_tcp(l, ips[i].address, &ips[i], 1, err) < 0)
            return -1;
    return 0;
}

static int open_all(struct listeners *l, const char *directory, struct error *err)
{
    static const struct interface loopback = {.name = "lo", .address = "127.0.0.1", .loopback = 1};
    struct interface ips[ADDRESSES_MAX];
    if (l->plan->transport == TRANSPORT_STDIO)
        return 0;
    if (l->plan->transport == TRANSPORT_UNIX)
        return open_unix(l, directory, err);
    if (l->plan->cmd->interface)
        return open_chosen(l, err);
    if (l->plan->same_machine)
        return open_tcp(l, loopback.address, &loopback, 1, err);
    int n = interfaces_choose(NULL, ips, ADDRESSES_MAX, err);
    return n < 0 ? -1 : open_tcp(l, NULL, ips, (size_t)n, err);
}

struct listeners *listeners_open(struct loop *loop, const struct step_plan *plan,
                                 const char *directory, const struct listen_events *events,
                                 void *arg, struct error *err)
{
    struct listeners *l = calloc(1, sizeof(*l));
    if (!l) {
        error_errno(err, ENOMEM, "listen for starters");
        return NULL;
    }
    l->loop = loop;
    l->plan = plan;
    l->events = events;
    l->arg = arg;
    if (open_all(l, directory, err) == 0)
        return l;
    listeners_close(l);
    return NULL;
}

void listeners_close(struct listeners *l)
{
    while (l && l->n > 0)
        listener_destroy(l->all[--l->n]);
    free(l);
}

const char *listeners_addresses(const struct listeners *l)
{
    return l->addresses;
}
