/* SPDX-License-Identifier: BSD-3-Clause */
/* launcher-messages.c - what each message of mprun does on this host (doc/wire.md lists them) */
#include <signal.h>
#include <stdio.h>

#include "common/processes/fault.h"
#include "model/rank-end.h"
#include "starter/host.h"
#include "starter/pmi/pmi-server.h"
#include "starter/usage/usage-reports.h"
#include "wire/link/heartbeat.h"
#include "wire/messages/frame.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"

static int take_place(struct host *h, const Mprun__Place *m)
{
    if (h->state == HOST_STARTING)
        h->state = HOST_CONNECTED;
    fault_point("connected");
    return tree_place_take(&h->tree, m);
}

static int take_offer(struct host *h, const uint8_t *p, size_t n)
{
    if (h->end.has_begun)
        return 0;
    if (h->state < HOST_CONNECTED)
        return -1;
    return preload_take_offer(&h->preload, &h->with, &h->tree.children, p, n);
}

static int launch_more(struct host *h, const uint8_t *p, size_t n)
{
    if (h->is_over)
        return -1;
    spawned_worlds_launch(&h->spawned, p, n, h->uplink.start.host_id);
    return 0;
}

static int take_world_kill(struct host *h, const Mprun__WorldKill *m)
{
    if (m->world == 0)
        ranks_kill_all(&h->ranks);
    else
        spawned_worlds_kill(&h->spawned, m->world);
    return 0;
}

static int take_world_end(struct host *h, const uint8_t *p, size_t n)
{
    Mprun__WorldEnd *m = mprun__world_end__unpack(NULL, n, p);
    if (!m)
        return -1;
    if (m->world == 0)
        h->is_over = true;
    else
        spawned_worlds_end(&h->spawned, m->world);
    if (m->world)
        child_hosts_forget_world(&h->tree.children, m->world);
    if (m->world && h->with.pmi)
        pmi_server_pass_down(h->with.pmi, FRAME_WORLD_END, p, n);
    mprun__world_end__free_unpacked(m, NULL);
    return 0;
}

static int take_launch(struct host *h, const uint8_t *p, size_t n)
{
    struct error e;
    if (h->end.has_begun)
        return 0;
    if (h->has_launch)
        return launch_more(h, p, n);
    if (launch_unpack(p, n, h->uplink.start.host_id, &h->launch, &e) < 0) {
        step_end_cannot_run(&h->end, EXIT_CODE_MPRUN, e.text);
        return 0;
    }
    h->end.grace = h->launch.step.kill_grace;
    host_prepare(h);
    return 0;
}

static int take_kill(struct host *h, const Mprun__Kill *m)
{
    step_end_kill(&h->end, seconds_unpack(m->grace), m->reason);
    return 0;
}

/* A stopped step starts no more ranks. A manager may have stopped mppmi, too; mppmi has to go on
 * serving this process. */
static void signal_ranks(struct host *h, int signo)
{
    if (signo == SIGSTOP && !h->end.has_begun) {
        h->is_stopped = true;
        if (h->with.pmi && h->with.pmi->pid > 1)
            kill(h->with.pmi->pid, SIGCONT);
        ranks_suspend(&h->ranks);
    } else if (signo == SIGCONT) {
        h->is_stopped = false;
        ranks_resume(&h->ranks);
    } else {
        ranks_signal(&h->ranks, signo);
    }
}

static int take_signal(struct host *h, const Mprun__Signal *m)
{
    bool has_come = m->manager && h->launcher; /* from the manager itself, on this machine */
    for (size_t i = 0; m->signo < NSIG && i < m->n_ranks; i++)
        ranks_signal_some(&h->ranks, rank_name_unpack(m->ranks[i]), (int)m->signo, m->ends);
    if (m->n_ranks)
        return 0;
    if (m->signo > 0 && m->signo < NSIG && !has_come)
        signal_ranks(h, m->signo == SIGTSTP ? SIGSTOP : (int)m->signo);
    return 0;
}

static int take_window(struct host *h, const Mprun__Window *m)
{
    struct tty_size size = window_unpack(m);
    rank_io_resize(&h->io, &size);
    return 0;
}

static int take_output_credit(struct host *h, const Mprun__OutputCredit *m)
{
    rank_io_output_credit(&h->io, m->stream, m->bytes);
    return 0;
}

static int take_output_closed(struct host *h, const Mprun__OutputClosed *m)
{
    rank_io_output_closed(&h->io, m->stream);
    return 0;
}

static int take_input(struct host *h, const uint8_t *p, size_t n)
{
    struct bulk_header header;
    struct error e;
    if (bulk_header_unpack(p, n, &header, &e) < 0 ||
        rank_io_input(&h->io, header.name, p + BULK_HEADER, n - BULK_HEADER, &e) < 0)
        step_end_cannot_run(&h->end, EXIT_CODE_MPRUN, e.text);
    return 0;
}

