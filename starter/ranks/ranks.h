/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.h - the ranks of this host: started, signalled, and reported to mprun when they end */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/loop.h"
#include "model/limits.h"
#include "model/rank-name.h"
#include "starter/ranks/rank-sessions.h"
#include "starter/usage/process-usage.h"

struct ranks {                           /* others read n and running; as zero there are no ranks */
    const struct starter_services *with; /* its turn is scheduled when a rank has ended */
    struct rank *ranks;
    uint32_t n, next, running, ended; /* all; to be started next; number in these states */
    struct rank_program *programs;    /* of all apps; NULL before ranks_prepare() */
    struct loop_timer samples;        /* of the ranks' memory */
    struct rank_sessions sessions;
    uint64_t oom_told; /* TRACK_STEP: kills that have explained a rank's end */
};

/* The ranks that LAUNCH gives this host, none started; samples of their memory begin. -1 with
 * err. */
int ranks_init(struct ranks *s, const struct starter_services *with, struct error *err);
void ranks_free(struct ranks *s);

/* Cores and directories are chosen, containment and PMI server are ready: find the programs, build
 * the environments. -1 with err. */
int ranks_prepare(struct ranks *s, struct error *err);
/* Start the next few. Returns whether there are more to start. */
bool ranks_start_some(struct ranks *s);
/* Once they may be started: start no more, and report those that were not as killed. */
void ranks_cancel_waiting(struct ranks *s);
/* Send a signal to all processes of all running ranks. */
void ranks_signal(const struct ranks *s, int signo);
/* Give up ranks that were killed and do not end: ending/removal.h gets a sentence for each. */
void ranks_give_up_killed(struct ranks *s);

/* The PMI server says that a rank has connected, or finalized; */
void ranks_pmi_client(struct ranks *s, struct rank_name name, bool has_connected);
/* that it knows nothing more of a rank that was reaped; */
void ranks_pmi_gone(struct ranks *s, struct rank_name name);
void ranks_pmi_ended(struct ranks *s); /* or has ended, and answers no more */

bool ranks_have_ended(const struct ranks *s); /* all have, and mprun was told */
/* The processes of a rank now, by its index on this host: their number and *ret, which the caller
 * frees; 0 or -1: none, and *ret is not set. */
int ranks_pids(const struct ranks *s, uint32_t local, pid_t **ret);
/* CPU time in microseconds of ranks that have ended. */
uint64_t ranks_ended_cpu(const struct ranks *s);

struct rank_amount {       /* of one kind, in its unit */
    uint64_t value;        /* of all ranks here */
    struct rank_name grew; /* the rank whose part has grown most since the call before, */
    uint64_t growth;       /* by so much; 0: none has */
};
/* What all ranks use now, by kind. */
void ranks_amounts(struct ranks *s, struct rank_amount ret[LIMIT_KIND_COUNT]);
/* End one rank for a limit; text is its sentence in EXITED. A rank that does not run is left
 * alone. */
void ranks_kill_for_limit(struct ranks *s, struct rank_name name, const char *text);

struct rank_account { /* a rank's line of the final report; pointers are borrowed */
    struct rank_name name;
    const struct usage *usage;
    const char *bound_threads;   /* as the kernel said after the start; NULL: not bound */
    const struct limits *limits; /* those of its cgroup; NULL: none */
};
struct rank_account ranks_account(struct ranks *s, uint32_t local);
