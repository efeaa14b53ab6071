/* SPDX-License-Identifier: BSD-3-Clause */
/* launcher-messages.c - see launcher-messages.h */
#include "starter/launcher-messages.h"

#include <signal.h>
#include <stdio.h>

#include "common/fault.h"
#include "common/loop.h"
#include "model/rank-end.h"
#include "starter/host-private.h"
#include "starter/io/rank-io.h"
#include "starter/pmi/pmi-server.h"
#include "starter/preload/preload.h"
#include "starter/ranks/ranks.h"
#include "starter/errands/errands.h"
#include "starter/step-end.h"
#include "starter/usage/usage-now.h"
#include "wire/link/heartbeat.h"
#include "wire/messages/values.h"

static int take_place(struct host *h, const uint8_t *p, size_t n)
{
    if (h->state == HOST_STARTING)
        h->state = HOST_CONNECTED;
    fault_point("connected");
    return tree_place_take(&h->tree, p, n);
}

static int take_offer(struct host *h, const uint8_t *p, size_t n)
{
    if (step_end_has_begun(h->end))
        return 0;
    if (h->preload || h->state != HOST_CONNECTED)
        return -1;
    h->preload = preload_create(&h->with, &h->tree.children, p, n);
    return h->preload ? 0 : -1;
}

static void take_launch(struct host *h, const uint8_t *p, size_t n)
{
    struct error e;
    if (h->has_launch || step_end_has_begun(h->end))
        return;
    if (launch_unpack(p, n, h->uplink.start.host_id, &h->launch, &e) < 0) {
        step_end_cannot_run(h->end, EXIT_CODE_MPRUN, e.text);
        return;
    }
    step_end_set_grace(h->end, h->launch.step.kill_grace);
    h->tree.children.launch = &h->launch;
    host_prepare(h);
}

static int take_kill(struct host *h, const uint8_t *p, size_t n)
{
    Mprun__Kill *m = mprun__kill__unpack(NULL, n, p);
    int readable = m ? 0 : -1;
    if (m)
        step_end_kill(h->end, seconds_unpack(m->grace), m->reason);
    mprun__kill__free_unpacked(m, NULL);
    return readable;
}

/* A stopped step starts no more ranks either. The PMI server has to go on serving this process,
 * although a manager may have stopped it. */
static void signal_ranks(struct host *h, int signo)
{
    if (signo == SIGSTOP && !step_end_has_begun(h->end)) {
        h->is_stopped = true;
        if (h->pmi && h->pmi->pid > 1)
            kill(h->pmi->pid, SIGCONT);
    } else if (signo == SIGCONT) {
        h->is_stopped = false;
    }
    ranks_signal(h->ranks, signo);
}

static int take_signal(struct host *h, const uint8_t *p, size_t n)
{
    Mprun__Signal *m = mprun__signal__unpack(NULL, n, p);
    int readable = m ? 0 : -1;
    bool has_come = m && m->manager && h->launcher; /* from the manager itself, on this machine */
    if (m && m->signo > 0 && m->signo < NSIG && !has_come)
        signal_ranks(h, m->signo == SIGTSTP ? SIGSTOP : (int)m->signo);
    mprun__signal__free_unpacked(m, NULL);
    return readable;
}

static int take_window(struct host *h, const uint8_t *p, size_t n)
{
    Mprun__Window *m = mprun__window__unpack(NULL, n, p);
    if (!m)
        return -1;
    struct tty_size size = window_unpack(m);
    if (h->io)
        rank_io_resize(h->io, &size);
    mprun__window__free_unpacked(m, NULL);
    return 0;
}

static int take_output_credit(struct host *h, const uint8_t *p, size_t n)
{
    Mprun__OutputCredit *m = mprun__output_credit__unpack(NULL, n, p);
    int readable = m ? 0 : -1;
    if (m && h->io)
        rank_io_output_credit(h->io, m->stream, m->bytes);
    mprun__output_credit__free_unpacked(m, NULL);
    return readable;
}

