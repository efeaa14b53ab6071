/* SPDX-License-Identifier: BSD-3-Clause */
/* starter-private.h - the starter of each host, for the files of start/ alone */
#pragma once

#include <stdbool.h>

#include "containment/job-cgroup/oom-kills.h"
#include "launcher/hosts/host-links.h"
#include "launcher/outcome/verdict.h"
#include "launcher/start/client-stderr.h"
#include "launcher/start/accept-hosts.h"
#include "launcher/start/agents.h"
#include "launcher/start/mprund-grants.h"
#include "launcher/start/starters.h"
#include "launcher/start/wait-cores.h"
#include "model/rank-end.h"
#include "wire/start-channel/preamble.h"

#include "config.h" /* PACKAGE_VERSION */

/* mprun's ends of a start channel: start-channel.c changes it. */
struct client_channel {
    int in_fd, out_fd; /* write end of stdin, read end of stdout; -1: closed, or a link's */
    struct loop_io *out_io;
    struct await awaited; /* the words of mpstarter that may come next */
    bool is_terminal, is_ready;
};

/* The manager's room on a host; room.c changes it. */
struct room {
    bool was_none;     /* the manager has refused it at least once */
    bool waits;        /* mprun is going to start it again */
    char refusal[400]; /* the manager's words */
};

/* The starter of a host that has ranks. starter.c and starter-events.c change it. */
struct starter {
    struct starters *all;
    struct host *host;
    struct client_channel channel; /* closed where another host runs the client */
    struct client_stderr said;
    pid_t client_pid;       /* 0: another host runs it */
    bool client_runs;       /* or an agent has been asked for a starter */
    bool client_is_starter; /* mpstarter itself: what it leaves comes to mprun */
    bool worker_over;       /* only its link can still show that the worker lives */
    bool is_direct; /* mprun starts it, although the host above might (start-through-hosts.c) */
    const struct host *started_by; /* the host above, which runs its client; NULL: it does not */
    unsigned waited;               /* ticks since its first start client began: start-timeout.c */
    struct room room;
    enum agent_use agent;
    bool has_made_agent;   /* of its start client */
    bool is_asked_again;   /* for an agent, as the first one had gone before it forked */
    bool is_started_twice; /* by an agent, perhaps, and by a start client: mprun takes the first */
    uint8_t agent_key[LINK_KEY]; /* of the channel, where that is the agent's connection */
};

/* start-progress.c changes it. */
struct start_progress {
    unsigned ticks, still; /* since the start began, and since a host reported back */
    size_t nreported;      /* hosts, at the last tick */
};

struct starters {
    struct starters_step step;
    const struct step_plan *plan; /* the step's */
    struct starter *of;           /* by launch_index */
    struct starting *starting;    /* the adapter's; NULL: nothing has begun */
    struct grants grants;
    struct oom_kills oom_kills; /* here, since the first start client of ours began */
    struct listeners listeners;
    struct agents agents;
    struct start_progress progress;
    struct loop_timer start_timer; /* a tick while hosts are being started: start-timeout.c */
    pid_t *foreign; /* children of a shell that exec'ed mprun: sweep-dead-starter.c */
    int nforeign;
    struct loop_timer room_timer; /* room.c */
    bool said_session, said_no_room;
    size_t nfallback;        /* hosts linked by their start channels as they reach no address */
    char fallback_text[900]; /* the first of them, and why */
    struct loop_timer unreachable; /* ends start clients of hosts that are out of reach */
    size_t nreported;              /* hosts whose HELLO has come */
    bool unsettled; /* a client or a link has ended: starters_settle() has to look at all hosts */
    bool starts_through; /* hosts start those below them: start-through-hosts.c */
};

static inline struct starter *starter_of(const struct starters *s, const struct host *h)
{
    return &s->of[h->launch_index];
}

/* ---- start-channel.c: the start channel of a start client ------------------------------------ */

/* Packs what a starter is told before it has a link. Returns the length in ret, or -1 with err. The
 * caller wipes ret, which has the step's key. */
int start_preamble(const struct starter *st, uint32_t more_flags, uint8_t ret[PREAMBLE_MAX],
                   struct error *err);
/* The same for all hosts at once, which the manager numbers. */
int start_preamble_of_all(const struct starters *s, uint8_t ret[PREAMBLE_MAX], struct error *err);
/* A start channel to a host that reaches none of mprun's addresses may become its link: the user
 * has asked for no transport, and each host has a channel of its own. */
