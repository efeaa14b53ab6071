/* SPDX-License-Identifier: BSD-3-Clause */
/* launcher-messages.c - what each message of mprun does on this host (doc/wire.md lists them) */
#include <signal.h>
#include <stdio.h>

#include "common/fault.h"
#include "model/rank-end.h"
#include "starter/host.h"
#include "starter/pmi/pmi-server.h"
#include "starter/usage/usage-reports.h"
#include "wire/link/heartbeat.h"
#include "wire/messages/frame.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"

static int take_place(void *host, void *message)
{
    struct host *h = host;
    if (h->state == HOST_STARTING)
        h->state = HOST_CONNECTED;
    fault_point("connected");
    return tree_place_take(&h->tree, message);
}

static int take_offer(void *host, const uint8_t *p, size_t n)
{
    struct host *h = host;
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

static int take_world_kill(void *host, void *message)
{
    struct host *h = host;
    const Mprun__WorldKill *m = message;
    if (m->world == 0)
        ranks_kill_all(&h->ranks);
    else
        spawned_worlds_kill(&h->spawned, m->world);
    return 0;
}

static int take_world_end(void *host, const uint8_t *p, size_t n)
{
    struct host *h = host;
    Mprun__WorldEnd *m = mprun__world_end__unpack(NULL, n, p);
    if (!m)
        return -1;
    if (m->world == 0)
        h->is_over = true;
    else
        spawned_worlds_end(&h->spawned, m->world);
    if (m->world && h->with.pmi)
        pmi_server_pass_down(h->with.pmi, FRAME_WORLD_END, p, n);
    mprun__world_end__free_unpacked(m, NULL);
    return 0;
}

static int take_launch(void *host, const uint8_t *p, size_t n)
{
    struct host *h = host;
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

static int take_kill(void *host, void *message)
{
    struct host *h = host;
    const Mprun__Kill *m = message;
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

static int take_signal(void *host, void *message)
{
    struct host *h = host;
    const Mprun__Signal *m = message;
    bool has_come = m->manager && h->launcher; /* from the manager itself, on this machine */
    for (size_t i = 0; m->signo < NSIG && i < m->n_ranks; i++)
        ranks_signal_some(&h->ranks, rank_name_unpack(m->ranks[i]), (int)m->signo, m->ends);
    if (m->n_ranks)
        return 0;
    if (m->signo > 0 && m->signo < NSIG && !has_come)
        signal_ranks(h, m->signo == SIGTSTP ? SIGSTOP : (int)m->signo);
    return 0;
}

static int take_window(void *host, void *message)
{
    struct tty_size size = window_unpack(message);
    rank_io_resize(&((struct host *)host)->io, &size);
    return 0;
}

static int take_output_credit(void *host, void *message)
{
    const Mprun__OutputCredit *m = message;
    rank_io_output_credit(&((struct host *)host)->io, m->stream, m->bytes);
    return 0;
}

static int take_output_closed(void *host, void *message)
{
    const Mprun__OutputClosed *m = message;
    rank_io_output_closed(&((struct host *)host)->io, m->stream);
    return 0;
}

static int take_input(void *host, const uint8_t *p, size_t n)
{
    struct host *h = host;
    struct bulk_header header;
    struct error e;
    if (bulk_header_unpack(p, n, &header, &e) < 0 ||
        rank_io_input(&h->io, header.name, p + BULK_HEADER, n - BULK_HEADER, &e) < 0)
        step_end_cannot_run(&h->end, EXIT_CODE_MPRUN, e.text);
    return 0;
}

static int take_present_ask(void *host, void *message)
{
    const Mprun__PresentAsk *m = message;
    struct host *h = host;
    if (m->amounts) {
        usage_amounts_send(&h->with, m->turn, m->amounts);
        sampled_limits_compare(&h->limits);
    } else {
        usage_present_send(&h->with, m->turn);
    }
    return 0;
}

static int take_kill_rank(void *host, void *message)
{
    const Mprun__KillRank *m = message;
    ranks_kill_for_limit(&((struct host *)host)->ranks, rank_name_unpack(m->name), m->text);
    return 0;
}

static int take_restart_rank(void *host, void *message)
{
    struct host *h = host;
    const Mprun__RestartRank *m = message;
    return ranks_restart(&h->ranks, rank_name_unpack(m->name));
}

static int take_stacks_ask(void *host, void *message)
{
    struct host *h = host;
    const Mprun__StacksAsk *m = message;
    stack_traces_ask(&h->traces, m->turn);
    return 0;
}

static int take_debug_daemon(void *host, void *message)
{
    struct host *h = host;
    return h->has_launch ? debug_daemon_start(&h->daemon, message) : -1;
}

static int take_errand(void *host, void *message)
{
    return errands_take(&((struct host *)host)->errands, message);
}

static void all_released(void *arg)
{
    struct host *h = arg;
    h->end.exit_code = 0;
    loop_stop(h->with.loop);
}

static int take_release(void *host, const uint8_t *p, size_t n)
{
    struct host *h = host;
    fault_point("released");
    if (h->state == HOST_CLEANED || h->state < HOST_PREPARING)
        child_hosts_await_end(&h->tree.children, all_released, h);
    return 0;
}

static int take_pong(void *host, const uint8_t *p, size_t n)
{
    return heartbeat_answered(((struct host *)host)->tree.heartbeat, 0);
}

static const struct frame_handler handlers[FRAME_TYPE_COUNT] = {
    [FRAME_PLACE] = {.message = &mprun__place__descriptor, .take = take_place},
    [FRAME_PRELOAD_OFFER] = {.take_bytes = take_offer},
    [FRAME_LAUNCH] = {.take_bytes = take_launch},
    [FRAME_WORLD_KILL] = {.message = &mprun__world_kill__descriptor, .take = take_world_kill},
    [FRAME_WORLD_END] = {.take_bytes = take_world_end},
    [FRAME_KILL] = {.message = &mprun__kill__descriptor, .take = take_kill},
    [FRAME_SIGNAL] = {.message = &mprun__signal__descriptor, .take = take_signal},
    [FRAME_WINDOW] = {.message = &mprun__window__descriptor, .take = take_window},
    [FRAME_PRESENT_ASK] = {.message = &mprun__present_ask__descriptor, .take = take_present_ask},
    [FRAME_KILL_RANK] = {.message = &mprun__kill_rank__descriptor, .take = take_kill_rank},
    [FRAME_RESTART_RANK] = {.message = &mprun__restart_rank__descriptor, .take = take_restart_rank},
    [FRAME_STACKS_ASK] = {.message = &mprun__stacks_ask__descriptor, .take = take_stacks_ask},
    [FRAME_DEBUG_DAEMON] = {.message = &mprun__debug_daemon__descriptor, .take = take_debug_daemon},
    [FRAME_OUTPUT_CREDIT] = {.message = &mprun__output_credit__descriptor,
                             .take = take_output_credit},
    [FRAME_OUTPUT_CLOSED] = {.message = &mprun__output_closed__descriptor,
                             .take = take_output_closed},
    [FRAME_INPUT] = {.take_bytes = take_input},
    [FRAME_ERRAND] = {.message = &mprun__errand__descriptor, .take = take_errand},
    [FRAME_RELEASE] = {.take_bytes = take_release},
    [FRAME_PONG] = {.take_bytes = take_pong},
};

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
    default:
        return frame_handle(&handlers[type], h, p, n);
    }
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