static int take_output_closed(struct host *h, const uint8_t *p, size_t n)
{
    Mprun__OutputClosed *m = mprun__output_closed__unpack(NULL, n, p);
    int readable = m ? 0 : -1;
    if (m && h->io)
        rank_io_output_closed(h->io, m->stream);
    mprun__output_closed__free_unpacked(m, NULL);
    return readable;
}

static void take_input(struct host *h, const uint8_t *p, size_t n)
{
    struct bulk_header header;
    struct error e;
    if (!h->io)
        return;
    if (bulk_header_unpack(p, n, &header, &e) < 0 ||
        rank_io_input(h->io, header.name, p + BULK_HEADER, n - BULK_HEADER, &e) < 0)
        step_end_cannot_run(h->end, EXIT_CODE_MPRUN, e.text);
}

static int take_present_ask(struct host *h, const uint8_t *p, size_t n)
{
    const struct current_usage c = {
        .ranks = h->ranks,
        .containment = &h->containment,
        .others = h->with.others,
        .pmi_server = h->pmi ? h->pmi->pid : 0,
    };
    return current_usage_answer(&h->uplink, &c, p, n);
}

static void all_released(void *arg)
{
    struct host *h = arg;
    step_end_set_exit_code(h->end, 0);
    loop_stop(h->with.loop);
}

static int take_frame(struct host *h, struct link *l, enum frame_type type, const uint8_t *p,
                      size_t n)
{
    switch (type) {
    case FRAME_PLACE:
        return take_place(h, p, n);
    case FRAME_PRELOAD_OFFER:
        return take_offer(h, p, n);
    case FRAME_LAUNCH:
        take_launch(h, p, n);
        return 0;
    case FRAME_KILL:
        return take_kill(h, p, n);
    case FRAME_SIGNAL:
        return take_signal(h, p, n);
    case FRAME_WINDOW:
        return take_window(h, p, n);
    case FRAME_PRESENT_ASK:
        return take_present_ask(h, p, n);
    case FRAME_OUTPUT_CREDIT:
        return take_output_credit(h, p, n);
    case FRAME_OUTPUT_CLOSED:
        return take_output_closed(h, p, n);
    case FRAME_INPUT:
        take_input(h, p, n);
        return 0;
    case FRAME_COLLECTED:
    case FRAME_MODEX_REQUEST:
    case FRAME_MODEX_REPLY:
        if (h->pmi)
            pmi_server_pass_down(h->pmi, type, p, n);
        return 0;
    case FRAME_ERRAND:
        return errands_take(h->errands, p, n);
    case FRAME_RELEASE:
        fault_point("released");
        if (h->state == HOST_CLEANED || h->state < HOST_PREPARING)
            child_hosts_await_end(&h->tree.children, all_released, h);
        return 0;
    case FRAME_PING:
        link_send_bytes(l, FRAME_PONG, NULL, 0);
        return 0;
    case FRAME_PONG:
        return heartbeat_answered(h->tree.heartbeat, 0);
    default:
        return -1;
    }
}

void launcher_messages_take(void *arg, struct link *l, enum frame_type type, const uint8_t *p,
                            size_t n)
{
    struct host *h = arg;
    char text[400];
    heartbeat_heard(h->tree.heartbeat, 0);
    if (type == FRAME_PRELOAD_DATA) { /* goes only to children that want it */
        preload_data(h->preload, p, n);
        return;
    }
    if (!tree_place_pass_down(&h->tree, link_frame_host(l), type, p, n))
        return;
    if (take_frame(h, l, type, p, n) < 0) {
        snprintf(text, sizeof(text), "on %s: protocol error: %s from mprun is not understood",
                 h->with.hostname, frame_type_text(type));
        step_end_cannot_run(h->end, EXIT_CODE_MPRUN, text);
    }
    loop_defer_schedule(&h->turn);
}