bool start_channel_may_be_link(const struct step_plan *plan);

/* The starter's client has begun on this channel: owns its descriptors, and tells mpstarter, when
 * it is there, what it has to know. A client of all hosts has none for a single one. */
void start_channel_open(struct starter *st, const struct start_channel *from);
/* Is mpstarter not ready yet? Then mprun can still send it something over the channel. */
bool start_channel_awaits_ready(const struct starter *st);
/* mpstarter is told nothing more: ends its input, unless the channel is a terminal, which would
 * hang up. Does nothing before mpstarter is ready. */
void start_channel_end_input(struct starter *st);
/* Ends its input in any case. */
void start_channel_close_input(struct starter *st);
/* Reads the rest of the client's output. */
void start_channel_drain(struct starter *st);
void start_channel_close(struct starter *st);

/* ---- starter.c: what is done with a starter -------------------------------------------------- */

/* pid 0: another host runs the client, or an agent the starter. */
void starter_client_begins(struct starter *st, pid_t pid, bool is_starter);
void starter_client_ends(struct starter *st);
/* Nothing of a start that failed is left; there is to be another one. */
void starter_forget(struct starter *st);
/* mprun starts it, now and again. */
void starter_retry(struct starter *st);
/* Its client has ended like one whose starter reaches none of mprun's addresses, but may reach
 * mprun by a start channel of its own. */
bool starter_may_have_channel(const struct starter *st, int status);
/* By its own link, or through the host above it. */
bool starter_is_linked(const struct starter *st);

/* ---- sweep-dead-starter.c -------------------------------------------------------------------- */

/* Children that mprun has now are left alone: it was started with them. */
void sweep_prepare(struct starters *s);
/* So is this child, which outlives mprun. */
void sweep_spare(struct starters *s, pid_t pid);
/* Ends and removes what a dead starter of this machine has left: processes, cgroups, directories.
 * Starters of other machines are swept by the next step there, or by mprund. Waits for it, some
 * seconds at most; what cannot be removed is a warning. */
void sweep_dead_starter(const struct starter *st);

/* ---- starter-events.c: what happens to a starter --------------------------------------------- */

/* For the adapter; arg is the starters. */
void starter_event(void *arg, size_t host, enum start_event event,
                   const struct start_channel *channel, int status, const struct error *err);
void starter_said(void *arg, size_t host, const char *text, size_t n);
/* The client that another host has run has ended; status as from waitpid(). */
void starter_client_ended(struct starter *st, int status);
/* The host that runs its client has gone: only its own link may still tell of this one. */
void starter_client_unknown(struct starter *st);
/* Writes into buf, and returns, the name of a start client, or of a host's task of the client of
 * all hosts. */
const char *starter_client_name(const struct step_plan *plan, char *buf, size_t n);
/* Ends the start clients of all hosts that are out of reach after so many seconds, or, where the
 * adapter ends none, stops waiting for them. Does nothing when that is due already. */
void starters_abandon_after(struct starters *s, double seconds);

/* ---- room.c: hosts on which the manager has no room ------------------------------------------ */

void room_init(struct starters *s);
/* The manager has none on the host, in these words: it is asked again. */
void room_await(struct starter *st, const char *words);
/* Its --start-timeout is over: fails the step if that is for want of room. */
bool room_was_none(struct starter *st);
void room_cancel(struct starters *s);
void room_end(struct starters *s); /* no host waits any more */

/* ---- start-through-hosts.c: hosts that are started by the starter of the host above them ----- */

void through_begin(struct starters *s);
bool through_is_elsewhere(const struct starter *st); /* mprun is not to start it now */
/* Starts a host that is elsewhere, if the host above has its starter; else that does it later. */
void through_start(struct starter *st);
/* The job has the agent that the host above has started; nothing more is heard of its errand.
 * False: the host above has not started it. */
bool through_hand_over(struct starter *st);
void through_reported(struct starter *st); /* it has its starter */
void through_host_gone(struct starters *s, const struct host *h);
void through_end(struct starters *s); /* mprun starts the rest */

/* ---- start-progress.c ------------------------------------------------------------------------ */

void start_progress_tick(struct starters *s);

/* ---- start-timeout.c ------------------------------------------------------------------------- */

/* Begins at once; ends by itself when all hosts have their place, or the step is to end. */
void start_timeout_begin(struct starters *s);
void start_timeout_end(struct starters *s);
