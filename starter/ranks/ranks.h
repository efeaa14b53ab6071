/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.h - the ranks of this host: started, signalled, and reported to mprun when they end
 *
 * Each world has its own struct; the first, of world 0, heads the list. Functions that are given
 * `all` are for the ranks of every world in the list. */
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
    unsigned kinds;                    /* bits 1 << kind: that it has read */
    uint64_t others[LIMIT_KIND_COUNT]; /* what processes of no known rank used */
    struct mapped {
        pid_t pid;
        uint64_t bytes;    /* files and shared memory */
        uint64_t part;     /* its part of the shared memory */
        uint64_t *amounts; /* to which that belongs, in this look */
    } * now, *before;      /* processes of this look and of the one before */
    size_t n, n_before, cap;
};

struct ranks {                           /* others read next and n; as zero there are no ranks */
    struct ranks *next;                  /* of another world: worlds/ keeps the list */
    const struct starter_services *with; /* its turn is scheduled when a rank has ended */
    struct rank *ranks;
    uint32_t n, begun, running, ended; /* all; those whose start was begun; in these states */
    struct rank_program *programs;     /* of all apps; NULL before ranks_prepare() */
    struct loop_timer samples;         /* of the ranks' memory */
    struct loop_timer freeze;          /* of world 0: until suspended ranks are frozen */
    struct loop_timer again;           /* until ranks have left nothing and are started again */
    uint32_t nagain;                   /* ranks that are to be started again */
    struct rank_sessions sessions;     /* of world 0: looks at the ranks of all */
    bool is_killed;                    /* by ranks_kill_all() */
    uint64_t oom_told;                 /* TRACK_STEP: kills that have explained a rank's end */
    struct mprund_question *lending;   /* of world 0: until mprund knows; NULL: it is not asked */
    double suspended;   /* of world 0: loop_now() of ranks_suspend(); 0: they are not suspended */
    uint64_t freed_cpu; /* CPU time in microseconds of earlier incarnations; of world 0 also of
                           worlds that are gone */
    struct amounts_look look; /* of world 0: the last one, of all worlds */
};

/* The ranks that LAUNCH gives this host, none started; samples of their memory begin. */
void ranks_init(struct ranks *s, const struct starter_services *with);
void ranks_free(struct ranks *s);

/* Cores and directories are chosen, containment and PMI server are ready: find the programs, build
 * the environments. */
void ranks_prepare(struct ranks *s);
/* Instead: report them all as not started. */
void ranks_refuse(struct ranks *s, const struct error *why);
/* Start the next few. Returns whether there are more to start. */
bool ranks_start_some(struct ranks *s);
/* RESTART_RANK: the rank has ended, and is to be started again under this name, the next
 * incarnation's. -1: there is no such rank, or it has not ended. */
int ranks_restart(struct ranks *all, struct rank_name name);
/* Start the ranks of all worlds that are to be started again and have left no process behind; when
 * the step or their world ends, report them as killed. */
void ranks_start_again(struct ranks *all);
/* Once they may be started: start no more, and report those that were not as killed. */
void ranks_cancel_waiting(struct ranks *all);
/* Kill this world's ranks, and start no more; those not started are reported as killed. */
void ranks_kill_all(struct ranks *s);
/* This world's ranks have ended: kill what they left in their cgroups, then remove these. False:
 * try again. */
bool ranks_kill_leftovers(const struct ranks *s);
bool ranks_remove_leaves(struct ranks *s);
/* Send a signal to all processes of all running ranks. */
void ranks_signal(const struct ranks *all, int signo);
/* The same to the one rank, or with RANK_ALL to those of its world, where it is here. ends: how
 * they end from now on is no failure. */
void ranks_signal_some(struct ranks *all, struct rank_name name, int signo, bool ends);
/* Stop all running ranks, and freeze their cgroups where that can be done, so that nothing that
 * they fork meanwhile goes on. No rank may be started before ranks_resume(). */
void ranks_suspend(struct ranks *all);
/* Thaw them, and continue all processes. Ranks that were not suspended are continued, too. */
void ranks_resume(struct ranks *all);
/* Give up ranks that were killed and do not end: ending/removal.h gets a sentence for each. */
void ranks_give_up_killed(struct ranks *all);

/* The PMI server says that a rank has connected, or finalized; */
void ranks_pmi_client(struct ranks *all, struct rank_name name, bool has_connected);
/* that it knows nothing more of a rank that was reaped; */
void ranks_pmi_gone(struct ranks *all, struct rank_name name);
void ranks_pmi_ended(struct ranks *all); /* or has ended, and answers no more */

bool ranks_of_world_have_ended(const struct ranks *s); /* those of its world alone */
bool ranks_have_ended(const struct ranks *all);        /* all have, and mprun was told */
bool ranks_are_running(const struct ranks *all);       /* some rank is */
/* The processes of a rank now, by its index in its world on this host: their number and *ret, which
 * the caller frees; 0 or -1: none, and *ret is not set. */
int ranks_pids(const struct ranks *s, uint32_t local, pid_t **ret);
/* The same of a running rank, by its process tree where no cgroup is the rank's alone. */
int ranks_processes(const struct ranks *s, uint32_t local, pid_t **ret);
/* CPU time in microseconds of ranks that have ended. */
uint64_t ranks_ended_cpu(const struct ranks *all);

struct rank_amount {       /* of one kind, in its unit */
    uint64_t value;        /* of all ranks here */
    struct rank_name grew; /* the rank whose part has grown most since the call before, */
    uint64_t growth;       /* by so much; 0: none has */
};
/* The limits of different levels are looked at at different times, each with growth of its own. */
enum amounts_reader { AMOUNTS_FOR_STEP, AMOUNTS_FOR_HOST, AMOUNTS_READERS };
/* Returns the usage of all ranks now, by kind, as far as `kinds` (bits 1 << kind) has them. Readers
 * that come together, within LOOK_SHARED_SECONDS, share one look at the processes. */
void ranks_amounts(struct ranks *all, enum amounts_reader reader, unsigned kinds,
                   struct rank_amount ret[LIMIT_KIND_COUNT]);
/* End one rank for a limit; text is its sentence in EXITED. A rank that does not run is left
 * alone. */
void ranks_kill_for_limit(struct ranks *all, struct rank_name name, const char *text);

struct rank_account { /* a rank's line of the final report; pointers are borrowed */
    struct rank_name name;
    const struct usage *usage;
    const char *bound_threads;   /* as the kernel said after the start; NULL: not bound */
    const struct limits *limits; /* with what holds them */
};
struct rank_account ranks_account(struct ranks *s, uint32_t local);
