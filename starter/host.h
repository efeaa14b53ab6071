/* SPDX-License-Identifier: BSD-3-Clause */
/* host.h - one host's part of a step: all that the worker has, put together
 *
 * worker.c makes the parts and ends them; host-events.c connects their events, launcher-messages.c
 * does what mprun says, host-states.c has the states that the host goes through, and host-prepare.c
 * what is done before ranks can be started. */
#pragma once

#include "common/idset.h"
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
    bool hello_waits;     /* for the node daemon's answer */
    bool is_stopped;      /* by SIGSTOP of mprun: start no rank before SIGCONT */
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
    /* as zero before LAUNCH has come, or where it never does */
    bool has_launch;
    bool is_over; /* all ranks of the step have ended: no further ones follow */
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
/* If the step has PMI, start the PMI server. -1 with err. */
int host_start_pmi_server(struct host *h, struct error *err);
/* The node daemon has answered: which cores are the job's is known from here on. */
void host_daemon_answered(void *arg);

/* ---- host-lost-mprun.c ----------------------------------------------------------------------- */

/* No host above can be reached any more: end the ranks with so many seconds between TERM and KILL,
 * clean up and exit. */
void host_lost_mprun(void *arg, const struct error *why, bool mprun_has_gone, double grace);
/* The link to mprun has ended. */
void host_lost_link(void *arg, const struct error *why);

/* ---- launcher-messages.c --------------------------------------------------------------------- */

/* A frame has come on l: pass it on to hosts below, and do what it says if it is for this host
 * (doc/wire.md). arg: the host. */
void launcher_messages_take(void *arg, struct link *l, enum frame_type type, const uint8_t *p,
                            size_t n);

/* ---- host-states.c --------------------------------------------------------------------------- */

/* Do what is due in the present state. arg: the host. */
void host_machine_turn(void *arg);

/* ---- host-prepare.c -------------------------------------------------------------------------- */

/* The link to mprun is open, and the node daemon has answered: tell mprun what this host is
 * (HELLO).
 */
void host_say_hello(struct host *h);
/* LAUNCH has come: make what ranks need. Readiness comes in later turns. */
void host_prepare(struct host *h);
bool host_is_prepared(const struct host *h);
/* Everything is there: build the ranks' environments, and tell mprun (READY). */
void host_prepare_finish(struct host *h);
