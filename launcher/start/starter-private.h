/* SPDX-License-Identifier: BSD-3-Clause */
/* starter-private.h - the starter of each host, for the files of start/ alone */
#pragma once

#include <stdbool.h>

#include "launcher/hosts/host-links.h"
#include "launcher/hosts/host-table.h"
#include "launcher/outcome/verdict.h"
#include "launcher/start/accept.h"
#include "launcher/start/client-channel.h"
#include "launcher/start/client-stderr.h"
#include "launcher/start/start-remarks.h"
#include "launcher/start/starters.h"
#include "model/rank-end.h"
#include "wire/start-channel/preamble.h"

/* The starter of a host that has ranks. starter.c, starter-life.c and start-channel-protocol.c
 * change it.
 */
struct starter {
    struct starters *all;
    struct host *host;
    struct client_channel *channel; /* NULL: another host runs the client, or it has not begun */
    struct client_stderr *said; /* NULL: its standard error is mprun's own, or it has not begun */
    pid_t client_pid;           /* 0: another host runs it */
    bool client_runs;           /* or another mprun has been asked for one */
    bool client_is_starter;     /* mpstarter itself: what it leaves comes to mprun */
    bool worker_over;           /* only its link may still tell of it */
    bool is_direct; /* mprun starts it, although the host above might (start-through-hosts.c) */
};

struct starters {
    struct starters_step step;
    const struct step_plan *plan; /* the step's */
    struct starter *of;           /* by launch_index */
    struct starting *starting;    /* the adapter's; NULL: nothing has begun */
    struct grants *grants;
    struct arrivals arrivals;
    struct listeners *listeners;
    struct sweep *sweep;
    struct start_timeout *timeout;
    struct start_remarks remarks;
    struct loop_timer unreachable; /* end-unreachable-clients.c */
    size_t nreported;              /* hosts whose HELLO has come */
    bool unsettled; /* a client or a link has ended: of which hosts is nothing left? */
    /* by-other-starters/ */
    struct errands *errands;
    struct other_steps *other_steps;
    struct guest *guests; /* serve-other-steps.c */
    bool starts_through;  /* hosts start those below them */
};

static inline struct starter *starter_of(const struct starters *s, const struct host *h)
{
    return &s->of[h->launch_index];
}

/* ---- starter.c: what is done with one -------------------------------------------------------- */

/* pid 0: another host, or another mprun, runs the client. */
void starter_client_begins(struct starter *st, pid_t pid, bool is_starter);
void starter_client_ends(struct starter *st);
/* Nothing of a start that failed is left; there is to be another one. */
void starter_forget(struct starter *st);
/* mprun starts it, now and again. */
void starter_retry(struct starter *st);
/* By its own link, or through the host above it. */
bool starter_is_linked(const struct starter *st);
/* Packs what it is told on its start channel. Returns the length in ret, or -1 with err. */
int starter_preamble(const struct starter *st, uint32_t more_flags, uint8_t ret[PREAMBLE_MAX],
                     struct error *err);

/* ---- start-channel-protocol.c
 * ----------------------------------------------------------------------- */

/* Its client has begun on this channel: mpstarter is told what it has to know. */
void start_handshake_begin(struct starter *st, const struct start_channel *c);

/* ---- why-client-ended.c
 * ---------------------------------------------------------------------------- */

/* Its client ended before its host was clean, with this status as from waitpid(): the step fails
 * for that reason, or, where mprun itself is the reason, only --verbose says so. */
void client_end_say(struct starter *st, int status);

/* ---- starter-life.c -------------------------------------------------------------------------- */

/* For the adapter; arg is the starters. */
void starter_life_event(void *arg, size_t host, enum start_event event,
                        const struct start_channel *channel, int status, const struct error *err);
/* The client that another host has run has ended; status as from waitpid(). */
void starter_life_client_ended(struct starter *st, int status);
/* The host that runs its client has gone: only its own link may still tell of this one. */
void starter_life_client_unknown(struct starter *st);
/* The host becomes AGENT_GONE if neither client nor link is left. */
void starter_life_settle(struct starter *st);

/* ---- end-unreachable-clients.c
 * --------------------------------------------------------------------------- */

/* End the start clients of all hosts that are out of reach after so many seconds, or, where the
 * adapter ends none, stop waiting for them. Does nothing when that is due already. */
void unreachable_abandon_after(struct starters *s, double seconds);
