/* SPDX-License-Identifier: BSD-3-Clause */
/* host.c - see host.h: makes the parts of a host, and connects their events */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cpus.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/loop.h"
#include "containment/step/tree.h"
#include "model/rank-end.h"
#include "starter/binding/rank-binding.h"
#include "starter/ending/cleanup.h"
#include "starter/ending/kill-ladder.h"
#include "starter/hello.h"
#include "starter/host-directories.h"
#include "starter/host-private.h"
#include "starter/io/rank-io.h"
#include "starter/launcher-messages.h"
#include "starter/pmi/pmi-server.h"
#include "starter/policy.h"
#include "starter/preload/preload.h"
#include "starter/ranks/ranks.h"
#include "starter/errands/errands.h"
#include "starter/step-end.h"

/* ---- HELLO ----------------------------------------------------------------------------------- */

static void say_hello(struct host *h)
{
    const pid_t self[] = {getpid(), h->with.keeper};
    if (h->uplink.start.flags & PREAMBLE_EXPLAIN)
        containment_probe(&h->containment, self, sizeof(self) / sizeof(self[0]));
    hello_send(&h->uplink, h->with.hostname, h->with.keeper, &h->allowed, &h->containment);
}

/* The node daemon has answered: which cores are the job's is known from here on. */
static void daemon_answered(void *arg)
{
    struct host *h = arg;
    struct error e;
    if (cpus_allowed(&h->allowed, &e) < 0)
        log_warn("on %s: %s", h->with.hostname, e.text);
    if (h->hello_waits && h->uplink.link)
        say_hello(h);
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
        say_hello(h);
}

static void up_writable(void *arg)
{
    struct host *h = arg;
    if (h->io)
        rank_io_writable(h->io);
    loop_defer_schedule(&h->turn);
}

