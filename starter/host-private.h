/* SPDX-License-Identifier: BSD-3-Clause */
/* host-private.h - the struct behind host.h, and what its files offer each other
 *
 * host.c uses launcher-messages.c and host-states.c, and both use host-prepare.c. */
#pragma once

#include "common/idset.h"
#include "starter/containment/step-containment.h"
#include "starter/host.h"
#include "starter/links/tree-place.h"
#include "starter/links/uplink.h"
#include "starter/services.h"
#include "wire/host-directory.h"
#include "wire/messages/launch.h"

enum host_state {
    HOST_STARTING,  /* mprun has not answered yet */
    HOST_CONNECTED, /* HELLO is answered; waiting for LAUNCH */
    HOST_PREPARING, /* making cgroups, topology, mppmi ready */
    HOST_LAUNCHING, /* starting ranks */
    HOST_RUNNING,
    HOST_ENDING,   /* all ranks have ended, or are being killed */
    HOST_REPORTED, /* REPORT is sent; removing files and cgroups */
    HOST_CLEANED,  /* CLEANED is sent; waiting for RELEASE */
    HOST_STATE_COUNT,
};

struct host {
    struct starter_services with;
    enum host_state state;
    struct loop_defer turn;                   /* of the host machine */
    char directory_name[HOST_DIRECTORY_NAME]; /* of the step's directories here */
    pid_t launcher;       /* mprun, when it runs on this machine and is the parent; else 0 */
    struct idset allowed; /* hardware threads that this process may run on */
    bool hello_waits;     /* for the node daemon's answer */
    bool has_launch;
    struct launch launch;
    bool is_stopped; /* by SIGSTOP of mprun: start no rank before SIGCONT */
    /* made by host_create() */
    struct uplink uplink;
    struct step_end *end;
    struct tree_place tree;
    struct step_containment containment;
    struct cleanup *cleanup;
    struct errands *errands;
    /* made by host_start() */
    struct pmi_server *pmi; /* NULL: no PMI */
    struct rank_kill_ladder *ladder;
    /* made when mprun has said what they are for; NULL before, or where it never does */
    struct preload *preload;
    struct host_directories *directories;
    struct rank_binding *binding;
    struct rank_io *io;
    struct ranks *ranks;
};

/* host-states.c: do what is due in the present state. arg: the host. */
void host_machine_turn(void *arg);

/* host-prepare.c: LAUNCH has come: make what ranks need. Readiness comes in later turns. */
void host_prepare(struct host *h);
bool host_is_prepared(const struct host *h);
/* Everything is there: build the ranks' environments, and tell mprun (READY). -1: the step cannot
 * run here, as step-end.h was told. */
int host_prepare_finish(struct host *h);
