/* SPDX-License-Identifier: BSD-3-Clause */
/* accept-hosts.c - where the launcher listens, and the peers that come
 *
 * A Unix socket or loopback where all hosts are this machine. Else one socket for all addresses of
 * this machine, of which starters are told those of interfaces that are up; with --interface a
 * socket for each address that it names, and nothing else is open. Other mpruns of the job come by
 * TCP to a socket of their own, whatever the step's hosts are. */
#include "launcher/start/accept-hosts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/machine/interfaces.h"
#include "common/log.h"
#include "launcher/hosts/host-links.h"
#include "wire/transport/address.h"

/* ---- peers ----------------------------------------------------------------------------------- */

/* A host's first link, or the connection of one that gets no answer from the host above. */
static int arrived(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct listeners *listeners = arg;
    struct host *h = host_at(listeners->hosts, host_id);
    if (!h)
        return error_set(why, EINVAL, "there is no host %u in this step", host_id);
    if (host_take_side_link(h, l))
        return 0;
    if (h->link || h->state > AGENT_STARTED)
        return error_set(why, EBUSY, "host %u ('%s') is taken already", host_id, h->name);
    if (listeners->is_agents(listeners->arg, h, l))
        return 0;
    host_set_link(h, l);
    link_set_events(l, listeners->links, h);
    return 0;
}

/* The first few one by one, then when there are ten times as many: nobody can fill a log. */
static void refused(void *arg, const char *peer, const struct error *why)
{
    struct listeners *listeners = arg;
    if (why->code == 0) { /* closed */
        log_debug("a peer (%s) went away without a proof of the step's key, as a host does with "
                  "those of its tries that another one has overtaken",
                  peer);
        return;
    }
    listeners->nrefused++;
    uint64_t power = 10;
    while (power < listeners->nrefused)
        power *= 10;
    if (listeners->nrefused <= 3)
        log_warn("refused a peer (%s): %s", peer, why->text);
    else if (listeners->nrefused == power)
        log_warn("refused %llu peers so far, the last one (%s): %s",
                 (unsigned long long)listeners->nrefused, peer, why->text);
}

static struct link *returns(void *arg, uint32_t host_id)
{
    const struct host *h = host_at(((struct listeners *)arg)->hosts, host_id);
    return h ? h->link : NULL;
}

static const struct listen_events peer_events = {
    .arrived = arrived, .returns = returns, .refused = refused};

static int mprun_arrived(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    const struct listeners *listeners = arg;
    listeners->take_mprun(listeners->arg, l);
    return 0;
}

static const struct listen_events mprun_events = {.arrived = mprun_arrived, .refused = refused};

/* ---- sockets --------------------------------------------------------------------------------- */

static void tell(struct listeners *l, const char *address)
{
    size_t n = strlen(l->addresses);
    if (n + strlen(address) + 2 < sizeof(l->addresses))
        snprintf(l->addresses + n, sizeof(l->addresses) - n, "%s%s", n ? " " : "", address);
}

/* Takes fd. */
static int add_listener(struct listeners *l, int fd, enum link_security security)
{
    if (fd < 0)
        return -1;
    struct listener *one = listener_create(l->loop, fd, l->key, security, l->events, l);
    if (l->hosts)
        listener_expect(one, l->plan->nused);
    if (l->hosts && l->plan->transport == TRANSPORT_TCP && l->plan->cmd->links.grace > 0)
        listener_resumable(one,
                           &(struct link_options){.resume_seconds = l->plan->cmd->links.grace});
    l->all[l->n++] = one;
    return 0;
}

static int open_unix(struct listeners *l, const char *directory, struct error *err)
{
    char path[300], address[ADDRESS_TEXT];
    snprintf(path, sizeof(path), "%s/link", directory);
    if (add_listener(l, address_listen_unix(path, address, err), 0) < 0)
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
    if (add_listener(l, address_listen(on, &l->plan->cmd->links.ports, &port, err),
                     l->hosts ? l->plan->cmd->links.security : LINK_ENCRYPT) < 0)
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
    int n = interfaces_choose(l->plan->cmd->links.interface, ips, LISTENERS_MAX, err);
    if (n < 0)
        return error_context(err, "--interface");
    for (int i = 0; i < n; i++)
        if (open_tcp(l, ips[i].address, &ips[i], 1, err) < 0)
            return -1;
    return 0;
}

static int open_network(struct listeners *l, struct error *err)
{
    struct interface ips[ADDRESSES_MAX];
    if (l->plan->cmd->links.interface)
        return open_chosen(l, err);
    int n = interfaces_choose(NULL, ips, ADDRESSES_MAX, err);
    return n < 0 ? -1 : open_tcp(l, NULL, ips, (size_t)n, err);
}

static int open_all(struct listeners *l, const char *directory, struct error *err)
{
    static const struct interface loopback = {.name = "lo", .address = "127.0.0.1", .loopback = 1};
    if (!l->hosts)
        return open_network(l, err);
    if (l->plan->transport == TRANSPORT_STDIO)
        return 0;
    if (l->plan->transport == TRANSPORT_UNIX)
        return open_unix(l, directory, err);
    if (l->plan->same_machine && !l->plan->cmd->links.interface)
        return open_tcp(l, loopback.address, &loopback, 1, err);
    return open_network(l, err);
}

static int open_or_close(struct listeners *l, const char *directory, struct error *err)
{
    if (open_all(l, directory, err) == 0)
        return 0;
    listeners_close(l);
    return -1;
}

int listeners_open(struct listeners *l, struct loop *loop, struct host_table *hosts,
                   const struct link_events *links, const char *directory, struct error *err)
{
    l->loop = loop;
    l->plan = hosts->plan;
    l->key = l->plan->key;
    l->events = &peer_events;
    l->hosts = hosts;
    l->links = links;
    return open_or_close(l, directory, err);
}

int listeners_open_to_mpruns(struct listeners *l, struct loop *loop, const struct step_plan *plan,
                             const uint8_t key[LINK_KEY], struct error *err)
{
    l->loop = loop;
    l->plan = plan;
    l->key = key;
    l->events = &mprun_events;
    return open_or_close(l, NULL, err);
}

void listeners_close(struct listeners *l)
{
    while (l->n > 0)
        listener_destroy(l->all[--l->n]);
}
