/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.h - the ranks of this host: started, signalled, and reported to mprun when they end
 *
 * Each world has its own struct; that of world 0 heads the list. Functions with a parameter `all`
 * are for the ranks of every world in the list. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/loop.h"
#include "model/limits.h"
#include "model/rank-name.h"
#include "starter/ranks/rank-sessions.h"
#include "starter/usage/process-usage.h"

struct amounts_look {                  /* rank-amounts.c */
    double time;                       /* loop_now() */
    unsigned kinds;                    /* bits 1 << kind: what it has read */
    uint64_t others[LIMIT_KIND_COUNT]; /* used by processes that belong to no known rank */
    struct mapped {
        pid_t pid;
        uint64_t bytes;    /* files and shared memory */
        uint64_t part;     /* its part of the shared memory, in bytes */
        uint64_t *amounts; /* the rank's amounts, to which `part` is added */
    } * now, *before;      /* processes of this look and of the one before */
    size_t n, n_before, cap;
};

struct ranks {                           /* others read next, n, suspended; all zero: no ranks */
    struct ranks *next;                  /* of another world: worlds/ keeps the list */
    const struct starter_services *with; /* its turn is scheduled when a rank has ended */
    struct rank *ranks;
    uint32_t n, begun, running, ended; /* all; those whose start was begun; those in that state */
    struct rank_program *programs;     /* of all apps; NULL before ranks_prepare() */
    struct loop_timer samples;         /* of the ranks' memory */
    struct loop_timer freeze;          /* of world 0: until suspended ranks are frozen */
    struct loop_timer again;           /* until failed ranks have left nothing and start again */
    uint32_t nagain;                   /* ranks that are to be started again */
    struct rank_sessions sessions;     /* of world 0: looks at the ranks of all worlds */
    bool is_killed;                    /* by ranks_kill_all() */
    struct mprund_question *lending;   /* of world 0: asked of mprund, unanswered; NULL: nothing */
    double suspended;   /* of world 0: loop_now() of ranks_suspend(); 0: they are not suspended */
    uint64_t freed_cpu; /* CPU time in microseconds of earlier incarnations; of world 0 also of
                           worlds that have ended */
    struct amounts_look look; /* of world 0: the last one, of all worlds */
};

/* Sets up the ranks that LAUNCH gives this host, none started; begins to sample their memory. */
void ranks_init(struct ranks *s, const struct starter_services *with);
void ranks_free(struct ranks *s);

/* Cores and directories are chosen, containment and PMI server are ready: finds the programs, and
 * builds the environments. */
void ranks_prepare(struct ranks *s);
/* In place of ranks_prepare(): reports all ranks as not started. */
void ranks_refuse(struct ranks *s, const struct error *why);
/* Starts the next few ranks. Returns whether there are more to start. */
bool ranks_start_some(struct ranks *s);
/* RESTART_RANK: the rank has ended, and starts again as `name`, which has the next incarnation. -1:
 * there is no such rank, or it has not ended. */
int ranks_restart(struct ranks *all, struct rank_name name);
/* Starts those ranks of all worlds again that have left no process behind. If the step or their
 * world ends, reports them as killed. */
void ranks_start_again(struct ranks *all);
/* Once ranks may start: starts no more of them, and reports the waiting ones as killed. */
void ranks_cancel_waiting(struct ranks *all);
/* Kills this world's ranks, starts no more, and reports the waiting ones as killed. */
void ranks_kill_all(struct ranks *s);
/* This world's ranks have ended: kill what they left in their cgroups; then remove the cgroups.
 * false: try again. */
bool ranks_kill_leftovers(const struct ranks *s);
bool ranks_remove_leaves(struct ranks *s);
/* Sends a signal to all processes of all running ranks. */
void ranks_signal(const struct ranks *all, int signo);
/* Sends it to one rank, or with RANK_ALL to those of its world, if they are here. ends: their end
 * is no failure from now on. */
void ranks_signal_some(struct ranks *all, struct rank_name name, int signo, bool ends);
/* Stops all running ranks, and freezes their cgroups if possible, so that processes which they fork
 * meanwhile stop, too. Start no rank before ranks_resume(). */
void ranks_suspend(struct ranks *all);
/* Thaws the ranks, and continues all processes, also of ranks that were not suspended. */
void ranks_resume(struct ranks *all);
/* Gives up ranks that were killed and do not end: ending/removal.h gets a sentence for each. */
void ranks_give_up_killed(struct ranks *all);

/* The PMI server says that a rank has connected, or finalized; */
void ranks_pmi_client(struct ranks *all, struct rank_name name, bool has_connected);
/* that it will say nothing more of a rank that was reaped; */
void ranks_pmi_gone(struct ranks *all, struct rank_name name);
void ranks_pmi_ended(struct ranks *all); /* or has ended, and answers no more */

bool ranks_of_world_have_ended(const struct ranks *s); /* those of this world alone */
bool ranks_of_world_have_ended_well(const struct ranks *s);
bool ranks_have_ended(const struct ranks *all);  /* all have, and mprun was told */
bool ranks_are_running(const struct ranks *all); /* at least one is */
/* Lists the processes of the rank with this index in its world on this host. Returns their number
 * with *ret, which the caller frees; 0 or -1: none, and *ret is not set. */
int ranks_pids(const struct ranks *s, uint32_t local, pid_t **ret);
/* Lists those of a running rank; by its process tree where no cgroup is the rank's alone. */
int ranks_processes(const struct ranks *s, uint32_t local, pid_t **ret);
/* Returns the CPU time, in microseconds, of ranks that have ended. */
uint64_t ranks_ended_cpu(const struct ranks *all);

struct rank_amount {       /* of one kind, in its unit */
    uint64_t value;        /* of all ranks here */
    struct rank_name grew; /* the rank whose part has grown most since the call before, */
    uint64_t growth;       /* by so much; 0: none has */
};
/* Limits of different levels are compared at different times: each reader has its own growth. */
enum amounts_reader { AMOUNTS_FOR_STEP, AMOUNTS_FOR_HOST, AMOUNTS_READERS };
/* Fills ret, by kind, with the usage of all ranks now; kinds (bits 1 << kind) says which are
 * wanted. Readers within LOOK_SHARED_SECONDS share one look at the processes. */
void ranks_amounts(struct ranks *all, enum amounts_reader reader, unsigned kinds,
                   struct rank_amount ret[LIMIT_KIND_COUNT]);
/* Kills one rank for a limit; text is its sentence in EXITED. Does nothing to a rank that does not
 * run. */
void ranks_kill_for_limit(struct ranks *all, struct rank_name name, const char *text);

struct rank_account { /* a rank's line of the final report; pointers are borrowed */
    struct rank_name name;
    const struct usage *usage;
    const char *bound_threads;   /* as the kernel said after the start; NULL: not bound */
    const struct limits *limits; /* each with its held_by */
};
struct rank_account ranks_account(struct ranks *s, uint32_t local);
