/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs-private.h - functions that the jobs*.c files share */
#pragma once

#include "node-daemon/front/host/host-cores.h"
#include "node-daemon/front/jobs/jobs.h"

struct jobs {
    struct loop *loop;
    struct start *start;
    const struct ground *ground;
    const struct conf *conf;
    struct jobs_watch watch;
    struct job **job;
    size_t n;
    struct loop_timer check;
    size_t first; /* that is looked at, as a number modulo n */
    struct host_cores cores;
    int cores_part;          /* the one of the ground in which jobs have cpusets; -1: none */
    struct watches *watches; /* NULL: none to be had; the timer does it later */
};

enum { JOB_NONCE = 8 };

/* jobs.c */
int jobs_ask(const struct jobs *j, const struct job *job, struct mover_request *q,
             enum mover_op what, int fd, struct mover_answer *a, struct error *err);

/* jobs-scan.c: names of directories, and finding them again */
void job_dir_name(struct job *job);             /* a new one, with a nonce */
void jobs_add(struct jobs *j, struct job *job); /* takes job */
/* Look at the job again as soon as it is empty. */
void jobs_watch_empty(struct jobs *j, struct job *job);
void jobs_forget(struct jobs *j, struct job *job);
int jobs_scan(struct jobs *j, struct error *err);

/* jobs-cores.c */
int cores_open(struct jobs *j, struct error *err);
/* Choose those that a new job is to have: known of the job, and nothing done yet. A job of the
 * manager's own choice may push others aside. 0, or -1 with err: it must not be without cores of
 * its own. */
int cores_choose(struct job *job, const struct evidence *e, struct error *err);
/* The hardware threads that its new cpuset is to get: "" where it is to have all. -1: no room. */
int cores_text(const struct job *job, char *buf, size_t n);
/* The cpuset was made with them; code: errno if it was not. 0, or -1 as cores_choose(). */
int cores_hold(struct job *job, int code, struct error *err);
/* Save the cores with the job's directories; cores_read() gets them after a restart. */
void cores_note(const struct job *job);
void cores_read(struct job *job);
void cores_describe(const struct job *job, struct grant_answer *ret);

struct cgroup_at cores_at(const struct job *job); /* where its cpuset is */
/* Take some of its own cores from the job, as many of these as leave it one: *cpus become those. -1
 * with err: it keeps all. */
int cores_lend(struct job *job, struct idset *cpus, struct error *err);
void cores_tell(const struct job *job); /* the log, which cores it has now */
/* Give the job these cores back, or others where they are taken, or let it share. -1 with err. */
int cores_take_back(struct job *job, const struct idset *cpus, struct error *err);
/* The job shares since it lent its cores: give it as many of its own, if enough are free now. */
void cores_have_alone(struct job *job);

/* jobs-loans.c */
void loans_check(struct job *job);              /* end those whose step is not suspended any more */
void loans_forget_cores(const struct job *job); /* it gets cores anew */
void loans_read(struct job *job);
void loans_free(struct job *job);
void loans_describe(const struct job *job, struct grant_answer *ret);
size_t loans_count_gpus(const struct job *job);

/* jobs-nodes.c: with node_rounding, give it the memory nodes that its cores and its limit want. */
void nodes_hold_memory(const struct job *job);

/* jobs-gpus.c: after a restart */
void gpus_note_read(struct job *job);
void gpus_note(const struct job *job);
void gpus_describe(const struct job *job, struct grant_answer *ret);
void gpus_hold(struct job *job);

/* job-end.c */
/* Directories of a job that are in some hierarchy but not in that which tracks. */
void job_end_stray(struct jobs *j, const char *dir);
