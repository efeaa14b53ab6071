/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.h - the jobs that have a cgroup on this host
 *
 * Below the ground, in each hierarchy:
 *     MANAGER-JOB-NONCE/        root's: the job's limits. Mode 0700: it is being made, or has
 * ended; 0755: it is whole; 0751: and bound; 0750: and nothing of it came yet
 *     MANAGER-JOB-NONCE/task    v2: what root put into the job (a shepherd and what it starts)
 *     MANAGER-JOB-NONCE/u       v2: the user's, to make cgroups in
 *     MANAGER-JOB-NONCE/u/home  v2: processes that asked for a place
 * In v1 all processes of the job are in its one directory, and nothing is the user's.
 * These directories are all the state there is: a daemon that starts reads them. */
#pragma once

#include "containment/cgroup/kill.h"
#include "containment/cgroup/watches.h"
#include "containment/mprund-protocol.h"
#include "node-daemon/conf/conf.h"
#include "node-daemon/reader/evidence.h"
#include "node-daemon/mover/ground.h"
#include "node-daemon/mover/peer.h"

struct jobs;

/* The cores that a job's processes are held to, and how it came by them. */
struct job_cores {
    enum grant_cores how;
    unsigned n;        /* how many it was to have */
    struct idset cpus; /* the hardware threads that its cpuset was given; empty: GRANT_CORES_ALL */
};

struct job {
    char dir[CGROUP_NAME_MAX];
    char name[GRANT_JOB_MAX];
    enum grant_manager manager;
    uid_t uid;
    enum grant_job_state state;
    char reason[GRANT_TEXT_MAX]; /* why it is stuck */
    struct limits limits;        /* that were asked for; held_by says whether they hold. After a
                                    restart none is set: the kernel has them */
    int bound;                   /* root chose its limits: what the manager says changes nothing */
    int awaited;                 /* and it was made before anything of it came */
    struct job_cores cores;
    char gpus[GRANT_GPUS_MAX]; /* ids of those that are its own here: "0,1" */
    enum { JOB_DEMAND_NEW, JOB_DEMAND_ASKED, JOB_DEMAND_KNOWN, JOB_DEMAND_UNKNOWN } demand_state;
    struct demand demand;  /* what it asks for, once that is known: refine.c */
    int asking;            /* whether it still is to come: refine.c */
    unsigned demand_tries; /* how often its manager was asked */
    struct share share;    /* what its limits were computed of, or are when its manager answers */
    double demand_again;   /* when it is to be asked again, by loop_now(), where it is not known */
    uint64_t asked;        /* how many places were given to its processes: requests.c */
    /* the rest is job-end.c's */
    struct jobs *jobs;
    struct killer killer;
    struct loop_timer timer;
    int watch;    /* for its last process to go; 0: none */
    double idle;  /* since when nobody is in it; 0: somebody was */
    double ended; /* when its end began, by loop_now() */
    double pause; /* seconds until the next look */
    enum { KILLED_NOTHING, KILLED_USER, KILLED_ALL } killed; /* what is in u; everything */
    int told;                                                /* what it used is in the log */
};

struct jobs_watch {
    /* A job's cgroup was made for what e says. */
    void (*made)(void *arg, struct job *job, const struct evidence *e);
    /* Does the manager still know the job? 1 yes, 0 no, -1: cannot say. */
    int (*is_known)(void *arg, enum grant_manager manager, const char *name);
    /* Nothing of it is here yet: will it still come? May be NULL. */
    void (*awaited)(void *arg, struct job *job);
    void (*ended)(void *arg, const struct job *job); /* its end begins; may be NULL */
    void *arg;
};

/* Read which jobs there are, and go on ending those that had ended. ground and conf stay the
 * caller's, must outlive it, and conf may change meanwhile. */
struct jobs *jobs_create(struct loop *l, const struct ground *g, const struct conf *conf,
                         const struct jobs_watch *watch, struct error *err);
