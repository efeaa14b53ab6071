/* SPDX-License-Identifier: BSD-3-Clause */
/* host-events.c - see host.h: events of the node daemon, the links and the PMI server */

#include "common/machine/cpus.h"
#include "common/log.h"
#include "starter/host.h"
#include "starter/pmi/pmi-server.h"
#include "wire/mprun.pb-c.h"
#include "wire/start-channel/preamble.h"

void host_daemon_answered(void *arg)
{
    struct host *h = arg;
    struct error e;
    if (cpus_allowed(&h->allowed, &e) < 0)
        log_warn("on %s: %s", h->with.hostname, e.text);
    if (h->hello_waits && h->uplink.link)
        host_say_hello(h);
    h->hello_waits = false;
}

/* ---- events of the links --------------------------------------------------------------------- */

static void log_to_launcher(void *arg, enum log_level level, const char *text)
{
    Mprun__Log m = MPRUN__LOG__INIT;
    m.level = level;
    m.text = (char *)(uintptr_t)text;
    uplink_send(arg, FRAME_LOG, &m.base);
}

static void up_opened(void *arg)
{
    struct host *h = arg;
    log_set_sink(log_to_launcher, &h->uplink);
    h->hello_waits = h->containment.is_asking;
    if (!h->hello_waits)
        host_say_hello(h);
}

static void up_writable(void *arg)
{
    struct host *h = arg;
    rank_io_writable(&h->io);
    loop_defer_schedule(&h->turn);
}

static void child_preload(void *arg, unsigned place, enum frame_type type, const uint8_t *p,
                          size_t n)
{
    preload_from_child(&((struct host *)arg)->preload, place, type, p, n);
}

const struct uplink_events host_uplink_events = {
    .opened = up_opened,
    .frame = launcher_messages_take,
    .writable = up_writable,
    .closed = host_lost_link,
};
const struct tree_place_events host_tree_events = {.parent_lost = host_lost_mprun,
                                                   .child_preload = child_preload};

/* ---- events of the PMI server ---------------------------------------------------------------- */

static void pmi_ready(void *arg, uint32_t world, char **env)
{
    struct host *h = arg;
    if (world == 0 && !h->with.pmi_env)
        h->with.pmi_env = env;
    else
        spawned_worlds_ready(&h->spawned, world, env);
    loop_defer_schedule(&h->turn);
}

static void pmi_client(void *arg, struct rank_name rank, bool has_connected)
{
    ranks_pmi_client(&((struct host *)arg)->ranks, rank, has_connected);
}

static void pmi_rank_gone(void *arg, struct rank_name rank)
{
    ranks_pmi_gone(&((struct host *)arg)->ranks, rank);
}

static void pmi_collect(void *arg, const uint8_t *p, size_t n)
{
    struct host *h = arg;
    if (!child_hosts_collect(&h->tree.children, p, n))
        uplink_send_bytes(&h->uplink, FRAME_COLLECT, p, n);
}

/* A step that is over does not fail because of its server. */
static void pmi_ended(void *arg, const char *why, int exit_code)
{
    struct host *h = arg;
    bool is_over = h->ranks.n > 0 && ranks_have_ended(&h->ranks) && !h->with.pmi->refuses;
    if (why && !is_over)
        step_end_cannot_run(&h->end, exit_code, why);
    ranks_pmi_ended(&h->ranks);
    loop_defer_schedule(&h->turn);
}

int host_start_pmi_server(struct host *h, struct error *err)
{
    static const struct pmi_server_events events = {
        .ready = pmi_ready,
        .client = pmi_client,
        .rank_gone = pmi_rank_gone,
        .collect = pmi_collect,
        .ended = pmi_ended,
    };
    if (!(h->uplink.start.flags & PREAMBLE_PMI))
        return 0;
    h->with.pmi = pmi_server_create(&h->with, &events, h, err);
    return h->with.pmi ? 0 : -1;
}
