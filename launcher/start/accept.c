/* SPDX-License-Identifier: BSD-3-Clause */
/* accept.c - peers that come to the launcher's listeners */
#include "launcher/start/accept.h"

#include <errno.h>

#include "common/log.h"
#include "launcher/hosts/cut-off-hosts.h"
#include "launcher/hosts/host-links.h"

/* A host's first link, or the connection of one that gets no answer from the host above. */
static int arrived(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct arrivals *a = arg;
    struct host *h = host_at(a->hosts, host_id);
    if (!h)
        return error_set(why, EINVAL, "there is no host %u in this step", host_id);
    if (cut_off_host_arrived(h, l))
        return 0;
    if (h->link || h->state > AGENT_STARTED)
        return error_set(why, EBUSY, "host %u ('%s') is taken already", host_id, h->name);
    host_set_link(h, l);
    link_set_events(l, a->links, h);
    return 0;
}

/* The first few one by one, then when there are ten times as many: nobody can fill a log. */
static void refused(void *arg, const char *peer, const struct error *why)
{
    struct arrivals *a = arg;
    if (why->code == 0) { /* closed */
        log_debug("a peer (%s) went away without a proof of the step's key, as a host does with "
                  "those of its tries that another one has overtaken",
                  peer);
        return;
    }
    a->nrefused++;
    uint64_t power = 10;
    while (power < a->nrefused)
        power *= 10;
    if (a->nrefused <= 3)
        log_warn("refused a peer (%s): %s", peer, why->text);
    else if (a->nrefused == power)
        log_warn("refused %llu peers so far, the last one (%s): %s",
                 (unsigned long long)a->nrefused, peer, why->text);
}

static struct link *returns(void *arg, uint32_t host_id)
{
    const struct host *h = host_at(((struct arrivals *)arg)->hosts, host_id);
    return h ? h->link : NULL;
}

const struct listen_events arrival_events = {
    .arrived = arrived, .returns = returns, .refused = refused};
