/* SPDX-License-Identifier: BSD-3-Clause */
/* host.h - one host's part of a step: all that the worker has, put together
 *
 * worker.c makes the parts and ends them; host-events.c connects their events; launcher-messages.c
 * does what mprun says; host-states.c has the host's states; host-prepare.c prepares the host
 * before ranks can start. */
#pragma once

#include "common/text/idset.h"
#include "common/loop.h"
#include "starter/binding/gpu-shares.h"
#include "starter/binding/rank-binding.h"
#include "starter/containment/step-containment.h"
#include "starter/ending/removal.h"
#include "starter/ending/kill-ladder.h"
#include "starter/ending/leftovers.h"
#include "starter/errands/errands.h"
#include "starter/host-directories.h"
#include "starter/io/rank-io.h"
#include "starter/links/tree-place.h"
#include "starter/links/uplink.h"
#include "starter/preload/preload.h"
#include "starter/ranks/ranks.h"
#include "starter/ranks/sampled-limits.h"
#include "starter/services.h"
#include "starter/ending/step-end.h"
#include "starter/tools/debug-daemon.h"
#include "starter/tools/stack-traces.h"
#include "starter/usage/idle-ranks.h"
#include "starter/usage/process-usage.h"
#include "starter/worlds/spawned-worlds.h"
#include "wire/host-directory.h"
#include "wire/messages/launch.h"

enum host_state {
    HOST_STARTING,  /* mprun has not answered yet */
    HOST_CONNECTED, /* HELLO is answered; waiting for LAUNCH */
    HOST_PREPARING, /* making cgroups, topology, mppmi ready */
    HOST_LAUNCHING, /* starting ranks */
    HOST_RUNNING,
    HOST_ENDING,   /* the step is over, or its ranks are being killed */
    HOST_REPORTED, /* REPORT is sent; removing files and cgroups */
    HOST_CLEANED,  /* CLEANED is sent; waiting for RELEASE */
    HOST_STATE_COUNT,
};

struct host {
    struct starter_services with; /* its parts and the members below, for each other */
    enum host_state state;
    struct loop_defer turn;                   /* of the host machine */
    char directory_name[HOST_DIRECTORY_NAME]; /* of the step's directories here */
    pid_t launcher;       /* mprun, when it runs on this machine and is the parent; else 0 */
    struct idset allowed; /* hardware threads that this process may run on */
    bool hello_waits;     /* for mprund's answer */
    bool is_stopped;      /* mprun has sent SIGSTOP: start no rank before SIGCONT */
    struct loop_io *keeper_watch; /* NULL: the keeper has died */
    struct uplink uplink;
    struct tree_place tree;
    struct step_containment containment;
    struct errands errands;
    struct preload preload;
    struct brought brought;
    struct other_processes others;
    struct step_end end;
    struct removal removal;
    struct rank_kill_ladder ladder;
    struct leftovers leftovers;
    /* all zero until LAUNCH has come */
    bool has_launch;
    bool is_over; /* all ranks of the step have ended, and no more will start */
    struct launch launch;
    struct host_directories directories;
    struct rank_binding binding;
    struct gpu_shares gpus;
    struct rank_io io;
    struct ranks ranks;
    struct spawned_worlds spawned;
    struct stack_traces traces;
    struct debug_daemon daemon;
    struct idle_ranks idle;
    struct sampled_limits limits;
};

/* ---- host-events.c: events of the host's parts; their arg is the host ------------------------ */

extern const struct uplink_events host_uplink_events;
extern const struct tree_place_events host_tree_events;
/* Starts the PMI server if the step has PMI. -1 with err. */
int host_start_pmi_server(struct host *h, struct error *err);
/* mprund has answered: from here on this process knows which cores are the job's. */
void host_daemon_answered(void *arg);

/* ---- host-lost-mprun.c ----------------------------------------------------------------------- */

/* This host can reach no host above it any more: ends the ranks with so many seconds between TERM
 * and KILL, cleans up and exits. */
void host_lost_mprun(void *arg, const struct error *why, bool mprun_has_gone, double grace);
/* The link to mprun has ended. */
void host_lost_link(void *arg, const struct error *why);

/* ---- launcher-messages.c --------------------------------------------------------------------- */

/* A frame has come on l: passes it on to hosts below, and does what it says if it is for this host
 * (doc/wire.md). arg: the host. */
void launcher_messages_take(void *arg, struct link *l, enum frame_type type, const uint8_t *p,
                            size_t n);

/* ---- host-states.c --------------------------------------------------------------------------- */

/* Does what is due in the present state. arg: the host. */
void host_machine_turn(void *arg);

/* ---- host-prepare.c -------------------------------------------------------------------------- */

/* The link to mprun is open, and mprund has answered: tells mprun what this host is (HELLO). */
void host_say_hello(struct host *h);
/* LAUNCH has come: makes what ranks need. host_is_prepared() is true in a later turn. */
void host_prepare(struct host *h);
bool host_is_prepared(const struct host *h);
/* Everything is there: builds the ranks' environments, and tells mprun (READY). */
void host_prepare_finish(struct host *h);
