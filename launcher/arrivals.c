/* SPDX-License-Identifier: BSD-3-Clause */
/* arrivals.c - who comes in at the launcher's doors: whose host it is, and who is refused */
#include <errno.h>
#include <stdint.h>

#include "common/log.h"
#include "launcher/run.h"

/* A host's first link, or the connection of one that gets no answer from the host above. */
static int claim(struct run *r, struct link *l, uint32_t host_id, struct error *why)
{
    if (host_id >= r->nused)
        return error_set(why, EINVAL, "there is no host %u in this step", host_id);
    struct host *h = r->launched[host_id];
    if (orphan_arrived(h, l))
        return 0;
    if (h->link || h->state > AGENT_STARTED)
        return error_set(why, EBUSY, "host %u ('%s') is taken already", host_id, h->name);
    h->link = l;
    link_set_events(l, &host_link_events, h);
    return 0;
}

static int arrived(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    return claim(arg, l, host_id, why);
}

/* The first few one by one, then when there are ten times as many: nobody can fill a log. */
static void refused(void *arg, const char *peer, const struct error *why)
{
    struct run *r = arg;
    if (why->code == 0) { /* closed */
        log_debug("a peer (%s) went away without a proof of the step's key, as a host does with "
                  "those of its tries that another one has overtaken",
                  peer);
        return;
    }
    r->nrefused++;
    uint64_t power = 10;
    while (power < r->nrefused)
        power *= 10;
    if (r->nrefused <= 3)
        log_warn("refused a peer (%s): %s", peer, why->text);
    else if (r->nrefused == power)
        log_warn("refused %llu peers so far, the last one (%s): %s",
                 (unsigned long long)r->nrefused, peer, why->text);
}

static struct link *returns(void *arg, uint32_t host_id)
{
    struct run *r = arg;
    return host_id < r->nused ? r->launched[host_id]->link : NULL;
}

const struct listen_events arrival_events = {
    .arrived = arrived, .returns = returns, .refused = refused};
