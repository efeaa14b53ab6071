/* SPDX-License-Identifier: BSD-3-Clause */
/* step-limits.h - limits that samples hold: of the whole step across its hosts, of hosts, of ranks
 *
 * No kernel holds a limit over several hosts. mprun asks every host what its ranks use (PRESENT_ASK
 * with `amounts`), adds up the answers and compares: the less room is left, the more often. Limits
 * of hosts and ranks that no kernel holds the hosts compare themselves (OVER_LIMIT). step-limits.c
 * decides what follows: --on-limit. */
#pragma once

#include "common/loop.h"
#include "launcher/hosts/host-table.h"
#include "model/limits.h"
#include "model/sample-pace.h"
#include "wire/mprun.pb-c.h"

struct verdict;

struct step_limits { /* private to step-limits.c */
    struct host_table *hosts;
    struct verdict *verdict;
    struct loop_timer timer; /* until the next question */
    uint32_t turn;           /* of the last question */
    size_t awaited;          /* answers to it */
    double asked, answered;  /* loop_now() of it, and of the last answer */
    struct sample_pace pace;
    uint32_t killed_in; /* turn in which step-limits.c killed a rank; 0: none */
    struct limit_state {
        uint64_t sum;
        struct rank_name grew; /* the rank that grew last, by */
        uint64_t growth;       /* so much; 0: none has */
        uint32_t host;         /* of that rank */
        uint32_t grew_in;      /* turn of its answer */
        bool has_warned, has_told;
    } of[LIMIT_KIND_COUNT];
    struct host_amounts *last; /* each host's last answer, by launch_index */
};

/* The line of jobs that the kernel, or mprun, ended for a limit. N is the job, or without a manager
 * the step. */
void step_limits_say_killed(const struct step_plan *plan);
void step_limits_init(struct step_limits *l, struct loop *loop, struct host_table *hosts,
                      struct verdict *verdict);
void step_limits_free(struct step_limits *l); /* what it holds, not itself; zero is fine */

/* LAUNCH is sent: from now on ask, if the step has limits. */
void step_limits_begin(struct step_limits *l);
/* PRESENT with amounts has come from a host. -1: a frame that cannot be. */
int step_limits_answer(struct step_limits *l, const struct host *h, const Mprun__Present *m);
/* OVER_LIMIT has come from a host. -1: a frame that cannot be. */
int step_limits_over(struct step_limits *l, const struct host *h, const Mprun__OverLimit *m);