/* Forgets them; removes no cgroup. NULL is fine. */
void jobs_destroy(struct jobs *j);

size_t jobs_count(const struct jobs *j);
struct job *jobs_at(struct jobs *j, size_t i);
/* The job of this name that has not ended, or NULL. */
struct job *jobs_find(struct jobs *j, enum grant_manager manager, const char *name);
/* Make the cgroup of the job that is known from e, limited while it is empty. held_by of e's limits
 * is filled in. NULL with err: nothing is left. */
struct job *jobs_make(struct jobs *j, enum grant_manager manager, struct evidence *e,
                      struct error *err);
/* Give a job other limits than it has, those that are not set none. What is in it may be killed for
 * it by the kernel. held_by is filled in; 0, or -1 with err: at least one that is set does not
 * hold. */
int jobs_set_limits(struct jobs *j, struct job *job, struct limits *limits, struct error *err);
/* Root gives the job its limits, here or on another host's behalf: it keeps them, and is kept while
 * nobody is in it, for as long as the configuration says. awaited: nothing of it came yet. */
void jobs_bind(struct jobs *j, struct job *job, int awaited);
/* The first sign of a job that was awaited: from now on it goes when its manager forgets it. */
void jobs_come(const struct jobs *j, struct job *job);
/* A job that was made for nobody (uid 0) is this user's from now on. 0, or -1 with err. */
int jobs_own(struct jobs *j, struct job *job, uid_t uid, struct error *err);
/* Give a job n cores of its own, whether processes are in it or not: those that it has and more, as
 * near as can be, or fewer of them. 0: all that jobs can have, shared with others. -1 with err
 * (ENOSPC: too few are free): nothing has changed. */
int jobs_set_cores(struct jobs *j, struct job *job, unsigned n, struct error *err);
/* A task of the job has come of which the manager states cores, too: the job has those of all its
 * tasks, as many as it has slots here. 0, or -1 with err. */
int jobs_add_task(struct job *job, const struct evidence *e, struct error *err);
/* Cores that jobs can have on this host, and those of them that no job has for itself. 0, or -1:
 * none are chosen here. */
int jobs_count_cores(const struct jobs *j, uint32_t *ret_total, uint32_t *ret_free);
/* Let a job have n GPUs of this host for itself, those that it has and more, or fewer of them. 0,
 * or -1 with err: it could not have as many, and has those that were free. */
int jobs_set_gpus(struct job *job, unsigned n, struct error *err);
/* Kill what is in it, and remove it, trying again for as long as it takes. jobs_find does not find
 * it any more. */
void job_end(struct job *job);
/* In which job this process is, and in which part of it ("task", "u/home", "u/mprun.x/ranks/...",
 * v1: ""), from its cgroup; *ret_part is the caller's to free. NULL: in none. */
struct job *jobs_of_process(struct jobs *j, pid_t pid, char **ret_part);

enum job_part { JOB_TASK, JOB_HOME };
/* Put the process that asked, and none else, into the job's cgroups. -1 with err: ESRCH, it ended
 * meanwhile. */
int jobs_enter(struct jobs *j, struct job *job, const struct peer *peer, enum job_part part,
               struct error *err);
/* Text of our own that stays with a job over restarts: at_note() in the hierarchy that tracks. */
int jobs_note(const struct jobs *j, const struct job *job, const char *name, const char *text);
ssize_t jobs_read_note(const struct jobs *j, const struct job *job, const char *name, char *buf,
                       size_t n);
/* Where the user may make cgroups in v2: its length, or -1 where there is no v2. */
int jobs_user_place(const struct jobs *j, const struct job *job, char *buf, size_t n);
/* Limits and use as the kernel has them now. */
void jobs_describe(const struct jobs *j, const struct job *job, struct grant_answer *ret);
/* Is certainly nobody in it? */
int jobs_is_empty(const struct jobs *j, const struct job *job);
/* End what no manager knows any more, and what nobody is in. */
void jobs_check(struct jobs *j);
