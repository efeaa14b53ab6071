/* SPDX-License-Identifier: BSD-3-Clause */
/* host-states.c - the states that a host goes through
 *
 * One function per state looks at what has happened and returns the next state, or the same one.
 * Events change facts (a rank has ended, the link is gone, mppmi is ready) and schedule a turn; no
 * event but LAUNCH changes the state itself. */
#include "common/processes/fault.h"
#include "common/log.h"
#include "starter/host.h"
#include "starter/pmi/pmi-server.h"
#include "starter/usage/usage-reports.h"

static const char *state_text(enum host_state s)
{
    static const char *const text[HOST_STATE_COUNT] = {
        [HOST_STARTING] = "starting",   [HOST_CONNECTED] = "connected",
        [HOST_PREPARING] = "preparing", [HOST_LAUNCHING] = "launching",
        [HOST_RUNNING] = "running",     [HOST_ENDING] = "ending",
        [HOST_REPORTED] = "reported",   [HOST_CLEANED] = "cleaned",
    };
    return text[s];
}

static enum host_state preparing(struct host *h)
{
    if (h->end.has_begun)
        return HOST_ENDING;
    if (!host_is_prepared(h))
        return HOST_PREPARING;
    host_prepare_finish(h);
    return HOST_LAUNCHING;
}

static enum host_state launching(struct host *h)
{
    if (h->is_stopped && !h->end.has_begun)
        return HOST_LAUNCHING;
    if (ranks_start_some(&h->ranks)) {
        loop_defer_schedule(&h->turn); /* the loop sees to everything else in between */
        return HOST_LAUNCHING;
    }
    return HOST_RUNNING;
}

/* A rank that is born in a frozen cgroup is frozen before its exec, for which this process would
 * wait for ever: nobody else thaws it. */
static enum host_state running(struct host *h)
{
    if (!h->is_stopped || h->end.has_begun) {
        spawned_worlds_turn(&h->spawned);
        ranks_start_again(&h->ranks);
    }
    bool may_end = h->is_over || h->end.has_begun;
    return may_end && ranks_have_ended(&h->ranks) ? HOST_ENDING : HOST_RUNNING;
}

static enum host_state ending(struct host *h)
{
    preload_stop(&h->preload);
    spawned_worlds_stop(&h->spawned);
    if (ranks_are_running(&h->ranks))
        return HOST_ENDING;
    if (!leftovers_end(&h->leftovers))
        return HOST_ENDING;
    if (h->with.pmi) {
        pmi_server_end(h->with.pmi);
        rank_kill_ladder_pmi_ends(&h->ladder);
    }
    if (h->uplink.link) {
        rank_io_abandon(&h->io);
        if (!rank_io_is_idle(&h->io))
            return HOST_ENDING;
    }
    if (h->with.pmi && h->with.pmi->pid)
        return HOST_ENDING;
    usage_report_send(&h->with);
    uplink_fault_point(&h->uplink, "reported");
    removal_begin(&h->removal);
    return HOST_REPORTED;
}

static enum host_state reported(struct host *h)
{
    if (!h->removal.is_done)
        return HOST_REPORTED;
    removal_report(&h->removal);
    uplink_flush(&h->uplink);
    host_directories_sweep(&h->directories);
    uplink_fault_point(&h->uplink, "cleaned");
    if (!h->uplink.link)
        loop_stop(h->with.loop);
    return HOST_CLEANED;
}

static enum host_state stay(struct host *h)
{
    if (h->state < HOST_PREPARING && h->end.has_begun)
        return HOST_ENDING;
    return h->state;
}

void host_machine_turn(void *arg)
{
    static enum host_state (*const due[HOST_STATE_COUNT])(struct host *) = {
        [HOST_STARTING] = stay,       [HOST_CONNECTED] = stay,  [HOST_PREPARING] = preparing,
        [HOST_LAUNCHING] = launching, [HOST_RUNNING] = running, [HOST_ENDING] = ending,
        [HOST_REPORTED] = reported,   [HOST_CLEANED] = stay,
    };
    struct host *h = arg;
    rank_kill_ladder_step(&h->ladder);
    for (;;) {
        enum host_state before = h->state, next = due[before](h);
        if (next == before || h->state != before)
            return;
        h->state = next;
        log_debug("host %s: %s", h->with.hostname, state_text(next));
        if (next == HOST_RUNNING)
            fault_point("running");
    }
}
