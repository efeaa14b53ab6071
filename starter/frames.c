/* SPDX-License-Identifier: BSD-3-Clause */
/* frames.c - see frames.h */
#include "starter/frames.h"

#include <signal.h>
#include <stdio.h>

#include "common/fault.h"
#include "starter/errands.h"
#include "starter/orphan.h"
#include "starter/pmi-link.h"
#include "starter/preload.h"
#include "starter/present.h"
#include "starter/tree.h"
#include "starter/worker.h"

static void take_launch(struct worker *w, const uint8_t *p, size_t n)
{
    struct error e;
    if (w->have_launch || ending_begun(w))
        return;
    if (launch_unpack(p, n, w->start.host_id, &w->launch, &e) < 0) {
        worker_cannot_run(w, EXIT_CODE_MPRUN, e.text);
        return;
    }
    host_machine_launch(w);
}

static int take_place(struct worker *w, const uint8_t *p, size_t n)
{
    if (w->state == HOST_STARTING)
        w->state = HOST_CONNECTED;
    fault_point("connected");
    return tree_take_place(w, p, n);
}

static void all_released(struct worker *w)
{
    worker_exit(w, 0);
}

static int take_kill(struct worker *w, const uint8_t *p, size_t n)
{
    Mprun__Kill *m = mprun__kill__unpack(NULL, n, p);
    int readable = m ? 0 : -1;
    if (m)
        ending_kill(w, seconds_unpack(m->grace), m->reason);
    mprun__kill__free_unpacked(m, NULL);
    return readable;
}

/* Those that are to be started wait as well. The PMI server, which serves this process, may have
 * been stopped by a manager. */
static void signal_ranks(struct worker *w, int signo)
{
    if (signo == SIGSTOP && !ending_begun(w)) {
        w->stopped = 1;
        if (w->pmi && pmi_link_pid(w->pmi) > 1)
            kill(pmi_link_pid(w->pmi), SIGCONT);
    } else if (signo == SIGCONT) {
        w->stopped = 0;
    }
    ending_signal(w, signo);
}

static int take_signal(struct worker *w, const uint8_t *p, size_t n)
{
    Mprun__Signal *m = mprun__signal__unpack(NULL, n, p);
    int readable = m ? 0 : -1;
    int have_it = m && m->manager && w->launcher;
    if (m && m->signo > 0 && m->signo < NSIG && !have_it)
        signal_ranks(w, m->signo == SIGTSTP ? SIGSTOP : (int)m->signo);
    mprun__signal__free_unpacked(m, NULL);
    return readable;
}

static int take_window(struct worker *w, const uint8_t *p, size_t n)
{
    Mprun__Window *m = mprun__window__unpack(NULL, n, p);
    if (!m)
        return -1;
    struct tty_size size = window_unpack(m);
    if (w->io)
        rank_io_resize(w->io, &size);
    mprun__window__free_unpacked(m, NULL);
    return 0;
}

static int take_output_credit(struct worker *w, const uint8_t *p, size_t n)
{
    Mprun__OutputCredit *m = mprun__output_credit__unpack(NULL, n, p);
    int readable = m ? 0 : -1;
    if (m && w->io)
        rank_io_output_credit(w->io, m->stream, m->bytes);
    mprun__output_credit__free_unpacked(m, NULL);
    return readable;
}

static int take_output_closed(struct worker *w, const uint8_t *p, size_t n)
{
    Mprun__OutputClosed *m = mprun__output_closed__unpack(NULL, n, p);
    int readable = m ? 0 : -1;
    if (m && w->io)
        rank_io_output_closed(w->io, m->stream);
    mprun__output_closed__free_unpacked(m, NULL);
    return readable;
}

static void take_input(struct worker *w, const uint8_t *p, size_t n)
{
    struct bulk_header h;
    struct error e;
    if (!w->io)
        return;
    if (bulk_header_unpack(p, n, &h, &e) < 0 ||
        rank_io_input(w->io, h.name, p + BULK_HEADER, n - BULK_HEADER, &e) < 0)
        worker_cannot_run(w, EXIT_CODE_MPRUN, e.text);
}

static int take_frame(struct worker *w, struct link *l, enum frame_type type, const uint8_t *p,
                      size_t n)
{
    switch (type) {
    case FRAME_PLACE:
        return take_place(w, p, n);
    case FRAME_PRELOAD_OFFER:
        return preload_offer(w, p, n);
    case FRAME_LAUNCH:
        take_launch(w, p, n);
        return 0;
    case FRAME_KILL:
        return take_kill(w, p, n);
    case FRAME_SIGNAL:
        return take_signal(w, p, n);
    case FRAME_WINDOW:
        return take_window(w, p, n);
    case FRAME_PRESENT_ASK:
        return present_asked(w, p, n);
    case FRAME_OUTPUT_CREDIT:
        return take_output_credit(w, p, n);
    case FRAME_OUTPUT_CLOSED:
        return take_output_closed(w, p, n);
    case FRAME_INPUT:
        take_input(w, p, n);
        return 0;
    case FRAME_COLLECTED:
    case FRAME_MODEX_REQUEST:
    case FRAME_MODEX_REPLY:
        if (w->pmi)
            pmi_link_pass_down(w->pmi, type, p, n);
        return 0;
    case FRAME_ERRAND:
        return errands_take(w, p, n);
    case FRAME_RELEASE:
        fault_point("released");
        if (w->state == HOST_CLEANED || w->state < HOST_PREPARING)
            tree_await_end(w, all_released);
        return 0;
    case FRAME_PING:
        link_send_bytes(l, FRAME_PONG, NULL, 0);
        return 0;
    case FRAME_PONG:
        return orphan_answered(w->orphan);
    default:
        return -1;
    }
}

void frames_take(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct worker *w = arg;
    char text[400];
    orphan_heard(w->orphan);
    if (type == FRAME_PRELOAD_DATA) { /* not everybody below wants it */
        preload_data(w, p, n);
        return;
    }
    if (!tree_pass_down(w, link_frame_host(l), type, p, n))
        return;
    if (take_frame(w, l, type, p, n) < 0) {
        snprintf(text, sizeof(text), "on %s: protocol error: %s from mprun is not understood",
                 w->hostname, frame_type_text(type));
        worker_cannot_run(w, EXIT_CODE_MPRUN, text);
    }
    loop_defer_schedule(w->step);
}