/* A host that is ending already has not taken LAUNCH, and has no ranks. */
static int take_present_ask(struct host *h, const Mprun__PresentAsk *m)
{
    if (!h->has_launch)
        return 0;
    if (m->amounts) {
        usage_amounts_send(&h->with, m->turn, m->amounts);
        sampled_limits_compare(&h->limits);
    } else {
        usage_present_send(&h->with, m);
    }
    return 0;
}

static int take_kill_rank(struct host *h, const Mprun__KillRank *m)
{
    ranks_kill_for_limit(&h->ranks, rank_name_unpack(m->name), m->text);
    return 0;
}

static int take_restart_rank(struct host *h, const Mprun__RestartRank *m)
{
    return ranks_restart(&h->ranks, rank_name_unpack(m->name));
}

static int take_stacks_ask(struct host *h, const Mprun__StacksAsk *m)
{
    stack_traces_ask(&h->traces, m->turn);
    return 0;
}

static int take_debug_daemon(struct host *h, const Mprun__DebugDaemon *m)
{
    return h->has_launch ? debug_daemon_start(&h->daemon, m) : -1;
}

static void all_released(void *arg)
{
    struct host *h = arg;
    h->end.exit_code = 0;
    loop_stop(h->with.loop);
}

static int take_release(struct host *h)
{
    fault_point("released");
    if (h->state == HOST_CLEANED || h->state < HOST_PREPARING)
        child_hosts_await_end(&h->tree.children, all_released, h);
    return 0;
}

/* Takes a message of mprun; m: the type's message, unpacked. Returns -1 for a message that is not
 * valid, or not now. */
static int take_message(void *to, enum frame_type type, void *m)
{
    struct host *h = to;
    switch (type) {
    case FRAME_PLACE:
        return take_place(h, m);
    case FRAME_WORLD_KILL:
        return take_world_kill(h, m);
    case FRAME_KILL:
        return take_kill(h, m);
    case FRAME_SIGNAL:
        return take_signal(h, m);
    case FRAME_WINDOW:
        return take_window(h, m);
    case FRAME_PRESENT_ASK:
        return take_present_ask(h, m);
    case FRAME_KILL_RANK:
        return take_kill_rank(h, m);
    case FRAME_RESTART_RANK:
        return take_restart_rank(h, m);
    case FRAME_STACKS_ASK:
        return take_stacks_ask(h, m);
    case FRAME_DEBUG_DAEMON:
        return take_debug_daemon(h, m);
    case FRAME_OUTPUT_CREDIT:
        return take_output_credit(h, m);
    case FRAME_OUTPUT_CLOSED:
        return take_output_closed(h, m);
    case FRAME_ERRAND:
        return errands_take(&h->errands, m);
    default:
        return -1;
    }
}

static int take_frame(struct host *h, struct link *l, enum frame_type type, const uint8_t *p,
                      size_t n)
{
    switch (type) {
    case FRAME_COLLECTED:
    case FRAME_MODEX_REQUEST:
    case FRAME_MODEX_REPLY:
    case FRAME_NAME_REPLY:
    case FRAME_SPAWNED:
    case FRAME_PMI_EVENT:
    case FRAME_PMI_WORLD: /* of another step */
    case FRAME_INPUT_PUSHED:
    case FRAME_RANK_TABLE:
    case FRAME_HOSTS_USAGE:
    case FRAME_OUTPUT: /* for tools */
        if (h->with.pmi)
            pmi_server_pass_down(h->with.pmi, type, p, n);
        return 0;
    case FRAME_PING:
        link_send_bytes(l, FRAME_PONG, NULL, 0);
        return 0;
    case FRAME_PONG:
        return heartbeat_answered(h->tree.heartbeat, 0);
    case FRAME_PRELOAD_OFFER:
        return take_offer(h, p, n);
    case FRAME_LAUNCH:
        return take_launch(h, p, n);
    case FRAME_WORLD_END:
        return take_world_end(h, p, n);
    case FRAME_INPUT:
        return take_input(h, p, n);
    case FRAME_RELEASE:
        return take_release(h);
    default:
        break;
    }
    return frame_take(type, p, n, take_message, h);
}

void launcher_messages_take(void *arg, struct link *l, enum frame_type type, const uint8_t *p,
                            size_t n)
{
    struct host *h = arg;
    char text[400];
    heartbeat_heard(h->tree.heartbeat, 0);
    if (type == FRAME_PRELOAD_DATA) { /* goes only to children that want it */
        preload_data(&h->preload, p, n);
        return;
    }
    if (!tree_place_pass_down(&h->tree, link_frame_host(l), type, p, n))
        return;
    if (take_frame(h, l, type, p, n) < 0) {
        snprintf(text, sizeof(text), "on %s: protocol error: %s from mprun is not understood",
                 h->with.hostname, frame_type_text(type));
        step_end_cannot_run(&h->end, EXIT_CODE_MPRUN, text);
    }
    loop_defer_schedule(&h->turn);
}
