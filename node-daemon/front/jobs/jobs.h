/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.h - the jobs that have a cgroup on this host
 *
 * Their directories (mover/mover.h) are the only state: a daemon that starts reads them. Front
 * reads them itself; only the mover changes them. */
#pragma once

#include "containment/cgroup/watches.h"
#include "containment/mprund-protocol.h"
#include "node-daemon/conf/conf.h"
#include "node-daemon/lib/evidence.h"
#include "node-daemon/lib/ground.h"
#include "node-daemon/lib/mover-link.h"

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
    int bound;                   /* root chose its limits: the manager does not change them */
    int awaited;                 /* bound before its first process came */
    struct job_cores cores;
    char gpus[GRANT_GPUS_MAX]; /* ids of its own ones on this host: "0,1" */
    uint64_t lent;             /* how often it has lent something */
    struct loan *loans; /* what others may use while steps of it are suspended: jobs-loans.c */
    int gpus_held;      /* it cannot open the other GPUs of the table */
    enum { JOB_DEMAND_NEW, JOB_DEMAND_ASKED, JOB_DEMAND_KNOWN, JOB_DEMAND_UNKNOWN } demand_state;
    struct demand demand;  /* its resource requests, once they are known: refine.c */
    int asking;            /* the answer is awaited: refine.c */
    unsigned demand_tries; /* how often its manager was asked */
    struct share share;    /* its limits are computed from this and its manager's answer */
    double demand_again;   /* loop_now() when its manager is asked again, if demand is not known */
    uint64_t asked;        /* how many places were given to its processes: requests.c */
    int known;             /* to its manager: 1, 0; -1: the manager has not said */
    uint64_t known_asked;  /* the question about that; 0: none is under way */
    /* the rest is job-end.c's */
    struct jobs *jobs;
    struct loop_timer timer;
    int watch;           /* for the end of its last process; 0: none */
    double idle;         /* since when it has no process; 0: it had one at the last look */
    int was_used;        /* it had a process at some look */
    double ended;        /* when its end began, by loop_now() */
    double pause;        /* seconds until the next look */
    int told;            /* what it used is in the log, */
    int told_stuck;      /* and that it is stuck */
    char placement[280]; /* of a job that ends: its hardware threads and memory nodes */
};

struct jobs_watch {
    /* A job's cgroup was made for what e says. */
    void (*made)(void *arg, struct job *job, const struct evidence *e);
    /* Find out whether the manager still knows the job, and call jobs_know(). */
    void (*ask_known)(void *arg, struct job *job);
    /* The job has no process here yet: find out whether it will still come. May be NULL. */
    void (*awaited)(void *arg, struct job *job);
    void (*ended)(void *arg, const struct job *job); /* its end begins; may be NULL */
    /* It is stuck, in this part of the ground: jobs_take_stuck() is to be told. May be NULL. */
    void (*stuck)(void *arg, const struct job *job, size_t part);
    void *arg;
};

/* Read which jobs there are, and go on ending those that had ended. start, ground and conf stay the
 * caller's, must outlive it, and conf may change meanwhile. */
struct jobs *jobs_create(struct loop *l, struct start *start, const struct ground *g,
                         const struct conf *conf, const struct jobs_watch *watch,
                         struct error *err);
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
/* Replace the limits of a job; those that are not set become unlimited. The kernel may kill its
 * processes for a lower limit. Fills in held_by. 0, or -1 with err: at least one limit does not
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
 * or -1 with err: it could not have as many, and has those that were free. It is held to them where
 * the configuration says which devices they are. */
int jobs_set_gpus(struct job *job, unsigned n, struct error *err);
/* Hold a cgroup of the job's user, by its path below jobs_user_place(), to those of the job's GPUs
 * that the list names. 0, or -1 with err. */
int jobs_hold_gpus(struct job *job, const char *cgroup, const char *gpus, struct error *err);
/* A step's cgroup, by its path below jobs_user_place(): while it is frozen others may have those of
 * these hardware threads and GPUs that are the job's, as the configuration says; its processes are
 * held to the rest, one core at least. Once it is not, the job gets them back, or others, or
 * shares. 0, or -1 with err: nothing is lent. */
int jobs_lend(struct job *job, const char *cgroup, const char *cpus, const char *gpus,
              struct error *err);
/* Those of the job's GPUs that another job has, too. */
void jobs_gpus_of_others(const struct job *job, char *buf, size_t n);
/* Kill the job's processes and remove its cgroups, retrying for as long as it takes. From now on
 * jobs_find() does not find it. */
void job_end(struct job *job);
/* The processes in this part of the job of this directory, which is stuck, if it still is. */
void jobs_take_stuck(struct jobs *j, const char *dir, size_t part, const char *who);
/* In which job the process that connected is (NULL: in none), and in which part of it ("task",
 * "u/home", "u/mprun.x/ranks/...", v1: ""), from its cgroup. 0, or -1 with err: it has ended. */
int jobs_of_peer(struct jobs *j, int connection, struct job **ret, char *part, size_t n,
                 struct error *err);
/* Put the process that connected, and no other, into the job's cgroups. -1 with err: ESRCH, it
 * ended meanwhile. */
int jobs_enter(struct jobs *j, struct job *job, int connection, enum mover_part part,
               struct error *err);
/* Text of our own that stays with a job over restarts: at_note() in the hierarchy that tracks. */
int jobs_note(const struct jobs *j, const struct job *job, const char *name, const char *text);
ssize_t jobs_read_note(const struct jobs *j, const struct job *job, const char *name, char *buf,
                       size_t n);
/* Where the user may make cgroups in v2: its length, or -1 where there is no v2. */
int jobs_user_place(const struct jobs *j, const struct job *job, char *buf, size_t n);
/* Limits and use as the kernel has them now. */
void jobs_describe(const struct jobs *j, const struct job *job, struct grant_answer *ret);
/* True only if the job certainly has no process. */
int jobs_is_empty(const struct jobs *j, const struct job *job);
/* The manager knows the job still (1), or not (0); -1: it cannot say. */
void jobs_know(struct jobs *j, struct job *job, int known);
