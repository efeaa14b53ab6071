/* SPDX-License-Identifier: BSD-3-Clause */
/* host-lost-mprun.c - this host cannot reach mprun any more: its ranks end, and it cleans up */
#include <stdio.h>

#include "common/log.h"
#include "model/rank-end.h"
#include "starter/host.h"
#include "starter/tunables.h"

void host_lost_mprun(void *arg, const struct error *why, bool mprun_has_gone, double grace)
{
    struct host *h = arg;
    char text[1200];
    if (!h->uplink.link) {
        step_end_kill(&h->end, grace, why->text);
        return;
    }
    log_set_sink(NULL, NULL);
    if (h->state == HOST_STARTING)
        snprintf(text, sizeof(text), "on %s: no link to mprun: %s", h->with.hostname, why->text);
    else
        snprintf(text, sizeof(text), "on %s: the link to mprun is gone (%s); %s", h->with.hostname,
                 why->text, h->state < HOST_REPORTED ? "ending its ranks" : "its ranks have ended");
    log_error("%s", text);
    uplink_cut(&h->uplink, mprun_has_gone);
    child_hosts_cut(&h->tree.children);
    rank_io_set_link(&h->io, NULL);
    h->end.exit_code = EXIT_CODE_MPRUN;
    step_end_kill(&h->end, grace, text);
    if (h->state == HOST_CLEANED)
        loop_stop(h->with.loop);
}

/* A manager that ends a job may kill mprun with the job's script, while ranks save their state. */
void host_lost_link(void *arg, const struct error *why)
{
    struct host *h = arg;
    double grace = h->end.is_managers ? h->end.grace : LOST_MPRUN_GRACE_SECONDS;
    host_lost_mprun(h, why, !h->tree.has_parent, grace);
}