/* No host above can be reached any more: end the ranks, clean up and exit. */
static void give_up(void *arg, const struct error *why, bool mprun_has_gone, double grace)
{
    struct host *h = arg;
    char text[1200];
    if (!h->uplink.link) {
        step_end_kill(h->end, grace, why->text);
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
    if (h->io)
        rank_io_set_link(h->io, NULL);
    step_end_set_exit_code(h->end, EXIT_CODE_MPRUN);
    step_end_kill(h->end, grace, text);
    if (h->state == HOST_CLEANED)
        loop_stop(h->with.loop);
}

static void up_closed(void *arg, const struct error *why)
{
    struct host *h = arg;
    give_up(h, why, !h->tree.has_parent, LOST_MPRUN_GRACE_SECONDS);
}

static void child_preload(void *arg, unsigned place, enum frame_type type, const uint8_t *p,
                          size_t n)
{
    preload_from_child(((struct host *)arg)->preload, place, type, p, n);
}

/* ---- events of the PMI server ---------------------------------------------------------------- */

static void pmi_ready(void *arg)
{
    loop_defer_schedule(&((struct host *)arg)->turn);
}

static void pmi_client(void *arg, struct rank_name rank, bool has_connected)
{
    ranks_pmi_client(((struct host *)arg)->ranks, rank, has_connected);
}

static void pmi_rank_gone(void *arg, struct rank_name rank)
{
    ranks_pmi_gone(((struct host *)arg)->ranks, rank);
}

static void pmi_collect(void *arg, const uint8_t *p, size_t n)
{
    struct host *h = arg;
    if (!child_hosts_collect(&h->tree.children, p, n))
        uplink_send_bytes(&h->uplink, FRAME_COLLECT, p, n);
}

/* A step that is over does not fail because of its server. */
static void pmi_ended(void *arg, const char *why)
{
    struct host *h = arg;
    bool is_over = ranks_count(h->ranks) > 0 && ranks_have_ended(h->ranks) && !h->pmi->refuses;
    if (why && !is_over)
        step_end_cannot_run(h->end, EXIT_CODE_MPRUN, why);
    ranks_pmi_ended(h->ranks);
    loop_defer_schedule(&h->turn);
}

static int start_pmi_server(struct host *h, struct error *err)
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
    h->pmi = pmi_server_create(&h->with, &events, h, err);
    return h->pmi ? 0 : -1;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int make_links(struct host *h, struct preamble *start)
{
    static const struct uplink_events up_events = {
        .opened = up_opened,
        .frame = launcher_messages_take,
        .writable = up_writable,
        .closed = up_closed,
    };
    static const struct tree_place_events tree_events = {.parent_lost = give_up,
                                                         .child_preload = child_preload};
    h->with.up = &h->uplink;
    uplink_init(&h->uplink, &h->with, start, &up_events, h);
    h->end = step_end_create(&h->uplink, &h->turn, h->with.hostname);
    h->with.end = h->end;
    tree_place_init(&h->tree, &h->with, &tree_events, h);
    return h->end ? 0 : -1;
}

static int make_parts(struct host *h)
{
    h->containment.loop = h->with.loop;
    h->with.containment = &h->containment;
    h->cleanup = cleanup_create(h->with.loop, &h->turn, &h->containment);
    h->errands = errands_create(&h->with);
    return h->cleanup && h->errands ? 0 : -1;
}

struct host *host_create(const struct starter_services *setup, struct preamble *start,
                         struct error *err)
{
    struct host *h = calloc(1, sizeof(*h));
    if (h) {
        h->with = *setup;
        h->with.turn = &h->turn;
        loop_defer_init(&h->turn, setup->loop, host_machine_turn, h);
        host_directory_name(h->directory_name, start->key, start->host_id);
        if (start->flags & PREAMBLE_SUBREAPER)
            h->launcher = (pid_t)start->launcher;
    }
    if (!h || make_links(h, start) < 0 || make_parts(h) < 0)
        error_errno(err, ENOMEM, "prepare the starter");
    else if (cpus_allowed(&h->allowed, err) == 0)
        return h;
    host_destroy(h);
    return NULL;
}

static int make_ladder(struct host *h, struct error *err)
{
    h->ladder = rank_kill_ladder_create(&(struct rank_kill_ladder_setup){
        .loop = h->with.loop,
        .turn = &h->turn,
        .end = h->end,
        .containment = &h->containment,
        .pmi = h->pmi,
        .cleanup = h->cleanup,
        .hostname = h->with.hostname,
    });
    return h->ladder ? 0 : error_errno(err, ENOMEM, "prepare the starter");
}

/* The PMI server first of all: its start overlaps with everything else. */
int host_start(struct host *h, struct error *err)
{
    if (start_pmi_server(h, err) < 0 || make_ladder(h, err) < 0)
        return -1;
    containment_ask(&h->containment, daemon_answered, h); /* while mprun is being reached */
    fault_point("starting");
    return uplink_connect(&h->uplink, err);
}

void host_take_signal(struct host *h, int signo)
{
    char text[256];
    if (signo == SIGTERM || signo == SIGINT || signo == SIGHUP || signo == SIGQUIT) {
        snprintf(text, sizeof(text), "mpstarter on %s received SIG%s; ending its ranks",
                 h->with.hostname, sigabbrev_np(signo));
        step_end_cannot_run(h->end, EXIT_CODE_SIGNAL + signo, text);
    }
    loop_defer_schedule(&h->turn);
}

bool host_keeper_readable(struct host *h)
{
    int keeper = (int)h->with.keeper;
    char text[256];
    if (errands_keeper_readable(h->errands))
        return true;
    if (h->state >= HOST_ENDING) { /* this process removes all that was made */
        log_debug("on %s: mpstarter's keeper (pid %d) has died", h->with.hostname, keeper);
        return false;
    }
    snprintf(text, sizeof(text), "on %s: mpstarter's keeper (pid %d) has died; ending its ranks",
             h->with.hostname, keeper);
    step_end_cannot_run(h->end, EXIT_CODE_MPRUN, text);
    step_end_set_exit_code(h->end, EXIT_CODE_MPRUN);
    return false;
}

int host_finish(struct host *h)
{
    uplink_flush(&h->uplink);
    return step_end_exit_code(h->end);
}

void host_destroy(struct host *h)
{
    if (!h)
        return;
    log_set_sink(NULL, NULL);
    rank_kill_ladder_destroy(h->ladder);
    cleanup_destroy(h->cleanup);
    tree_place_close(&h->tree);
    rank_io_destroy(h->io);
    pmi_server_destroy(h->pmi);
    preload_destroy(h->preload);
    ranks_destroy(h->ranks);
    errands_destroy(h->errands);
    rank_binding_destroy(h->binding);
    host_directories_destroy(h->directories);
    cgroup_tree_destroy(h->containment.tree);
    step_end_destroy(h->end);
    uplink_close(&h->uplink);
    launch_free(&h->launch);
    idset_free(&h->allowed);
    loop_defer_stop(&h->turn);
    free(h);
}
