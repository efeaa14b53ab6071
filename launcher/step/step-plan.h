/* SPDX-License-Identifier: BSD-3-Clause */
/* step-plan.h - the plan of a step: what runs where, and how mprun reaches the hosts
 *
 * main() makes it from the command line before anything is started. With --wait-cores ranks are
 * then placed on what the job's other steps have left. Nothing changes it afterwards: all other
 * files have a const pointer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/cmdline/cmdline.h"
#include "launcher/step/rank-file.h"
#include "launcher/step/shell-limits.h"
#include "model/allocation.h"
#include "model/step.h"
#include "plan/plan.h"
#include "rm-adapters/adapter.h"
#include "wire/link/link.h"

struct step_plan {
    const struct cmdline *cmd; /* the caller's */
    bool as_mpirun;            /* mprun was called by the name of another launcher */
    struct host_request hosts; /* the user's words about hosts */
    char *listed;              /* of a rank file that names the hosts; else NULL */
    const char *lists[1];      /* `listed`, where hosts.lists points to it */
    struct rank_file rank_file;
    const struct rm_adapter *adapter;
    char adapter_reason[256];
    struct allocation alloc; /* all granted hosts */
    size_t nhosts;           /* of them */
    bool waits;              /* for slots that other steps have taken: --wait-cores */
    size_t nspare;           /* then hosts behind those in `alloc`, which --nodes leaves out */
    struct allocation used;  /* the step's hosts; borrows their contents from `alloc` */
    size_t nused;            /* of them: a host's index in `used` is its number on the wire */
    size_t nhere;            /* of those: on the machine that mprun runs on */
    uint32_t universe;       /* ranks that `used` is to have room for, if the job has it */
    struct plan placement;
    struct placement *placements; /* of the hosts in `used` */
    struct step step;
    const char *rank_cores_source; /* of step.bind.cores, where the user has not said it; or "" */
    uint8_t key[LINK_KEY];         /* wiped by step_plan_free() */
    enum transport transport;      /* never TRANSPORT_AUTO */
    bool same_machine;             /* all hosts in `used` are the machine that mprun runs on */
    uint32_t fanout;               /* of the tree of hosts; 0: each is linked to mprun itself */
    char *starter_path;            /* mpstarter beside this program */
    char *remote_path;             /* mpstarter on other machines */
    uint64_t start_ns;             /* CLOCK_REALTIME when the step began */
    double start_time;             /* loop_now() then */
};

/* Reads what was granted and places the ranks. Starts nothing. Returns 0, or -1 with err; *ret is
 * to be freed in both cases. */
int step_plan_make(struct step_plan *ret, const struct cmdline *cmd, bool as_mpirun,
                   struct error *err);
/* Decides everything else that does not need the hosts' answers. Returns 0, or -1 with err. */
int step_plan_complete(struct step_plan *p, const struct inherited *user, struct error *err);
/* Finds mpstarter here, and decides where it is on other hosts. Returns 0, or -1 with err. */
int step_plan_find_starter(struct step_plan *p, struct error *err);
void step_plan_free(struct step_plan *p); /* what it holds, not itself */

/* The size of the universe that a world of so many ranks is told: the slots of the step's hosts, as
 * far as --universe counts them. 0: any number, where --oversubscribe allows more than these. */
uint32_t step_plan_universe(const struct step_plan *p, uint32_t nranks);
/* A new namespace: "mprun-" and 130 random bits. */
void step_plan_new_nspace(char ret[64]);
/* Seconds since the step began. */
double step_plan_seconds(const struct step_plan *p);
